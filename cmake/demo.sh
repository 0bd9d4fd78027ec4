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
run twinrun collective all_reduce --topology dgx1-v100 -b 1K -e 1G -f 32
run twinrun simulate jobs/four-gpu-step.plan.json --topology pcie-8gpu
run twinrun simulate jobs/resnet50-ddp-8gpu.json
run twinrun sweep jobs/resnet50-ddp-8gpu.json --set training.local_batch_size=1,4,16,64
run twinrun explain jobs/resnet50-ps-8gpu.json
