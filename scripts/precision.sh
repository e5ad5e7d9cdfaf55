#!/usr/bin/env bash
# Mixed precision against float64: the nll of both on the UCI sets, and on made tables with one, two and three
# features, where kernels grow large and close rows make K_mm hardest to factorise.
#
#   scripts/precision.sh                         everything (hours); a second call goes on where the first stopped
#   SETS=thyroid,page-blocks scripts/precision.sh
#   SETS= scripts/precision.sh                   the made tables alone
#   LIKELIHOODS=softmax scripts/precision.sh     one likelihood; without it, all on the made tables and softmax on the sets
#
# Preset fast, split 0, protocol clean. Results and made tables are kept in runs/precision.
set -euo pipefail

all=adult,chess-krvk,connect-4,letter,magic,mushroom,nursery,page-blocks,pendigits,ringnorm,statlog-landsat,statlog-shuttle
all=$all,thyroid,twonorm,wall-following,waveform,waveform-noise,wine-quality-white
sets=${SETS-$all}
kept=runs/precision
mkdir -p "$kept"

for d in 1 2 3; do
    made=$kept/made-$d.csv
    # Stripes across the cube, three classes in turn, 2% of the labels at random.
    [ -s "$made" ] || python3 - "$d" >"$made" <<'PYTHON'
import random, sys

d = int(sys.argv[1])
random.seed(d)
print(",".join([f"x{j}" for j in range(d)] + ["y"]))
for _ in range(20000):
    x = [random.random() for _ in range(d)]
    y = int(4 * d * sum(x) / d) % 3 if random.random() > 0.02 else random.randrange(3)
    print(",".join([f"{v:.6f}" for v in x] + [f"c{y}"]))
PYTHON
    gpcnoise sweep --results "$kept/made-$d" --data "$made" --target y \
        "likelihood=${LIKELIHOODS:-step,probit,logit,softmax}" runtime.precision=mixed,float64
done
[ -z "$sets" ] || gpcnoise sweep --results "$kept/uci" --protocol clean \
    dataset="$sets" "likelihood=${LIKELIHOODS:-softmax}" runtime.precision=mixed,float64
