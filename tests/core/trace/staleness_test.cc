#include "core/trace/staleness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "core/trace/worker_pace.h"

namespace twinrun {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

constexpr Time micros(std::int64_t count) { return {count * 1'000'000}; }

// A run written by hand: pulls on the server's own device, so that they only wait.
class HandWrittenRun {
 public:
  OpId update(const std::string& worker, std::int64_t step, std::int64_t end) {
    const OpId op = builder_.add_compute(
        "step" + std::to_string(step) + "/update/server0-group0/" + worker + "@server0",
        stream_of(worker), {});
    return at(op, end, end);
  }
  void pull(const std::string& worker, std::int64_t step, std::int64_t start, OpId after) {
    const OpId op = builder_.add_marker(
        "step" + std::to_string(step) + "/pull/server0-group0@" + worker, stream_of(worker));
    if (after != no_id<OpId>()) {
      builder_.depend(op, after);
    }
    at(op, start, start);
  }
  void pass(const std::string& worker, std::int64_t step, std::int64_t start, std::int64_t end) {
    at(builder_.add_compute("step" + std::to_string(step) + "/backward/a@" + worker,
                            stream_of(worker), {}),
       start, end);
  }
  // One micro-batch of a stage, from `start` on for a microsecond.
  void stage_op(const std::string& what, std::int64_t micro, std::int64_t start) {
    at(builder_.add_compute("step0/" + what + "/mb" + std::to_string(micro) + "@rank0",
                            stream_of("rank0"), {}),
       start, start + 1);
  }
  Staleness pipeline() && {
    const Plan plan = std::move(builder_).finish();
    return pipeline_staleness(plan, {"simulated", times_, {}, {}, last_});
  }
  Staleness staleness(std::int64_t first_step = 0) && {
    const Plan plan = std::move(builder_).finish();
    return server_staleness(plan, {"simulated", times_, {}, {}, last_}, first_step);
  }
  WorkerPace pace(std::int64_t warmup_steps) && {
    const Plan plan = std::move(builder_).finish();
    return worker_pace(plan, {"simulated", times_, {}, {}, last_}, warmup_steps);
  }

 private:
  StreamId stream_of(const std::string& worker) { return builder_.stream(server_, worker); }
  OpId at(OpId op, std::int64_t start, std::int64_t end) {
    times_.push_back({micros(start), micros(start), micros(end)});
    last_ = std::max(last_, micros(end));
    return op;
  }

  PlanBuilder builder_;
  DeviceId server_ = builder_.add_device("cpu0");
  std::vector<OpTimes> times_;
  Time last_{};
};

//   a   pulls 0, applied 2, pulls 2, applied 4, pulls 4, applied 6
//   b   pulls 0, applied 5: a's first two came between
TEST(Staleness, CountsUpdatesOfOthersBetweenPullAndUpdate) {
  HandWrittenRun run;
  run.pull("rank0", 0, 0, no_id<OpId>());
  run.pull("rank1", 0, 0, no_id<OpId>());
  run.pull("rank0", 1, 2, run.update("rank0", 0, 2));
  run.pull("rank0", 2, 4, run.update("rank0", 1, 4));
  run.pull("rank1", 1, 5, run.update("rank1", 0, 5));
  run.update("rank0", 2, 6);  // b's came between its pull and this
  run.update("rank1", 1, 9);  // alone: does not count
  const Staleness staleness = std::move(run).staleness();
  EXPECT_THAT(staleness.histogram, ElementsAre(2, 1, 1));
  EXPECT_THAT(staleness.mean, DoubleEq(3.0 / 4));
  EXPECT_EQ(staleness.max, 2);
}

TEST(Staleness, WeightsAreThoseOfTheAnswerNotOfItsArrival) {
  HandWrittenRun run;
  run.pull("rank0", 1, 9, run.update("rank0", 0, 1));  // answered at 1, in queues until 9
  run.pull("rank1", 1, 5, run.update("rank1", 0, 5));
  run.update("rank0", 1, 10);
  run.update("rank1", 1, 11);
  EXPECT_EQ(std::move(run).staleness(1).max, 1);
}

// All apply at 2 and 4 and read at once: each sees those before it in the same instant.
TEST(Staleness, WorkersOfOneInstantTakeTurns) {
  HandWrittenRun run;
  for (const std::string worker : {"rank0", "rank1", "rank2"}) {
    run.pull(worker, 0, 0, no_id<OpId>());
  }
  for (const std::string worker : {"rank0", "rank1", "rank2"}) {
    run.pull(worker, 1, 2, run.update(worker, 0, 2));
    run.update(worker, 1, 4);
  }
  const Staleness staleness = std::move(run).staleness();
  EXPECT_THAT(staleness.histogram, ElementsAre(1, 1, 1 + 3));  // 0 1 2, then always 2
}

TEST(Staleness, NothingIsCountedWithoutUpdatesOfSingleWorkers) {
  HandWrittenRun run;
  run.pull("rank0", 0, 0, no_id<OpId>());
  EXPECT_EQ(std::move(run).staleness(), Staleness{});
}

// A stage that is two micro-batches ahead of its own updates:
//   F0 F1 F2 U0 F3 U1 U2 U3: between F3 and U3 came U1 and U2
TEST(PipelineStaleness, CountsUpdatesOfTheStageBetweenForwardAndUpdate) {
  HandWrittenRun run;
  std::int64_t now = 0;
  const auto forward = [&](std::int64_t i) { run.stage_op("forward/a", i, now++); };
  const auto update = [&](std::int64_t i) { run.stage_op("update", i, now++); };
  forward(0);
  forward(1);
  forward(2);
  update(0);
  forward(3);
  update(1);
  update(2);
  update(3);
  const Staleness staleness = std::move(run).pipeline();
  EXPECT_THAT(staleness.histogram, ElementsAre(1, 1, 2));  // 0, 1, then 2 and 2
  EXPECT_EQ(staleness.max, 2);
}

TEST(PipelineStaleness, NothingIsCountedWhereEveryUpdateIsInTime) {
  HandWrittenRun run;
  for (std::int64_t i = 0; i < 3; ++i) {
    run.stage_op("forward/a", i, 2 * i);
    run.stage_op("update", i, 2 * i + 1);
  }
  EXPECT_EQ(std::move(run).pipeline(), Staleness{});
}

//   a   ends steps at 1 2 3 4 5 6
//   b   ends steps at 2 4 6 7 8 9: it is faster when a is through, which does not count
TEST(WorkerPace, CountsWhileAllWork) {
  HandWrittenRun run;
  for (std::int64_t step = 0; step < 6; ++step) {
    run.pass("rank0", step, step, step + 1);
    run.pass("rank1", step, 2 * step, step < 3 ? 2 * step + 2 : step + 4);
  }
  const WorkerPace pace = std::move(run).pace(1);
  ASSERT_EQ(pace.workers.size(), 2U);
  EXPECT_NEAR(pace.workers[0].steps_per_s(), 1e6, 1);
  EXPECT_NEAR(pace.workers[1].steps_per_s(), 5e5, 1);
  EXPECT_NEAR(pace.sum, 1.5e6, 1);
  EXPECT_NEAR(pace.step_s(), 2 / 1.5e6, 1e-12);  // two workers' step
}

//   a   ends steps at 1 2 3
//   b   ends steps at 10 20 30: none while a works
TEST(WorkerPace, AVerySlowWorkerCountsAtItsOwnPace) {
  HandWrittenRun run;
  for (std::int64_t step = 0; step < 3; ++step) {
    run.pass("rank0", step, step, step + 1);
    run.pass("rank1", step, 10 * step, 10 * step + 10);
  }
  EXPECT_NEAR(std::move(run).pace(1).workers[1].steps_per_s(), 1e5, 1);
}

TEST(WorkerPace, WithoutWarmUpCountingStartsWithTheRun) {
  HandWrittenRun run;
  run.pass("rank0", 0, 0, 4);
  EXPECT_NEAR(std::move(run).pace(0).step_s(), 4e-6, 1e-12);
}

}  // namespace
}  // namespace twinrun
