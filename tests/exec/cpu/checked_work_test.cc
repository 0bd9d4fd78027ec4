#include "exec/cpu/checked_work.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/plan_builder.h"
#include "core/plan/repeated_calls.h"
#include "exec/cpu/cpu_backend.h"
#include "exec/runner.h"

namespace twinrun::exec {
namespace {

std::vector<std::string> devices(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back("cpu" + std::to_string(i));
  }
  return out;
}

RepeatedCall call_of(std::optional<CollectiveKind> kind, std::vector<Bytes> sizes) {
  RepeatedCall call;
  call.kind = kind;
  call.sizes = std::move(sizes);
  call.times = 2;
  return call;
}

// Runs the plan, except that one op does something else.
class Disturbed : public Backend {
 public:
  Disturbed(const Plan& plan, CheckedWork& work, OpId disturbed)
      : work_(work), inner_(plan, work), disturbed_(disturbed) {}

  void run(OpId op) override {
    inner_.run(op);
    if (op == disturbed_) {
      std::span<float> range = work_.moved(op).ranges.front();
      const auto from_each = work_.moved(op).from_each;
      (from_each.empty() ? range : from_each.front().front()).front() += 1;
    }
  }
  void stop() override { inner_.stop(); }
  [[nodiscard]] std::string algorithm(InstanceId instance) const override {
    return inner_.algorithm(instance);
  }

 private:
  CheckedWork& work_;
  CpuBackend inner_;
  OpId disturbed_;
};

std::int64_t wrong_after(const RepeatedCallPlan& repeated, OpId disturbed = no_id<OpId>()) {
  CheckedWork work(repeated.plan);
  Disturbed backend(repeated.plan, work, disturbed);
  const Outcome outcome = run_plan(repeated.plan, backend);
  EXPECT_FALSE(outcome.failure);
  return work.wrong();
}

// One wrong element in the array of the first rank counts once, whatever the collective: rank 0 has
// the first share, is the root, and has it from itself in an all_to_all.
TEST(CheckedWork, CountsWhatIsWrong) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
        CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllToAll}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 5U}) {
      const RepeatedCallPlan repeated =
          repeat_calls(devices(ranks), call_of(kind, {{4}, {4000}, {4 * 60 * 7}, {4 * 1001}}));
      EXPECT_EQ(wrong_after(repeated), 0) << name_of(kind) << " over " << ranks;
      EXPECT_EQ(wrong_after(repeated, repeated.ops[2][1].front()), 1)
          << name_of(kind) << " over " << ranks;
    }
  }
}

TEST(CheckedWork, CountsWhatIsWrongInMessages) {
  for (const std::size_t ranks : {2U, 3U}) {
    const RepeatedCallPlan repeated = repeat_calls(devices(ranks), call_of({}, {{8}, {4000}}));
    EXPECT_EQ(wrong_after(repeated), 0);
    const OpId received = repeated.ops[1][0].back();
    ASSERT_EQ(repeated.plan.kind(received), OpKind::kRecv);
    EXPECT_EQ(wrong_after(repeated, received), 1);
  }
}

// Nothing that was there before can pass for the result.
TEST(CheckedWork, AnExchangeThatDoesNothingIsWrong) {
  class Idle : public Backend {
   public:
    Idle(const Plan& plan, CheckedWork& work) : plan_(plan), work_(work) {}
    void run(OpId op) override {
      if (plan_.kind(op) == OpKind::kHost) {
        work_.compute(op);
      }
    }
    void stop() override {}
    [[nodiscard]] std::string algorithm(InstanceId) const override { return ""; }

   private:
    const Plan& plan_;
    CheckedWork& work_;
  };
  const std::size_t elements = 2 * 251 * 3;
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kBroadcast, CollectiveKind::kAllToAll}) {
    const RepeatedCallPlan repeated =
        repeat_calls(devices(2), call_of(kind, {{static_cast<std::int64_t>(4 * elements)}}));
    CheckedWork work(repeated.plan);
    Idle backend(repeated.plan, work);
    run_plan(repeated.plan, backend);
    const auto half = static_cast<std::int64_t>(elements);
    EXPECT_GE(work.wrong(), half) << name_of(kind);  // of two repetitions on two ranks
  }
}

TEST(CheckedWork, RefusesWhatItDoesNotCheck) {
  PlanBuilder builder;
  const DeviceId device = builder.add_device("cpu0");
  builder.add_compute("forward@cpu0", builder.stream(device, "compute"), {.flops = 1});
  const Plan compute = std::move(builder).finish();
  EXPECT_THROW(CheckedWork{compute}, CannotRun);

  RepeatedCall half = call_of(CollectiveKind::kAllReduce, {{8}});
  half.dtype = Dtype::kFp16;
  const RepeatedCallPlan repeated = repeat_calls(devices(2), half);
  EXPECT_THROW(CheckedWork{repeated.plan}, CannotRun);

  const RepeatedCallPlan huge =
      repeat_calls(devices(2), call_of(CollectiveKind::kAllReduce, {{std::int64_t{1} << 50}}));
  EXPECT_THROW(CheckedWork{huge.plan}, CannotRun);
}

}  // namespace
}  // namespace twinrun::exec
