#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "exec/backend.h"
#include "exec/failure.h"
#include "exec/local_devices.h"
#include "exec/other_processes.h"

namespace twinrun::exec {

struct RunOptions {
  double timeout_s = 60;                                           // without an op ending
  const std::atomic<bool>* interrupted = nullptr;                  // somebody wants it to end
  std::function<void(std::size_t done, std::size_t of)> progress;  // ops; now and then
  std::vector<Time> pace;  // by op: how long it takes at least; empty: as long as it takes

  // ---- when this process runs a part of the plan
  LocalDevices here;
  OtherProcesses* others = nullptr;
  // By op, zeros: where times are written as ops end (end is never 0 then), so that whoever maps
  // the same memory has them if this process dies. Not given: in memory of the runner's own.
  OpTimes* live_times = nullptr;
};

struct Outcome {
  Trace trace;  // of what was done; ops that were not have end < start
  std::optional<Failure> failure;
  std::string streams;  // with a failure: what the streams of this process did, "running: …"
  std::chrono::steady_clock::time_point begin;  // when times were 0
  // A thread did not come back from its op. It still uses the plan and the backend: neither may be
  // destroyed, and the process had better end.
  bool left_threads = false;
};

// Walks the plan: one thread for each stream, in the stream's order; an op starts when its
// predecessors are done and, of those that start together, all are there. Times are a steady
// clock's, from the moment the streams are let go. CannotRun when the plan has too many streams.
// With other processes, only the streams of devices that are here.
Outcome run_plan(const Plan& plan, Backend& backend, const RunOptions& options = {});

}  // namespace twinrun::exec
