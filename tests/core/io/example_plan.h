#pragma once

namespace twinrun {

// Every kind of op and every key once.
inline constexpr const char* kExamplePlan = R"({
  "schema": "twinrun/plan/1",
  "name": "two GPUs, one all-reduce",
  "topology": "pcie-2x2080ti",
  "comment": "by hand",
  "source": "the format's description",
  "devices": ["gpu0", "gpu1", "cpu0"],
  "groups": { "world": ["gpu0", "gpu1"] },
  "workload": { "global_batch": 8, "samples_per_update": 4, "steps": 1, "steps_in_flight": 3, "batches_on_device": 5, "tensor_ranks": 2, "optimizer": "adam", "learning_rate": 0.25,
    "layers": [{ "name": "fc", "kind": "linear", "inputs": 4, "outputs": 2, "bias": true, "division": "rows" },
               { "name": "loss", "kind": "softmax_cross_entropy", "inputs": 2, "outputs": 2 }] },
  "ops": [
    { "id": "forward@gpu0", "kind": "compute", "device": "gpu0", "stream": "compute", "flops": 1e9, "bytes": 4000000,
      "dtype": "bf16", "after": [], "memory": [{ "part": "activations", "bytes": 1000, "when": "start" },
                                               { "part": "workspace", "bytes": "-1kB", "when": "end" }] },
    { "id": "gemm@gpu0", "kind": "compute", "device": "gpu0", "kernel": { "kind": "gemm", "m": 512, "n": 256, "k": 128 },
      "priority": -2 },
    { "id": "layer@gpu1", "kind": "compute", "device": "gpu1", "kernel": { "kind": "backward", "layer": "fc1" },
      "payload": { "verb": "backward_weight", "source": "samples", "layer": 1, "accumulates": true, "tensor_rank": 1,
                   "samples": [4, 8] } },
    { "id": "update@gpu1", "kind": "compute", "device": "gpu1", "kernel": { "kind": "update", "layer": 3 } },
    { "id": "copy", "kind": "copy", "device": "gpu0", "to": "gpu1", "bytes": "25MB", "after": ["load@host"] },
    { "id": "s@gpu0", "kind": "send", "device": "gpu0", "peer": "gpu1", "bytes": 1000, "tag": 3 },
    { "id": "r@gpu1", "kind": "recv", "device": "gpu1", "peer": "gpu0", "bytes": 1000, "tag": 3,
      "payload": { "verb": "move", "source": "arrived", "target": "arrived", "boundaries": 2, "version": [1, 3], "sender": "gpu0", "share": [1, 2],
                   "elements": [[0, 3], [5, 6]] } },
    { "id": "grads@gpu0", "kind": "collective", "device": "gpu0", "stream": "nccl", "collective": "all_reduce",
      "group": "world", "bytes": 4000000, "algorithm": "ring", "after": ["forward@gpu0"] },
    { "id": "other", "kind": "collective", "device": "gpu1", "stream": "nccl", "collective": "all_reduce",
      "group": "world", "bytes": 4000000, "algorithm": "ring", "match": "grads" },
    { "id": "weights@gpu0", "kind": "collective", "device": "gpu0", "collective": "broadcast", "group": "world",
      "bytes": 64, "dtype": "fp16", "root": "gpu0" },
    { "id": "weights@gpu1", "kind": "collective", "device": "gpu1", "collective": "broadcast", "group": "world",
      "bytes": 64, "dtype": "fp16", "root": "gpu0" },
    { "id": "all@gpu0", "kind": "collective", "device": "gpu0", "collective": "barrier", "group": "world" },
    { "id": "all@gpu1", "kind": "collective", "device": "gpu1", "collective": "barrier", "group": "world" },
    { "id": "load@host", "kind": "host", "device": "cpu0", "duration": "2ms" },
    { "id": "step0/end", "kind": "marker", "device": "gpu0", "comment": "nothing to do" }
  ]
}
)";

}  // namespace twinrun
