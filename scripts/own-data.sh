#!/usr/bin/env bash
# Train on your own table, then predict new rows with the model that had the smallest nll.
#
#   scripts/own-data.sh customers.csv churned new-customers.csv predictions.csv
set -euo pipefail

if [ $# -ne 4 ]; then
  echo "usage: $0 TRAIN.csv TARGET NEW.csv PREDICTIONS.csv" >&2
  exit 2
fi

runs=$(mktemp)
trap 'rm -f "$runs"' EXIT
for likelihood in probit softmax; do
  gpcnoise train --data "$1" --target "$2" --likelihood "$likelihood" --json >>"$runs"
done
best=$(python3 -c '
import json, sys
print(min(map(json.loads, open(sys.argv[1])), key=lambda run: run["nll"])["run_dir"])' "$runs")
gpcnoise predict "$best" --data "$3" --out "$4"
