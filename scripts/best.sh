#!/usr/bin/env bash
# The results of a file of JSON lines, the smallest nll first; needs only Python.
#
#   scripts/best.sh runs.jsonl
set -euo pipefail

file=${1:?give a file of JSON lines, such as scripts/likelihoods.sh writes}

python3 - "$file" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as lines:
    results = [json.loads(line) for line in lines if line.strip()]
for one in sorted(results, key=lambda result: result["nll"]):
    label = one.get("label") or one["method"]
    print(f"{one['nll']:.4f}  {one['acc']:6.2f}%  {one['dataset']} {label} split {one['split']}  {one['run_dir']}")
PYTHON
