#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "exec/execute.h"
#include "exec/failure.h"
#include "exec/mpi/clock_alignment.h"
#include "exec/training/final_weights.h"

namespace twinrun::exec {

// What one process has to say when its part of a run is over.
struct Part {
  struct Timed {
    OpId op{};
    OpTimes times;
  };

  bool is_whole = false;      // said by the process itself, not found after its death
  bool is_ending = false;     // not whole, but it was being ended when it was last seen
  std::string refusal;        // it cannot be run at all: why; nothing else counts then
  bool is_missing = false;    // … because a library is
  std::int64_t begin_ns = 0;  // on its own clock: when its times were 0
  std::int64_t end_ns = 0;    // … when clocks were aligned for the second time
  ClockOffset at_begin;
  ClockOffset at_end;
  std::vector<Timed> ops;  // that it has done
  std::optional<Failure> failure;
  std::string streams;                  // with a failure: what they did
  std::vector<std::string> algorithms;  // by collective; "" of those it has no part in
  bool is_emulated = false;
  std::vector<double> loss_of_samples;  // 0 of those that others have
  std::vector<UpdatedWeights> weights;
  std::optional<std::int64_t> wrong_elements;
  std::string library;
  std::vector<std::string> warnings;
  // Not handed over: the first process has its own.
  std::vector<CollectiveEstimate> estimates;
  std::vector<KernelRun> kernels;
};

std::string to_bytes(const Part& part);
// std::runtime_error when they are not all there.
Part part_from_bytes(std::string_view bytes);

// The ops of a table that have ended.
std::vector<Part::Timed> timed_ops(const Plan& plan, const OpTimes* times);

}  // namespace twinrun::exec
