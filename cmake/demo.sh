#!/bin/sh
# The main job in a few commands, each shown before it runs. `make demo` calls this after building.
set -eu
PATH=$PWD/build/release:$PATH

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

run twinrun topo show dgx-a100
run twinrun topo paths dgx-h100:nodes=4 node0/gpu0 node3/gpu7
run twinrun plan show jobs/two-gpus.plan.json --topology pcie-2x2080ti
