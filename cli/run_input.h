#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "core/io/load_job.h"
#include "core/plan/plan.h"
#include "core/strategy/strategies.h"
#include "core/topology/topology.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace twinrun::cli {

// What a run is made from, as typed.
struct RunArguments {
  std::string input;  // a job or a plan
  std::string model;
  std::string topology;
  std::vector<std::string> set;        // path=value
  std::int64_t steps = 0;              // of a job; 0: as many as show a steady one
  bool for_execution = false;          // ops are to say what they work on
  bool trains_in_short_types = false;  // … for a machine that multiplies in tf32, fp16, bf16
  std::int64_t ranks = 0;              // of a job, only the first so many devices; 0: all
  bool splits_plans = false;           // … and of a plan, whatever it has in so many processes
  bool checks_waiting = true;          // false where a simulation follows, which finds the same
};

// `input` says what may be given first: "a job or a plan".
void add_run_arguments(CLI::App& app, RunArguments& arguments, const std::string& input);

// A job with its topology built and its plan compiled.
struct CompiledRun {
  LoadedJob loaded;
  Topology topology;
  CompiledJob compiled;
};

// Reads, builds and compiles. Warnings are reported; errors throw InputError (ImpossibleJob where
// the parts do not go together) with all of them.
CompiledRun compile_job(Context& context, const Source& source, const RunArguments& arguments);

// What is run: a plan and where, and the job that it came from if there is one.
struct RunInput {
  struct FromJob {
    LoadedJob loaded;
    Layout layout;
    std::int64_t warmup_steps = 0;
    std::string why_not_trained = {};  // of a run for execution: why it is emulated
  };

  Plan plan;
  Topology topology;
  TopologySpec spec;
  std::optional<FromJob> job;
};

RunInput read_run_input(Context& context, const RunArguments& arguments);
// The same of an input that has been opened.
RunInput read_run_input(Context& context, const Source& source, const RunArguments& arguments);

}  // namespace twinrun::cli
