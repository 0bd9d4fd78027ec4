#include "core/trace/staleness.h"

#include <string>

#include <gtest/gtest.h>

#include "sim/simulate.h"
#include "tests/conformance/trained_runs.h"

// How old the weights were is counted by the same rule in both traces of a plan: the simulated one
// and that of the run.

namespace twinrun {
namespace {

Job job_of(const std::string& strategy) {
  Job job;
  job.name = strategy;
  job.parallelism.strategy = strategy;
  job.training.global_batch_size = 24;
  job.training.learning_rate = 0.05;
  return job;
}

Trace simulated(const Plan& plan, const std::string& topology) {
  return sim::simulate(plan, example_topology(topology), {}).trace;
}

TEST(Pipedream, IsMeasuredToBeAsStaleAsItIsSimulated) {
  for (const std::int64_t stages : {2, 4}) {
    for (const std::int64_t micro_batch : {3, 24}) {
      Job job = job_of("pipedream");
      job.parallelism.pipeline_parallel_degree = stages;
      job.training.micro_batch_size = micro_batch;
      const std::string topology = "dgx1-v100:gpus=" + std::to_string(stages);
      const TrainedRun run = train(job, "mlp-12-16-8-16-8-4", topology, 8, false);
      const Plan& plan = run.compiled.plan;
      const Staleness measured = pipeline_staleness(plan, run.execution.outcome.trace, 1);
      EXPECT_EQ(measured, pipeline_staleness(plan, simulated(plan, topology), 1));
      EXPECT_EQ(measured.max, stages - 1);
    }
  }
}

Job server_job(ServerMode mode, std::int64_t bound) {
  Job job = job_of("parameter_server");
  job.server.mode = mode;
  job.server.placement = ServerSite::kCpu;
  job.server.staleness = bound;
  return job;
}

// n workers that are equally fast: between two updates of one, each of the others makes one. Which
// of them, threads decide; the mean is n - 1 all the same, in the simulation and in the run. The
// run is paced, in slow motion, so that it is the plan that tells how fast workers are and not who
// else uses this machine.
TEST(AsynchronousServers, AreMeasuredToBeAsStaleAsTheyAreSimulated) {
  constexpr std::int64_t kSlower = 150;
  for (const std::int64_t workers : {2, 4}) {
    const std::string topology = "dgx1-v100:gpus=" + std::to_string(workers);
    const CompiledJob compiled =
        compile_for_execution(server_job(ServerMode::kAsync, 0), "mlp-64-128-8", topology, 20);
    const Trace wanted_trace = simulated(compiled.plan, topology);
    exec::ExecuteOptions options;
    for (const OpTimes& op : wanted_trace.ops) {
      options.run.pace.push_back(Time{kSlower * (op.end - op.start).ps});
    }
    const exec::Execution run = exec::find_backend("cpu")->execute(compiled.plan, options);
    const Staleness measured = server_staleness(compiled.plan, run.outcome.trace, 1);
    const Staleness wanted = server_staleness(compiled.plan, wanted_trace, 1);
    const auto others = static_cast<double>(workers - 1);
    EXPECT_NEAR(wanted.mean, others, 0.1 * others);
    EXPECT_NEAR(measured.mean, wanted.mean, 0.25 * others);
  }
}

// A worker is at most so many steps ahead of the slowest, so that at most bound + 1 updates of each
// of the others come between, and those of the step it is at.
TEST(BoundedServers, AreNeverOlderThanTheirBound) {
  constexpr std::int64_t kWorkers = 4;
  for (const std::int64_t bound : {0, 1, 3}) {
    const std::string topology = "dgx1-v100:gpus=4";
    const TrainedRun run =
        train(server_job(ServerMode::kBounded, bound), "mlp-64-128-8", topology, 30, false);
    const Staleness measured = server_staleness(run.compiled.plan, run.execution.outcome.trace, 1);
    ASSERT_FALSE(measured.histogram.empty());
    EXPECT_LE(measured.max, (kWorkers - 1) * (2 * bound + 1)) << "bound " << bound;
  }
}

}  // namespace
}  // namespace twinrun
