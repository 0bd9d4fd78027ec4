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
#include "exec/cpu/final_weights.h"
#include "exec/cpu/training_work.h"
#include "tests/conformance/trained_runs.h"

// Every dependency of a plan is there for a reason: without it, numbers come out wrong as soon as
// the op that others waited for is slow. So a dependency that a strategy forgets would show too.

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
  const exec::Products products(exec::ProductLibrary::kBuiltIn);
  exec::TrainingWork work(plan, products,
                          exec::TrainingData(plan.workload(), exec::DataKind::kIntegers, 1));
  exec::CpuBackend cpu(plan, work);
  SlowOp backend(cpu, slow);
  exec::RunOptions options;
  options.timeout_s = 10;
  const exec::Outcome outcome = exec::run_plan(plan, backend, options);
  return {exec::whole_model(plan.workload(), work.updated_weights()),
          exec::mean_losses(plan.workload(), work.loss_of_samples()), !outcome.failure};
}

// Whether `after` comes after `before` whatever happens: over dependencies, streams, and those
// whom messages and collectives start together.
class Order {
 public:
  explicit Order(const Plan& plan) : plan_(plan), is_seen_(plan.size()) {}

  bool has(OpId before, OpId after) {
    is_seen_.assign(plan_.size(), false);
    return reaches(after, before);
  }

 private:
  // Backwards from an op; one that starts with others waits for what they wait for.
  bool reaches(OpId from, OpId wanted) {
    if (std::exchange(is_seen_[index_of(from)], true)) {
      return false;
    }
    std::vector<OpId> together{from};
    if (plan_.kind(from) == OpKind::kCollective) {
      const auto all = plan_.instance_ops(plan_.collective(from).instance);
      together.assign(all.begin(), all.end());
    } else if (plan_.kind(from) == OpKind::kSend || plan_.kind(from) == OpKind::kRecv) {
      together.push_back(plan_.message(from).partner);
    }
    for (const OpId op : together) {
      for (const OpId earlier : before(op)) {
        if (earlier == wanted || reaches(earlier, wanted)) {
          return true;
        }
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<OpId> before(OpId op) const {
    const auto dependencies = plan_.predecessors(op);
    std::vector<OpId> out(dependencies.begin(), dependencies.end());
    const auto ops = plan_.stream_ops(plan_.stream(op));
    const auto here = std::find(ops.begin(), ops.end(), op);
    if (here != ops.begin()) {
      out.push_back(*(here - 1));
    }
    return out;
  }

  const Plan& plan_;
  std::vector<bool> is_seen_;
};

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

struct Count {
  int tried = 0;
  int noticed = 0;
};

void try_all(const Example& example, Count& count) {
  const CompiledJob compiled =
      compile_for_execution(example.job, "mlp-6-8-8-8-4", example.topology, kSteps);
  const Json whole = Json::parse(plan_to_json(compiled.plan));
  const Numbers right = run_with_slow(compiled.plan, no_id<OpId>());
  const std::vector<Dropped> all = dependencies_of(whole);
  const std::size_t stride = std::max<std::size_t>(1, all.size() / kMostOfPlan);
  for (std::size_t i = 0; i < all.size(); i += stride) {
    const Plan mutant = without(whole, all[i]);
    const OpId before = op_named(mutant, all[i].before);
    if (Order(mutant).has(before, op_named(mutant, all[i].after))) {
      continue;  // others say the same
    }
    ++count.tried;
    if (run_with_slow(mutant, before) != right) {
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
  std::printf("%d of %d dropped dependencies noticed\n", count.noticed, count.tried);
  EXPECT_GT(count.tried, 100);
  EXPECT_GE(count.noticed, 0.95 * count.tried);
}

}  // namespace
}  // namespace twinrun
