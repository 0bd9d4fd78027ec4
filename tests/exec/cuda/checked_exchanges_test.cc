#include "exec/cuda/checked_exchanges.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/plan/repeated_calls.h"
#include "exec/cuda/execute_on_cuda.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

namespace twinrun::exec {
namespace {

std::vector<std::string> devices(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back("gpu" + std::to_string(i));
  }
  return out;
}

RepeatedCallPlan calls(std::optional<CollectiveKind> kind, std::size_t ranks) {
  RepeatedCall call;
  call.kind = kind;
  call.sizes = {{4}, {4000}, {4 * 60 * 7}, {4 * 1001}};
  call.times = 2;
  return repeat_calls(devices(ranks), call);
}

// Runs the plan; right behind that op an element of what came out of it is overwritten, if any.
std::int64_t wrong_after(const RepeatedCallPlan& repeated, OpId disturbed = no_id<OpId>()) {
  const Plan& plan = repeated.plan;
  const DeviceHomes homes(plan, 1);
  std::int64_t wrong = 0;
  {
    const auto gpus = substitute_gpus(8);
    GpuMachine machine(plan, *gpus, device_places(plan, homes, {8}), ProductLibrary::kBuiltIn);
    CheckedExchanges work(plan, machine, homes.local_to(0));
    Communicators communicators(plan, machine, homes, 0);
    CudaRunOptions options;
    options.run.timeout_s = 20;
    options.op_ends = [&](OpId op, const GpuStream& stream) {
      if (op == disturbed) {
        const MovedData data = work.moved(op);
        float* const at =
            data.from_each.empty() ? data.ranges[0].data() : data.from_each[0][0].data();
        EXPECT_EQ(cudaSetDevice(stream.device), cudaSuccess);
        EXPECT_EQ(
            cudaMemsetAsync(at, 0x55, sizeof(float), reinterpret_cast<cudaStream_t>(stream.handle)),
            cudaSuccess);
      }
    };
    EXPECT_FALSE(run_on_gpus(plan, machine, work, communicators, options).failure);
    wrong = work.wrong();
  }
  EXPECT_THAT(substitute::leaks(), testing::IsEmpty());
  return wrong;
}

// One wrong element in the array of the first rank counts once, whatever the collective.
TEST(CheckedExchanges, CountWhatIsWrong) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
        CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllToAll}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 5U}) {
      const RepeatedCallPlan repeated = calls(kind, ranks);
      EXPECT_EQ(wrong_after(repeated), 0) << name_of(kind) << " over " << ranks;
      EXPECT_EQ(wrong_after(repeated, repeated.ops[2][1].front()), 1)
          << name_of(kind) << " over " << ranks;
    }
  }
}

TEST(CheckedExchanges, CountWhatIsWrongInMessages) {
  for (const std::size_t ranks : {2U, 3U}) {
    const RepeatedCallPlan repeated = calls({}, ranks);
    EXPECT_EQ(wrong_after(repeated), 0);
    const OpId received = repeated.ops[1][0].back();
    ASSERT_EQ(repeated.plan.kind(received), OpKind::kRecv);
    EXPECT_EQ(wrong_after(repeated, received), 1);
  }
}

TEST(CheckedExchanges, AreWhatTheBackendReports) {
  ExecuteOptions options;
  options.checks_exchanges = true;
  options.run.timeout_s = 20;
  const RepeatedCallPlan repeated = calls(CollectiveKind::kAllReduce, 3);
  const Execution run = execute_on_gpus(repeated.plan, options, {substitute_gpus(3)});
  EXPECT_EQ(run.wrong_elements, 0);
  EXPECT_THAT(substitute::leaks(), testing::IsEmpty());
}

}  // namespace
}  // namespace twinrun::exec
