#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/model/catalogue.h"
#include "exec/backends.h"
#include "tests/core/strategy/example_jobs.h"

namespace twinrun {

// What runs it: threads, or (tests/conformance/training_on_mpi.cc) the processes of the test.
using TrainingRunner = exec::Execution (*)(const Plan& plan, const exec::ExecuteOptions& options);
inline TrainingRunner training_runner = exec::find_backend("cpu")->execute;
inline bool trains_in_processes = false;
inline bool trains_in_short_types = false;

// Of two runs' weights, against the largest of the second.
inline double largest_relative_difference(const std::vector<float>& a,
                                          const std::vector<float>& b) {
  double most = 0;
  double scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max<double>(most, std::abs(a[i] - b[i]));
    scale = std::max<double>(scale, std::abs(b[i]));
  }
  return most / scale;
}

// A job compiled for execution and run.
struct TrainedRun {
  CompiledJob compiled;
  exec::Execution execution;
};

inline CompiledJob compile_for_execution(const Job& job,
                                         const std::string& model,
                                         const std::string& topology,
                                         std::int64_t steps) {
  Diagnostics diagnostics;
  std::optional<CompiledJob> compiled = compile(
      job, *catalogue_model(model, 0), example_topology(topology),
      {.steps = steps, .for_execution = true, .trains_in_short_types = trains_in_short_types},
      diagnostics);
  if (!compiled) {
    throw std::runtime_error(all_messages(diagnostics));
  }
  EXPECT_EQ(compiled->why_not_trained, "");
  EXPECT_EQ(all_messages(validate(compiled->plan)), "");
  return *std::move(compiled);
}

inline TrainedRun train(const Job& job,
                        const std::string& model,
                        const std::string& topology,
                        std::int64_t steps,
                        bool uses_integers) {
  CompiledJob compiled = compile_for_execution(job, model, topology, steps);
  exec::ExecuteOptions options;
  options.uses_integers = uses_integers;
  options.is_reproducible = true;
  options.run.timeout_s = 20;
  exec::Execution execution = training_runner(compiled.plan, options);
  EXPECT_FALSE(execution.outcome.failure)
      << execution.outcome.failure.value_or(exec::Failure()).message;
  return {std::move(compiled), std::move(execution)};
}

}  // namespace twinrun
