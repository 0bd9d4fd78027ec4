#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/plan/run_graph.h"
#include "core/trace/steps.h"
#include "exec/cuda/enqueue_order.h"
#include "sim/simulate.h"
#include "tests/conformance/charged_runs.h"
#include "tests/conformance/trained_runs.h"
#include "tests/conformance/training_cases.h"

// Every wait for an event is there for a reason: without it some op is ready, starts or ends at
// another time than in the simulation when the one that was awaited is slow; or, where the two
// would be in order anyway, numbers come out wrong when it really is.

namespace twinrun {
namespace {

constexpr std::int64_t kSteps = 2;
constexpr int kDevices = 8;
constexpr std::int64_t kSlow = 1000;  // ticks; all others take one
constexpr auto kDelay = std::chrono::milliseconds(5);

bool is_host(const Plan& plan, OpId op) {
  return plan.device_name(plan.device(op)).find("cpu") != std::string_view::npos;
}

bool is_copied(const Plan& plan, OpId op) {
  return is_host(plan, op) || is_host(plan, plan.message(op).partner);
}

// A wait, in the order in which they are made.
struct Wait {
  OpId of{};
  std::vector<OpId> slow;  // what is to be slow for it to show
};

// All that must be done before an op may start.
std::vector<OpId> just_before(const Plan& plan, OpId op) {
  std::vector<OpId> out(plan.predecessors(op).begin(), plan.predecessors(op).end());
  const auto ops = plan.stream_ops(plan.stream(op));
  const auto at = std::find(ops.begin(), ops.end(), op);
  if (at != ops.begin()) {
    out.push_back(*(at - 1));
  }
  return out;
}

bool leaves_as_copy(const Plan& plan, OpId send) {
  const Store store = plan.payload(send)->source;
  return is_sum(store) || store == Store::kServerParameters;
}

std::vector<Wait> waits_of(const Plan& plan) {
  const exec::EnqueueOrder order =
      exec::enqueue_order(plan, [&](OpId send) { return is_copied(plan, send); });
  const RunGraph graph(plan);
  std::vector<Wait> out;
  for (const OpId node : order.nodes) {
    graph.for_each_op(node, [&](OpId op) {
      for (const OpId before : order.waits[op]) {
        out.push_back({op, {before}});
      }
    });
    const bool is_message = plan.kind(node) == OpKind::kSend || plan.kind(node) == OpKind::kRecv;
    if (is_message && is_copied(plan, node)) {
      const OpId partner = plan.message(node).partner;
      const OpId send = plan.kind(node) == OpKind::kSend ? node : partner;
      const OpId recv = plan.message(send).partner;
      if (!order.is_known_to_receiver[index_of(send)] || leaves_as_copy(plan, send)) {
        out.push_back({recv, just_before(plan, send)});
        out.back().slow.push_back(send);
      }
      out.push_back({send, {recv}});
    }
  }
  return out;
}

std::vector<Time> table_with_slow(const Plan& plan, const std::vector<OpId>& slow) {
  std::vector<Time> out(plan.size(), Time{kTickPs});
  for (const OpId op : slow) {
    out[index_of(op)] = Time{kSlow * kTickPs};
    if (plan.kind(op) == OpKind::kRecv) {
      out[index_of(plan.message(op).partner)] = Time{kSlow * kTickPs};
    } else if (plan.kind(op) == OpKind::kCollective) {
      for (const OpId other : plan.instance_ops(plan.collective(op).instance)) {
        out[index_of(other)] = Time{kSlow * kTickPs};
      }
    }
  }
  return same_for_those_together(plan, std::move(out));
}

struct Run {
  Trace trace;
  std::vector<float> weights;
  std::vector<double> losses;
  std::int64_t waits = 0;
};

Run run(const Plan& plan, exec::CudaSetting setting) {
  exec::ExecuteOptions options;
  options.uses_integers = true;
  options.is_reproducible = true;
  options.run.timeout_s = 20;
  exec::Execution done = exec::execute_on_gpus(plan, options, setting);
  EXPECT_FALSE(done.outcome.failure) << done.outcome.failure->message;
  return {std::move(done.outcome.trace), std::move(done.weights), std::move(done.losses),
          substitute::waits()};
}

// Where a message is copied it is the copy that takes its time: the sender has to wait for it.
exec::CudaSetting charged(const Plan& plan, const std::vector<Time>& table) {
  exec::CudaSetting setting = charged_setting(exec::substitute_gpus(kDevices), table);
  struct Charge {
    substitute::TaskKind kind = substitute::TaskKind::kCopy;
    int before = 0;  // tasks of that kind that come first: they make the copy that leaves
    substitute::Picoseconds cost = 0;
  };
  const auto of_copy = std::make_shared<Charge>();
  substitute::set_cost([=](const substitute::Task& task) {
    const bool is_it = task.kind == of_copy->kind && of_copy->before-- <= 0;
    return is_it ? std::exchange(of_copy->cost, 0) : 0;
  });
  const auto is_message = [&plan](OpId op) {
    const bool sends_or_receives = plan.kind(op) == OpKind::kSend || plan.kind(op) == OpKind::kRecv;
    return sends_or_receives && is_copied(plan, op);
  };
  setting.run.op_begins = [=, &plan, charge = setting.run.op_begins](
                              OpId op, const exec::GpuStream& stream) {
    if (!is_message(op)) {
      return charge(op, stream);
    }
    if (plan.kind(op) == OpKind::kRecv) {
      const OpId send = plan.message(op).partner;
      const bool is_call = is_host(plan, op) && is_host(plan, send);
      *of_copy = {is_call ? substitute::TaskKind::kHostFunction : substitute::TaskKind::kCopy,
                  is_call && leaves_as_copy(plan, send) ? 1 : 0, table[index_of(op)].ps};
    }
  };
  setting.run.op_ends = [=, charge = setting.run.op_ends](OpId op, const exec::GpuStream& stream) {
    if (!is_message(op)) {
      charge(op, stream);
    }
  };
  return setting;
}

Trace simulated(const Plan& plan, const std::string& topology) {
  sim::SimulationOptions options;
  options.kernels_at_once = std::numeric_limits<double>::infinity();
  return sim::simulate(plan, example_topology(topology), options).trace;
}

// Some ops really are slow to begin.
exec::CudaSetting delayed(const std::vector<OpId>& slow) {
  exec::CudaSetting setting{exec::substitute_gpus(kDevices)};
  const std::set<OpId> ops(slow.begin(), slow.end());
  setting.run.op_begins = [=](OpId op, const exec::GpuStream& stream) {
    if (ops.contains(op)) {
      cudaLaunchHostFunc(
          reinterpret_cast<cudaStream_t>(stream.handle),
          [](void*) { std::this_thread::sleep_for(kDelay); }, nullptr);
    }
  };
  return setting;
}

struct Count {
  std::size_t waits = 0;
  std::size_t tried = 0;
  std::size_t by_time = 0;
  std::size_t by_numbers = 0;
  std::size_t of_no_use = 0;  // at first, servers hand out what ranks have already
};

// 1 of so many waits is dropped; TWINRUN_ALL_WAITS has all of them dropped in turn.
std::size_t stride(std::size_t waits) {
  return std::getenv("TWINRUN_ALL_WAITS") != nullptr ? 1 : std::max<std::size_t>(1, waits / 10);
}

bool hands_out_known_weights(const Plan& plan, OpId op) {
  const Payload* const payload = plan.payload(op);
  return payload != nullptr && payload->source == Store::kServerParameters &&
         step_of(plan.id(op)) == 0;
}

void drop_each(const TrainingCase& one, Count& count) {
  const CompiledJob compiled =
      compile_for_execution(one.job, "mlp-6-8-8-8-4", one.topology, kSteps);
  const std::vector<Wait> waits = waits_of(compiled.plan);
  const std::vector<Time> even = table_with_slow(compiled.plan, {});
  const Run right = run(compiled.plan, charged(compiled.plan, even));
  ASSERT_EQ(right.waits, static_cast<std::int64_t>(waits.size())) << one.name;
  count.waits += waits.size();
  for (std::size_t i = 0; i < waits.size(); i += stride(waits.size())) {
    ++count.tried;
    const std::vector<Time> table = table_with_slow(compiled.plan, waits[i].slow);
    const Plan plan = with_durations(compiled.plan, table);
    exec::CudaSetting setting = charged(plan, table);
    substitute::drop_wait(static_cast<std::int64_t>(i) + 1);
    const Run late = run(plan, std::move(setting));
    if (late.trace.ops != simulated(plan, one.topology).ops) {
      ++count.by_time;
      continue;
    }
    exec::CudaSetting slow = delayed(waits[i].slow);
    substitute::drop_wait(static_cast<std::int64_t>(i) + 1);
    const Run wrong = run(compiled.plan, std::move(slow));
    if (wrong.weights != right.weights || wrong.losses != right.losses) {
      ++count.by_numbers;
      continue;
    }
    if (hands_out_known_weights(compiled.plan, waits[i].slow.front())) {
      ++count.of_no_use;
      continue;
    }
    ADD_FAILURE() << one.name << " without wait " << i + 1 << " of " << waits.size() << ", of "
                  << compiled.plan.id(waits[i].of) << " for "
                  << compiled.plan.id(waits[i].slow.front());
  }
}

std::vector<TrainingCase> cases() {
  const std::set<std::string> wanted = {"ddp3",
                                        "ddp4buckets",
                                        "dataParallel3",
                                        "mirrored3",
                                        "multiWorker3",
                                        "zero1over3",
                                        "zero3over2",
                                        "servergpu03",
                                        "servercpu3",
                                        "serverhosts3",
                                        "serversOfCollectives3",
                                        "serverNoOverlap",
                                        "hierarchicaldgx1v100nodes2gpus2",
                                        "gpipe3of4",
                                        "oneFOneB3of4",
                                        "recomputefullgpipe",
                                        "interleaved",
                                        "pipelineWithServers",
                                        "tensor2",
                                        "tensorTimesServer",
                                        "offloadactivationssingle",
                                        "offloadweightssharedHost",
                                        "inputPrefetched",
                                        "inputOfPipeline"};
  std::vector<TrainingCase> out;
  for (TrainingCase& one : all_training_cases()) {
    if (wanted.contains(one.name)) {
      out.push_back(std::move(one));
    }
  }
  EXPECT_EQ(out.size(), wanted.size());
  return out;
}

TEST(DroppedWait, ShowsInTimeOrNumbers) {
  Count count;
  for (const TrainingCase& one : cases()) {
    drop_each(one, count);
  }
  std::printf(
      "%zu of %zu waits dropped in turn: %zu noticed by times, %zu by numbers; %zu are for weights "
      "that are there already\n",
      count.tried, count.waits, count.by_time, count.by_numbers, count.of_no_use);
  EXPECT_EQ(count.by_time + count.by_numbers + count.of_no_use, count.tried);
  EXPECT_LT(count.of_no_use, count.tried / 20);
  EXPECT_GT(count.tried, 100U);
}

}  // namespace
}  // namespace twinrun
