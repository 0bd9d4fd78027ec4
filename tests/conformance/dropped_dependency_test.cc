#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/load_plan.h"
#include "core/io/save_plan.h"
#include "exec/cpu/cpu_backend.h"
#include "exec/cpu/cpu_machine.h"
#include "exec/training/final_weights.h"
#include "exec/training/training_work.h"
#include "tests/conformance/touched_memory.h"
#include "tests/conformance/trained_runs.h"

// Every dependency of a plan is there for a reason: without it, numbers come out wrong when the op
// that others waited for is slow, or two ops that touch the same memory may run at once. So a
// dependency that a strategy forgets would show too.

namespace twinrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSteps = 3;
constexpr auto kDelay = std::chrono::milliseconds(15);
constexpr std::size_t kMostOfPlan = 24;  // dependencies tried, evenly over a plan's

struct Example {
  std::string topology;
  Job job;
};

Job job_of(const std::string& strategy) {
  Job job;
  job.name = strategy;
  job.parallelism.strategy = strategy;
  job.training.global_batch_size = 12;
  return job;
}

std::vector<Example> examples() {
  std::vector<Example> out;
  const auto add = [&](const std::string& topology, const std::string& strategy) -> Job& {
    out.push_back({topology, job_of(strategy)});
    return out.back().job;
  };
  Job& buckets = add("dgx1-v100:gpus=3", "ddp");
  buckets.ddp.bucket_cap_mb = 0.0003;
  buckets.ddp.bucket_cap_given = true;
  add("dgx1-v100:gpus=2", "data_parallel");
  add("dgx1-v100:gpus=2", "mirrored");
  add("dgx1-v100:gpus=3", "parameter_server").server.placement = ServerSite::kCpu;
  add("p3.2xlarge:nodes=2", "parameter_server").server.placement = ServerSite::kHosts;
  add("dgx1-v100:nodes=2,gpus=2", "hierarchical_ps");
  for (const char* const strategy : {"gpipe", "1f1b", "pipedream"}) {
    Job& pipeline = add("dgx1-v100:gpus=3", strategy);
    pipeline.parallelism.pipeline_parallel_degree = 3;
    pipeline.training.micro_batch_size = 4;
  }
  add("dgx1-v100:gpus=2", "tensor_parallel");
  for (const std::int64_t stage : {1, 3}) {
    Job& sharded = add("dgx1-v100:gpus=2", "ddp");
    sharded.parallelism.zero_stage = stage;
    sharded.parallelism.data_parallel_shard_degree = 2;
  }
  add("dgx1-v100:gpus=1", "single").training.offload = Offload::kActivations;
  add("dgx1-v100:gpus=2", "ddp").training.offload = Offload::kWeights;
  return out;
}

struct Numbers {
  std::vector<float> weights;
  std::vector<double> losses;
  bool ended = false;
  bool operator==(const Numbers&) const = default;
};

// Does what another backend does, but one op is slow to begin.
class SlowOp : public exec::Backend {
 public:
  SlowOp(exec::Backend& inner, OpId slow) : inner_(inner), slow_(slow) {}
  void run(OpId op) override {
    if (op == slow_) {
      std::this_thread::sleep_for(kDelay);
    }
    inner_.run(op);
  }
  void stop() override { inner_.stop(); }
  [[nodiscard]] std::string algorithm(InstanceId instance) const override {
    return inner_.algorithm(instance);
  }

 private:
  exec::Backend& inner_;
  OpId slow_;
};

Numbers run_with_slow(const Plan& plan, OpId slow) {
  exec::CpuMachine machine(plan, exec::ProductLibrary::kBuiltIn);
  exec::TrainingWork work(plan, machine,
                          exec::TrainingData(plan.workload(), exec::DataKind::kIntegers, 1));
  exec::CpuBackend cpu(plan, work);
  SlowOp backend(cpu, slow);
  exec::RunOptions options;
  options.timeout_s = 10;
  const exec::Outcome outcome = exec::run_plan(plan, backend, options);
  return {exec::whole_model(plan.workload(), work.updated_weights()),
          exec::mean_losses(plan.workload(), work.loss_of_samples()), !outcome.failure};
}

// What must have begun before an op ends, whatever happens: over dependencies, streams, and those
// whom messages and collectives start together.
class Order {
 public:
  explicit Order(const Plan& plan) : plan_(plan), next_(plan.size()) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const OpId op = id_at<OpId>(i);
      for (const OpId together : partners(op)) {  // they wait for what it waits for
        for (const OpId before : plan.predecessors(op)) {
          next_[index_of(before)].push_back(together);
        }
      }
    }
    for (std::size_t i = 0; i < plan.stream_count(); ++i) {
      const auto ops = plan.stream_ops(id_at<StreamId>(i));
      for (std::size_t k = 1; k < ops.size(); ++k) {
        for (const OpId together : partners(ops[k])) {
          next_[index_of(ops[k - 1])].push_back(together);
        }
      }
    }
  }

  // By op: whether it comes after this one.
  [[nodiscard]] std::vector<bool> behind(OpId first) const {
    std::vector<bool> seen(plan_.size());
    std::vector<OpId> open{first};
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      for (const OpId next : next_[index_of(op)]) {
        if (!seen[index_of(next)]) {
          seen[index_of(next)] = true;
          open.push_back(next);
        }
      }
    }
    return seen;
  }

 private:
  [[nodiscard]] std::vector<OpId> partners(OpId op) const {
    if (plan_.kind(op) == OpKind::kCollective) {
      const auto all = plan_.instance_ops(plan_.collective(op).instance);
      return {all.begin(), all.end()};
    }
    const bool is_message = plan_.kind(op) == OpKind::kSend || plan_.kind(op) == OpKind::kRecv;
    return is_message ? std::vector{op, plan_.message(op).partner} : std::vector{op};
  }

  const Plan& plan_;
  std::vector<std::vector<OpId>> next_;  // by op
};

// Two ops that touch the same memory, one after the other in the plan, in any order in the mutant.
bool has_new_race(const Order& plan, const Order& mutant, const TouchedMemory& memory, OpId after) {
  const std::size_t count = mutant.behind(after).size();
  std::vector<bool> late = mutant.behind(after);
  late[index_of(after)] = true;
  for (std::size_t i = 0; i < count; ++i) {
    const OpId early = id_at<OpId>(i);
    const std::vector<bool> before = plan.behind(early);
    if (!before[index_of(after)]) {
      continue;
    }
    const std::vector<bool> now = mutant.behind(early);
    for (std::size_t k = 0; k < count; ++k) {
      if (late[k] && before[k] && !now[k] && memory.conflict(early, id_at<OpId>(k))) {
        return true;
      }
    }
  }
  return false;
}

struct Dropped {
  std::string before;
  std::string after;
};

Plan without(const Json& whole, const Dropped& dropped) {
  Json json = whole;
  for (Json& op : json["ops"]) {
    if (op["id"] == dropped.after) {
      Json& after = op["after"];
      after.erase(std::find(after.begin(), after.end(), Json(dropped.before)));
    }
  }
  Diagnostics diagnostics;
  std::optional<Plan> plan = load_plan(Source::of_text("mutant", json.dump()), diagnostics);
  if (!plan) {
    throw std::runtime_error(all_messages(diagnostics));
  }
  return *std::move(plan);
}

std::vector<Dropped> dependencies_of(const Json& plan) {
  std::vector<Dropped> out;
  for (const Json& op : plan["ops"]) {
    for (const Json& before : op.value("after", Json::array())) {
      out.push_back({before, op["id"]});
    }
  }
  return out;
}

OpId op_named(const Plan& plan, const std::string& id) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan.id(id_at<OpId>(i)) == id) {
      return id_at<OpId>(i);
    }
  }
  throw std::runtime_error(id);
}

// Host ops touch no tensor: they are there for their time. And how early weights and activations
// are fetched is bounded for the memory they take, not for what is in it.
bool orders_no_data(const Plan& plan, OpId before, OpId after) {
  const bool has_none = plan.kind(before) == OpKind::kHost || plan.kind(after) == OpKind::kHost;
  const std::string_view id = plan.id(after);
  const bool fetches = id.find("/offload/in/") != std::string_view::npos ||
                       id.find("/all_gather/backward-") != std::string_view::npos ||
                       id.find("/all_gather/forward-") != std::string_view::npos;
  return has_none || (fetches && plan.kind(before) == OpKind::kCompute &&
                      plan.id(before).find("/update") == std::string_view::npos);
}

struct Count {
  int without_data = 0;
  int tried = 0;
  int wrong = 0;  // numbers
  int races = 0;
  int noticed = 0;
};

void try_all(const Example& example, Count& count) {
  const CompiledJob compiled =
      compile_for_execution(example.job, "mlp-6-8-8-8-4", example.topology, kSteps);
  const Json whole = Json::parse(plan_to_json(compiled.plan));
  const Numbers right = run_with_slow(compiled.plan, no_id<OpId>());
  const std::vector<Dropped> all = dependencies_of(whole);
  const Order order(compiled.plan);
  const TouchedMemory memory(compiled.plan);
  const std::size_t stride = std::max<std::size_t>(1, all.size() / kMostOfPlan);
  for (std::size_t i = 0; i < all.size(); i += stride) {
    const Plan mutant = without(whole, all[i]);
    const OpId before = op_named(mutant, all[i].before);
    const OpId after = op_named(mutant, all[i].after);
    const Order mutant_order(mutant);
    if (mutant_order.behind(before)[index_of(after)]) {
      continue;  // others say the same
    }
    if (orders_no_data(mutant, before, after)) {
      ++count.without_data;
      continue;
    }
    ++count.tried;
    const bool is_wrong = run_with_slow(mutant, before) != right;
    const bool is_race = has_new_race(order, mutant_order, memory, after);
    count.wrong += is_wrong ? 1 : 0;
    count.races += is_race ? 1 : 0;
    if (is_wrong || is_race) {
      ++count.noticed;
    } else {
      std::printf("not noticed in %s on %s: %s after %s\n", example.job.name.c_str(),
                  example.topology.c_str(), all[i].after.c_str(), all[i].before.c_str());
    }
  }
}

TEST(DroppedDependency, ShowsAsOtherNumbers) {
  Count count;
  for (const Example& example : examples()) {
    try_all(example, count);
  }
  std::printf(
      "%d of %d dropped dependencies noticed: %d by wrong numbers, %d by a race; %d more are about "
      "time or memory, not data\n",
      count.noticed, count.tried, count.wrong, count.races, count.without_data);
  EXPECT_GT(count.tried, 100);
  EXPECT_GE(count.noticed, 0.95 * count.tried);
}

}  // namespace
}  // namespace twinrun
