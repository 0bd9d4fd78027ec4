#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/model/model.h"
#include "core/plan/plan.h"
#include "core/strategy/job.h"
#include "core/strategy/layout.h"
#include "core/topology/topology.h"

namespace twinrun {

class StepBuilder;

// A way of distributing training: one file with one build function, one row of the table.
struct Strategy {
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view summary;
  StrategyTraits traits;
  void (*build)(StepBuilder& steps);  // emits every step
};

std::span<const Strategy> all_strategies();
// By name or alias, whatever the case and whether words are joined by _ or -.
const Strategy* find_strategy(std::string_view name);

struct CompileOptions {
  std::int64_t steps = 0;      // 0: as many as show a steady step
  bool for_execution = false;  // ops say what they work on, where every layer has a real kernel
  bool checks_waiting = true;  // false for those who run the plan at once, see check_waiting()
  // Of a plan for execution: whoever runs it also multiplies in tf32, fp16 and bf16.
  bool trains_in_short_types = false;
};

struct CompiledJob {
  Plan plan;
  Layout layout;
  std::int64_t steps = 0;
  std::int64_t warmup_steps = 0;     // the first so many are not like the others
  std::string why_not_trained = {};  // of a plan for execution: why its ops say nothing; else ""
};

// job + model + topology -> plan. Complaints go to the diagnostics, with the field, the reason and
// the nearest values that would do; nothing is returned with errors. The plan passes validate().
std::optional<CompiledJob> compile(const Job& job,
                                   const Model& model,
                                   const Topology& topology,
                                   const CompileOptions& options,
                                   Diagnostics& diagnostics);

// Complains of ops that wait for each other for ever; linear in the ops. compile() does it unless
// told that a simulation follows, which meets them as surely, and takes long enough by itself.
void check_waiting(const Job& job, const Plan& plan, Diagnostics& diagnostics);

}  // namespace twinrun
