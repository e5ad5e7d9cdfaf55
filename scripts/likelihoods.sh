#!/usr/bin/env bash
# Train every likelihood on one set and collect the results, one JSON object per line.
#
#   scripts/likelihoods.sh                      waveform-noise, into runs.jsonl
#   DATASET=ringnorm OUT=ring.jsonl scripts/likelihoods.sh --iterations 300
#
# Further arguments go to every `gpcnoise train`. A run that fails is reported and the rest goes on.
set -uo pipefail

dataset=${DATASET:-waveform-noise}
out=${OUT:-runs.jsonl}
failed=0

for likelihood in ${LIKELIHOODS:-step probit logit softmax}; do
  gpcnoise train --dataset "$dataset" --likelihood "$likelihood" --json "$@" || failed=1
done >>"$out"

exit $failed
