#!/bin/sh
# The main job in a few commands, each shown before it runs. `make demo` calls this after building; it leaves build/demo.
set -eu
PATH=$PWD/build/release:$PATH
AT=build/demo
rm -rf $AT
mkdir -p $AT

say() { printf '\n# %s\n' "$*"; }
run() {
  printf '$ %s\n' "$*"
  "$@"
}

say 'ResNet-50 on the eight GPUs of a DGX-1: DataParallel, parameter server or ring?'
run twinrun sweep jobs/resnet50-ps-8gpu.json --set parallelism.strategy=data_parallel,parameter_server,ddp
run twinrun explain jobs/resnet50-ps-8gpu.json --only server_or_ring,bottleneck_link,fastest_strategy

say 'With a server: how large a batch makes compute hide communication?'
run twinrun sweep jobs/resnet50-ps-8gpu.json --set training.local_batch_size=8,16,32,64,128 --out $AT/batch -q
run twinrun explain jobs/resnet50-ps-8gpu.json --only batch_where_t1_equals_t2

say 'A perceptron trained for real on four CPU devices of this machine, with the ring and with the server: the same loss'
MLP='jobs/mlp-4cpu.json --set model=mlp-784-1024-10 --set training.global_batch_size=256'
RING='--set parallelism.all_reduce_algorithm=ring'
SERVER='--set parallelism.strategy=parameter_server'
run twinrun execute $MLP $RING --backend cpu --steps 20 --out $AT/ring -q
run twinrun execute $MLP $SERVER --backend cpu --steps 20 --out $AT/server -q

say 'This machine measured, the same plan simulated on it, and beside what really happened'
run twinrun calibrate --backend cpu --quick -o $AT/machine.json
run twinrun simulate $MLP $RING --set topology=$AT/machine.json:devices=4 --steps 20 --out $AT/ring-simulated -q
run twinrun compare $AT/ring-simulated $AT/ring

say 'All of it on a page'
run twinrun report $AT/ring-simulated $AT/ring $AT/batch -o $AT/report.html
