#!/usr/bin/env bash
# How many inducing points are enough? A sweep over their number and over splits, as CSV.
#
#   scripts/inducing-points.sh                  waveform-noise, into inducing-points.csv
#   DATASET=letter INDUCING=50,100,300 SPLITS='range(0,5)' scripts/inducing-points.sh
#
# If interrupted, start it again: it goes on where it was, and finished runs are not computed twice.
set -euo pipefail

gpcnoise sweep --dataset "${DATASET:-waveform-noise}" \
  "inducing=${INDUCING:-20,50,100,200}" "split=${SPLITS:-0,1}" --format csv "$@" >"${OUT:-inducing-points.csv}"
