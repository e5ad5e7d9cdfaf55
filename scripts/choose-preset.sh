#!/usr/bin/env bash
# How the settings of preset fast are chosen: on a fifth of the training rows of split 0, held out; never on test rows.
#
#   scripts/choose-preset.sh                                   one kernel for all classes, or one per class
#   SETS=thyroid,ringnorm scripts/choose-preset.sh likelihood=probit optimizer.tolerance=0.02,0.1
#
# Arguments are the settings to try, as `gpcnoise sweep` takes them: every combination is trained once, resumable, and
# the table says what it scored on the held-out rows. The rows are kept in runs/choose-preset.
set -euo pipefail

sets=${SETS:-thyroid,page-blocks,wall-following,statlog-landsat,wine-quality-white,waveform-noise}
[ $# -gt 0 ] || set -- kernel.shared=true,false

gpcnoise sweep --results runs/choose-preset --split 0 --protocol clean dataset="$sets" dataset.holdout=0.2 "$@"
