#pragma once

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/io/topology_argument.h"
#include "core/model/catalogue.h"
#include "core/plan/validate.h"
#include "core/strategy/strategies.h"
#include "core/topology/build_topology.h"
#include "sim/simulate.h"

namespace twinrun {

// A job, compiled and checked, with what it was made from.
struct Example {
  Job job;
  Model model;
  Topology topology;
  CompiledJob compiled;

  [[nodiscard]] const Plan& plan() const { return compiled.plan; }
  [[nodiscard]] sim::Simulation simulate(const sim::SimulationOptions& options = {}) const {
    return sim::simulate(plan(), topology, options);
  }
};

inline std::string all_messages(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& one : diagnostics.all()) {
    text += one.code + " " + one.place.pointer + ": " + one.message + " (" + one.help + ")\n";
  }
  return text;
}

inline Topology example_topology(const std::string& name) {
  Diagnostics diagnostics;
  const TopologySpec spec = read_topology_argument(name, diagnostics);
  diagnostics.throw_if_errors();
  return build_topology(spec, diagnostics);
}

inline Job example_job(const std::string& strategy, std::int64_t local_batch) {
  Job job;
  job.name = strategy;
  job.parallelism.strategy = strategy;
  job.training.local_batch_size = local_batch;
  return job;
}

// Complaints of a job that cannot be compiled; "" when it can.
inline std::string complaints_about(const Job& job,
                                    const std::string& model,
                                    const std::string& topology) {
  Diagnostics diagnostics;
  compile(job, *catalogue_model(model, job.training.seq_length), example_topology(topology), {},
          diagnostics);
  return diagnostics.has_errors() ? all_messages(diagnostics) : "";
}

inline Example compile_example(Job job,
                               const Model& model,
                               const std::string& topology_name,
                               std::int64_t steps = 1) {
  Topology topology = example_topology(topology_name);
  Diagnostics diagnostics;
  std::optional<CompiledJob> compiled =
      compile(job, model, topology, {.steps = steps}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << all_messages(diagnostics);
  const Diagnostics complaints = validate(compiled->plan);
  EXPECT_FALSE(complaints.has_errors()) << all_messages(complaints);
  return {std::move(job), model, std::move(topology), *std::move(compiled)};
}

inline Example compile_example(Job job,
                               const std::string& model_name,
                               const std::string& topology_name,
                               std::int64_t steps = 1) {
  const Model model = *catalogue_model(model_name, job.training.seq_length);
  return compile_example(std::move(job), model, topology_name, steps);
}

// Sums over a plan.
inline double total_flops(const Plan& plan) {
  double sum = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const bool is_update = plan.id(op).find("/update") != std::string_view::npos;
    sum += plan.kind(op) == OpKind::kCompute && !is_update ? plan.compute(op).flops : 0;
  }
  return sum;
}

}  // namespace twinrun
