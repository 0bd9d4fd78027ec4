#pragma once

#include <cstddef>

#include "core/base/units.h"
#include "core/plan/plan.h"

namespace twinrun {

// GPT(N) of the peer baselines: one training step of a GPT of 16 layers on N GPUs, tensor parallel
// 4 with sequence parallelism, pipeline parallel 2, data parallel N/8, 8 micro-batches of one
// sample a replica; 1898 computes, 384 all-gathers, 256 reduce-scatters, 66 all-reduces, 8 sends
// and 8 receives a GPU. Devices are called node0/cpu0 …, so that one switch serves as the network.
struct GptStep {
  Plan plan;
  Time compute{};     // of a GPU: no step can be shorter
  Time no_overlap{};  // of a GPU's compute and communication one after another, in both stages
};

GptStep gpt_step(std::size_t gpus);

}  // namespace twinrun
