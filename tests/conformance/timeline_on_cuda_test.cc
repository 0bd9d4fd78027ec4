#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/simulate.h"
#include "tests/conformance/charged_runs.h"
#include "tests/conformance/trained_runs.h"
#include "tests/conformance/training_cases.h"

// With one cost table, the events of the GPUs and the simulator tell the same story: every op is
// ready, starts and ends at the same picosecond. The clock is the substitute's, the schedule that
// of the plugin's own objects.

namespace twinrun {
namespace {

constexpr std::int64_t kSteps = 3;
constexpr int kDevices = 8;
constexpr std::uint64_t kTables = 3;

Trace simulated(const Plan& plan, const std::string& topology) {
  sim::SimulationOptions options;
  options.kernels_at_once = std::numeric_limits<double>::infinity();  // the table is all there is
  return sim::simulate(plan, example_topology(topology), options).trace;
}

void expect_same_times(const Plan& plan, const Trace& executed, const Trace& simulated) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpTimes& here = executed.ops[i];
    const OpTimes& there = simulated.ops[i];
    ASSERT_EQ(here, there) << plan.id(id_at<OpId>(i)) << ": executed " << here.ready.ps << " "
                           << here.start.ps << " " << here.end.ps << ", simulated "
                           << there.ready.ps << " " << there.start.ps << " " << there.end.ps;
  }
  EXPECT_EQ(executed.makespan, simulated.makespan);
}

void expect_same_story(const Job& job, const std::string& model, const std::string& topology) {
  const CompiledJob compiled = compile_for_execution(job, model, topology, kSteps);
  for (std::uint64_t seed = 1; seed <= kTables; ++seed) {
    const std::vector<Time> table = random_table(compiled.plan, seed);
    const Plan plan = with_durations(compiled.plan, table);
    const auto gpus = exec::substitute_gpus(kDevices);
    exec::ExecuteOptions options;
    options.uses_integers = true;
    options.is_reproducible = true;
    options.run.timeout_s = 20;
    const exec::Execution run = exec::execute_on_gpus(plan, options, charged_setting(gpus, table));
    ASSERT_FALSE(run.outcome.failure) << run.outcome.failure->message;
    expect_same_times(plan, run.outcome.trace, simulated(plan, topology));
  }
}

class Timeline : public testing::TestWithParam<TrainingCase> {};

TEST_P(Timeline, OfEventsIsThatOfTheSimulator) {
  expect_same_story(GetParam().job, kTrainedModel, GetParam().topology);
}

std::string name_of_case(const testing::TestParamInfo<TrainingCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Strategies,
                         Timeline,
                         testing::ValuesIn(all_training_cases()),
                         name_of_case);

TEST(TimelineOfAsynchronousServers, IsThatOfTheSimulator) {
  for (const ServerMode mode : {ServerMode::kAsync, ServerMode::kBounded}) {
    for (const ServerSite site : {ServerSite::kGpu0, ServerSite::kCpu}) {
      Job job = batch_job("parameter_server");
      job.server.mode = mode;
      job.server.placement = site;
      job.server.staleness = 1;
      expect_same_story(job, "mlp-12-32-4", gpus(4));
    }
  }
}

TEST(TimelineOfPipedream, IsThatOfTheSimulator) {
  Job job = batch_job("pipedream");
  stages(3, 4)(job);
  expect_same_story(job, kTrainedModel, gpus(3));
}

}  // namespace
}  // namespace twinrun
