#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/kineto_events.h"
#include "core/trace/trace.h"

namespace twinrun {

struct ImportedRun {
  Plan plan;
  Trace trace;
  std::vector<std::string> said;  // what was made of the files and what was not, in sentences
};

// A profiled run as a plan and a trace, so that it can be laid beside a simulated one.
//
// Files that twinrun wrote give their ops back: ids, kinds, streams, sizes, algorithms, times to
// the nanosecond. Dependencies are not in them; ops of a stream follow each other.
//
// Of files of PyTorch's profiler, each rank a device "gpu3":
//   kernels, copies and memsets of the GPU   compute ops step4/forward/0012-bn_fw_tr_1C11@rank3,
//     numbered in each phase of a step. The phase is that of the host code which launched them:
//     backward inside autograd's functions, update inside Optimizer.step, forward otherwise.
//   copies from and to the host              copy ops step4/input/…, step4/output/…
//   NCCL's kernels                           collectives step4/all_reduce/0@rank3 by kind and
//     order, with sizes when the profiler noted them; send and recv with their ranks
//   ProfilerStep#4                           step 4: what was launched in it. What was launched in
//     none is left out
//   what the host did for each phase         host ops step4/host/forward@rank3
// An op is ready when its stream is free and the host has launched it. Ranks that meet in a
// collective start it when the last has come, where the files of all are there and their clocks
// agree; otherwise waiting for others counts as its work.
ImportedRun import_kineto(std::span<const KinetoFile> files);

}  // namespace twinrun
