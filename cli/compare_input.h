#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "core/plan/plan.h"
#include "core/trace/compare.h"
#include "core/trace/trace.h"

namespace twinrun::cli {

// What one side of a comparison is, as typed, and what was found there.
struct CompareInput {
  std::string argument;
  Plan plan;
  Trace trace;
  std::int64_t warmup_steps = 0;
  std::optional<double> t2_s = std::nullopt;
  std::optional<double> samples_per_s = std::nullopt;
  std::optional<double> peak_memory_bytes = std::nullopt;

  [[nodiscard]] ComparedRun compared() const {
    return {{plan, trace, warmup_steps}, t2_s, samples_per_s, peak_memory_bytes};
  }
};

// What may be given, for help and complaints.
inline constexpr const char* kCompareInputForms =
    "a folder of --out, PLAN,TRACE, a trace of PyTorch's profiler (.json, .json.gz) or a folder of "
    "them, one a rank";

// Reads it. Warnings are reported; errors throw InputError with all of them, and UsageError when it
// is nothing of the kind. The warm-up steps are for what does not know its own.
CompareInput read_compare_input(Context& context,
                                const std::string& argument,
                                std::optional<std::int64_t> warmup_steps);

}  // namespace twinrun::cli
