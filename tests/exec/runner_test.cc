#include "exec/runner.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "exec/gate.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Notes which ops ran; what else they do is the test's.
class NotingBackend : public Backend {
 public:
  explicit NotingBackend(const Plan& plan) : plan_(plan) {}

  void run(OpId op) override {
    if (during) {
      during(op);
    }
    const std::lock_guard lock(mutex_);
    ran.emplace_back(plan_.id(op));
  }
  void stop() override { stopped.raise(); }
  [[nodiscard]] std::string algorithm(InstanceId) const override { return "noted"; }

  std::vector<std::string> ran;
  std::function<void(OpId)> during;
  Gate stopped;

 private:
  const Plan& plan_;
  std::mutex mutex_;
};

// a and b on one device, c on another; c waits for b, d for c.
struct Chain {
  Chain() : plan(make()) {}
  static Plan make() {
    PlanBuilder builder("chain");
    const StreamId first = builder.stream(builder.add_device("gpu0"), "compute");
    const StreamId second = builder.stream(builder.add_device("gpu1"), "compute");
    builder.add_compute("a@gpu0", first, {});
    const OpId b = builder.add_compute("b@gpu0", first, {});
    const OpId c = builder.add_compute("c@gpu1", second, {});
    builder.depend(c, b);
    const OpId d = builder.add_compute("d@gpu0", first, {});
    builder.depend(d, c);
    return std::move(builder).finish();
  }
  Plan plan;
};

Plan two_ranks_of_a_collective() {
  PlanBuilder builder("pair");
  const DeviceId gpu0 = builder.add_device("gpu0");
  const DeviceId gpu1 = builder.add_device("gpu1");
  const GroupId group = builder.add_group("all", std::vector{gpu0, gpu1});
  builder.add_compute("before@gpu1", builder.stream(gpu1, "compute"), {});
  for (const auto& [name, device] : {std::pair("sum@gpu0", gpu0), std::pair("sum@gpu1", gpu1)}) {
    builder.add_collective(name, builder.stream(device, "compute"),
                           {.kind = CollectiveKind::kAllReduce, .group = group, .bytes = {8}});
  }
  return std::move(builder).finish();
}

TEST(RunPlan, KeepsTheOrderOfStreamsAndDependencies) {
  const Chain chain;
  NotingBackend backend(chain.plan);
  const Outcome outcome = run_plan(chain.plan, backend);
  EXPECT_FALSE(outcome.failure);
  EXPECT_THAT(backend.ran, ElementsAre("a@gpu0", "b@gpu0", "c@gpu1", "d@gpu0"));
}

TEST(RunPlan, TracesWhatHappened) {
  const Chain chain;
  NotingBackend backend(chain.plan);
  backend.during = [](OpId) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  const Trace trace = run_plan(chain.plan, backend).trace;
  EXPECT_EQ(trace.source, "executed");
  ASSERT_EQ(trace.ops.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE((trace.ops[i].end - trace.ops[i].start).ps, 2'000'000'000) << i;
    EXPECT_GE(trace.ops[i].start, i == 0 ? Time{} : trace.ops[i - 1].end) << i;
  }
  EXPECT_EQ(trace.makespan, trace.ops[3].end);
}

TEST(RunPlan, KeepsTheGivenPace) {
  const Chain chain;
  NotingBackend backend(chain.plan);
  RunOptions options;
  options.pace = {Time{5'000'000'000}, Time{0}, Time{20'000'000'000}, Time{1'000'000'000}};
  const Trace trace = run_plan(chain.plan, backend, options).trace;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(trace.ops[i].end - trace.ops[i].start, options.pace[i]) << i;
  }
  EXPECT_GE(trace.makespan.ps, 26'000'000'000);
}

TEST(RunPlan, RanksOfACollectiveStartTogether) {
  const Plan plan = two_ranks_of_a_collective();
  NotingBackend backend(plan);
  backend.during = [&](OpId op) {
    if (plan.kind(op) == OpKind::kCompute) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  const Trace trace = run_plan(plan, backend).trace;
  EXPECT_GE(trace.ops[1].start, trace.ops[0].end);  // gpu0 had nothing to do before
  EXPECT_LT(trace.ops[1].ready, trace.ops[0].end);
  EXPECT_EQ(trace.collectives.front().algorithm, "noted");
}

TEST(RunPlan, AnExceptionEndsAllAndNamesItsOp) {
  const Chain chain;
  NotingBackend backend(chain.plan);
  backend.during = [&](OpId op) {
    if (chain.plan.id(op) == "b@gpu0") {
      throw std::runtime_error("the memory is full");
    }
  };
  const Outcome outcome = run_plan(chain.plan, backend);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, FailureKind::kOpFailed);
  EXPECT_EQ(chain.plan.id(outcome.failure->op), "b@gpu0");
  EXPECT_THAT(outcome.failure->message, HasSubstr("b@gpu0 on gpu0 failed: the memory is full"));
  EXPECT_FALSE(outcome.left_threads);
  EXPECT_GE(outcome.trace.ops[0].end, outcome.trace.ops[0].start);  // what was done is kept
  EXPECT_LT(outcome.trace.ops[2].end, outcome.trace.ops[2].start);
}

TEST(RunPlan, AStuckOpEndsTheRunWithinTheTimeout) {
  const Chain chain;
  NotingBackend backend(chain.plan);
  backend.during = [&](OpId op) {
    if (chain.plan.id(op) == "c@gpu1") {
      backend.stopped.wait_for(1);
    }
  };
  RunOptions options;
  options.timeout_s = 0.2;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run_plan(chain.plan, backend, options);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, FailureKind::kTimeout);
  EXPECT_EQ(chain.plan.id(outcome.failure->op), "c@gpu1");
  EXPECT_THAT(outcome.failure->message, HasSubstr("running: c@gpu1 on gpu1"));
  EXPECT_THAT(outcome.failure->message, HasSubstr("d@gpu0 on gpu0 for c@gpu1 on gpu1"));
}

TEST(RunPlan, ThreadsThatDoNotComeBackAreLeftBehind) {
  // Leaked on purpose: the stuck thread may use them after the test.
  const auto* const chain = new Chain;
  auto* const backend = new NotingBackend(chain->plan);
  auto* const late = new Gate;
  backend->during = [chain, late](OpId op) {
    if (chain->plan.id(op) == "c@gpu1") {
      late->wait_for(1);  // deaf to stop()
    }
  };
  RunOptions options;
  options.timeout_s = 0.1;
  const Outcome outcome = run_plan(chain->plan, *backend, options);
  EXPECT_TRUE(outcome.failure);
  EXPECT_TRUE(outcome.left_threads);
  late->raise();
}

TEST(RunPlan, AStreamThatNeverWaitsNoticesTheEnd) {
  PlanBuilder builder("one stream");
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  for (int i = 0; i < 100; ++i) {
    builder.add_compute("op" + std::to_string(i), stream, {});
  }
  const Plan plan = std::move(builder).finish();
  NotingBackend backend(plan);
  std::atomic<bool> interrupted{true};
  backend.during = [&](OpId) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  RunOptions options;
  options.interrupted = &interrupted;
  const Outcome outcome = run_plan(plan, backend, options);
  EXPECT_TRUE(outcome.failure);
  EXPECT_FALSE(outcome.left_threads);
}

TEST(RunPlan, AnInterruptEndsIt) {
  const Chain chain;
  NotingBackend backend(chain.plan);
  std::atomic<bool> interrupted{false};
  backend.during = [&](OpId op) {
    if (chain.plan.id(op) == "c@gpu1") {
      interrupted = true;
      backend.stopped.wait_for(1);
    }
  };
  RunOptions options;
  options.interrupted = &interrupted;
  const Outcome outcome = run_plan(chain.plan, backend, options);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, FailureKind::kInterrupted);
}

TEST(RunPlan, WaitersOfACollectiveAreToldWhoIsMissing) {
  const Plan plan = two_ranks_of_a_collective();
  NotingBackend backend(plan);
  backend.during = [&](OpId op) {
    if (plan.kind(op) == OpKind::kCompute) {
      backend.stopped.wait_for(1);
    }
  };
  RunOptions options;
  options.timeout_s = 0.2;
  const Outcome outcome = run_plan(plan, backend, options);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->message, HasSubstr("sum@gpu0 on gpu0 for sum@gpu1 on gpu1"));
}

}  // namespace
}  // namespace twinrun::exec
