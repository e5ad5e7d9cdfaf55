#!/usr/bin/env bash
# The UCI benchmark divided among machines that share nothing: run this on each with its number, then copy the results
# folders into one another (cells are separate files, so nothing collides) and print the tables.
#
#   scripts/two-machines.sh 1/2        on the first
#   scripts/two-machines.sh 2/2        on the second
#   gpcnoise tables uci --preset fast --against paper
set -euo pipefail

shard=${1:?give I/N, such as 1/2}
shift
gpcnoise reproduce uci --preset fast --splits "${SPLITS:-0}" --shard "$shard" "$@"
