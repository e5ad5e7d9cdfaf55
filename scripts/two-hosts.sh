#!/bin/sh
# One model trained by two processes that stand for two hosts, over loopback: scripts/two-hosts.sh RUN_DIR [OPTIONS of train].
# KILL=1 kills the second one after the first checkpoint; then: gpcnoise train --resume RUN_DIR
set -eu
out=$1
shift
port=${PORT:-20310}
on() { printf '{"cluster": {"worker": ["127.0.0.1:%s", "127.0.0.1:%s"]}, "task": {"type": "worker", "index": %s}}' "$port" $((port + 1)) "$1"; }
TF_CONFIG=$(on 1) gpcnoise train "$@" &
helper=$!
TF_CONFIG=$(on 0) gpcnoise train "$@" --out "$out" &
chief=$!
if [ -n "${KILL:-}" ]; then
    until [ -e "$out/checkpoint.npz" ]; do sleep 0.1; done
    kill -9 "$helper"
fi
wait "$chief"
