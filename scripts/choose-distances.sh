#!/usr/bin/env bash
# How far apart the levels of a category are, and whether its features share a lengthscale: chosen on a fifth of the
# training rows of split 0 of real tables, held out; never on test rows.
#
#   scripts/choose-distances.sh                      the tables of `gpcnoise bench tables` (pip install 'gpcnoise[tables]')
#   TABLES="churn storms" scripts/choose-distances.sh inducing=100 iterations=150 kernel.ard=false
#
# Arguments are settings for all, as `gpcnoise sweep` takes them. What is trained is kept in runs/choose-distances.
set -euo pipefail

tables=${TABLES:-penguins-raw titanic attrition chile credit churn telco lending storms}
[ $# -gt 0 ] || set -- inducing=100 iterations=150
folder=runs/choose-distances
mkdir -p "$folder"
names=()
for table in $tables; do names+=(--table "$table"); done
gpcnoise bench tables --export "$folder/tables" "${names[@]}" > "$folder/tables.tsv"

while IFS=$'\t' read -r file target; do
  basename "$file"
  gpcnoise sweep --results "$folder" --workers 1 --split 0 --data "$file" --target "$target" dataset.holdout=0.2 \
    dataset.categories=level,column kernel.ard_by=feature,column "$@" < /dev/null
done < "$folder/tables.tsv"
