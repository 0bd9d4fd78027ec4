#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "exec/backend.h"

namespace twinrun::exec {

struct RunOptions {
  double timeout_s = 60;                                           // without an op ending
  const std::atomic<bool>* interrupted = nullptr;                  // somebody wants it to end
  std::function<void(std::size_t done, std::size_t of)> progress;  // ops; now and then
  std::vector<Time> pace;  // by op: how long it takes at least; empty: as long as it takes
};

enum class FailureKind : std::uint8_t { kOpFailed, kTimeout, kInterrupted };

// Why a run ended early.
struct Failure {
  FailureKind kind = FailureKind::kOpFailed;
  OpId op = no_id<OpId>();  // the one to blame; none when it was interrupted
  std::string message;      // op, device, and what the others waited for
};

struct Outcome {
  Trace trace;  // of what was done; ops that were not have end < start
  std::optional<Failure> failure;
  // A thread did not come back from its op. It still uses the plan and the backend: neither may be
  // destroyed, and the process had better end.
  bool left_threads = false;
};

// Walks the plan: one thread for each stream, in the stream's order; an op starts when its
// predecessors are done and, of those that start together, all are there. Times are a steady
// clock's, from the moment the streams are let go. CannotRun when the plan has too many streams.
Outcome run_plan(const Plan& plan, Backend& backend, const RunOptions& options = {});

}  // namespace twinrun::exec
