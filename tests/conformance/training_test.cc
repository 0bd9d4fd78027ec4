#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/collective/algorithms.h"
#include "tests/conformance/trained_runs.h"

// However training is distributed, it ends with the weights of one device that saw the same
// batches: a missing dependency, a wrong slice or a forgotten contribution shows as other numbers.

namespace twinrun {
namespace {

constexpr std::int64_t kSteps = 20;
constexpr std::int64_t kBatch = 24;
// Widths that divide by 2 and 4 and leave a rest in most chunks; three blocks to cut between.
const std::string kModel = "mlp-12-16-8-16-8-4";

struct Case {
  std::string name;
  std::string topology;
  Job job;
  bool shares_host = false;  // several ranks keep tensors in the memory of one CPU
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.topology; }

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

Job batch_job(const std::string& strategy) {
  Job job;
  job.name = strategy;
  job.parallelism.strategy = strategy;
  job.training.global_batch_size = kBatch;
  job.training.learning_rate = 0.05;
  return job;
}

std::string gpus(std::int64_t count) { return "dgx1-v100:gpus=" + std::to_string(count); }
std::string hosts(std::int64_t count) { return "p3.2xlarge:nodes=" + std::to_string(count); }
std::string cpus(std::int64_t count) { return "cpu:devices=" + std::to_string(count); }

// Names of tests have no other signs.
std::string letters_of(std::string_view name) {
  std::string out(name);
  std::erase_if(out, [](unsigned char c) { return std::isalnum(c) == 0; });
  return out;
}

using Change = std::function<void(Job&)>;

void add(std::vector<Case>& out,
         const std::string& name,
         const std::string& topology,
         const std::string& strategy,
         const Change& change = {}) {
  Job job = batch_job(strategy);
  if (change) {
    change(job);
  }
  out.push_back({name, topology, std::move(job), false});
}

void add_ddp(std::vector<Case>& out) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 6, 8}) {
    add(out, "ddp" + std::to_string(ranks), cpus(ranks), "ddp");
  }
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (const std::int64_t ranks : {2, 3, 8}) {
      add(out, "ddp" + std::to_string(ranks) + letters_of(algorithm.name), cpus(ranks), "ddp",
          [&](Job& job) { job.parallelism.all_reduce_algorithm = algorithm.name; });
    }
  }
  add(out, "ddp4buckets", cpus(4), "ddp", [](Job& job) {
    job.ddp.bucket_cap_mb = 0.0002;
    job.ddp.bucket_cap_given = true;
  });
  add(out, "ddp4bucketview", cpus(4), "ddp", [](Job& job) {
    job.ddp.bucket_cap_mb = 0.0005;
    job.ddp.bucket_cap_given = true;
    job.ddp.gradient_as_bucket_view = true;
  });
  add(out, "ddp4accumulated", cpus(4), "ddp",
      [](Job& job) { job.training.gradient_accumulation = 3; });
  add(out, "ddp2noOverlap", cpus(2), "ddp", [](Job& job) { job.parallelism.overlap = false; });
}

void add_replicas(std::vector<Case>& out) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 8}) {
    add(out, "mirrored" + std::to_string(ranks), gpus(ranks), "mirrored");
    add(out, "multiWorker" + std::to_string(ranks), hosts(ranks), "multi_worker_mirrored");
  }
  add(out, "mirrored4packs", gpus(4), "mirrored", [](Job& job) {
    job.ddp.bucket_cap_mb = 0.0005;
    job.ddp.bucket_cap_given = true;
  });
  for (const std::int64_t ranks : {1, 2, 3, 4, 5, 7, 8}) {  // 5 and 7 do not divide the batch
    add(out, "dataParallel" + std::to_string(ranks), gpus(ranks), "data_parallel");
  }
  add(out, "dataParallel4accumulated", gpus(4), "data_parallel",
      [](Job& job) { job.training.gradient_accumulation = 2; });
  for (const std::int64_t stage : {1, 2, 3}) {
    for (const std::int64_t ranks : {2, 3, 4, 8}) {
      add(out, "zero" + std::to_string(stage) + "over" + std::to_string(ranks), gpus(ranks), "ddp",
          [&](Job& job) {
            job.parallelism.zero_stage = stage;
            job.parallelism.data_parallel_shard_degree = ranks;
          });
    }
    add(out, "zero" + std::to_string(stage) + "hybrid", gpus(4), "ddp", [&](Job& job) {
      job.parallelism.zero_stage = stage;
      job.parallelism.data_parallel_shard_degree = 2;
      job.parallelism.data_parallel_replicate_degree = 2;
      job.training.gradient_accumulation = 2;
    });
  }
}

void add_servers(std::vector<Case>& out) {
  for (const ServerSite site : {ServerSite::kGpu0, ServerSite::kCpu, ServerSite::kHosts}) {
    const std::string word(kServerSiteWords[static_cast<std::size_t>(site)]);
    for (const std::int64_t ranks : {1, 2, 3, 8}) {
      const std::string where = site == ServerSite::kHosts ? hosts(ranks) : gpus(ranks);
      add(out, "server" + word + std::to_string(ranks), where, "parameter_server",
          [&](Job& job) { job.server.placement = site; });
    }
  }
  for (const std::int64_t count : {2, 3, 4}) {
    add(out, "servers" + std::to_string(count), hosts(4), "parameter_server", [&](Job& job) {
      job.server.placement = ServerSite::kHosts;
      job.server.count = count;
    });
  }
  add(out, "serverNoOverlap", gpus(4), "parameter_server",
      [](Job& job) { job.parallelism.overlap = false; });
  add(out, "serverOfCollectives", gpus(4), "parameter_server", [](Job& job) {
    job.server.placement = ServerSite::kGpu0;
    job.server.transport = ServerTransport::kCollectives;
  });
  for (const std::int64_t ranks : {2, 3, 4, 8}) {
    add(out, "serversOfCollectives" + std::to_string(ranks), gpus(ranks), "parameter_server",
        [&](Job& job) {
          job.server.placement = ServerSite::kGpu0;
          job.server.transport = ServerTransport::kCollectives;
          job.server.count = ranks;
        });
  }
  for (const char* const machines : {"dgx1-v100:nodes=2,gpus=2", "dgx1-v100:nodes=4,gpus=2",
                                     "p3.2xlarge:nodes=3", "dgx1-v100:gpus=4"}) {
    add(out, "hierarchical" + letters_of(machines), machines, "hierarchical_ps");
  }
}

Change stages(std::int64_t count, std::int64_t micro_batch) {
  return [=](Job& job) {
    job.parallelism.pipeline_parallel_degree = count;
    job.training.micro_batch_size = micro_batch;
  };
}

void add_pipelines(std::vector<Case>& out) {
  for (const std::int64_t count : {2, 3, 4, 5}) {
    const std::string number = std::to_string(count);
    add(out, "layers" + number, gpus(count), "layer_model_parallel");
    for (const std::int64_t micro : {4, 24}) {
      const std::string name = number + "of" + std::to_string(micro);
      add(out, "gpipe" + name, gpus(count), "gpipe", stages(count, micro));
      add(out, "oneFOneB" + name, gpus(count), "1f1b", stages(count, micro));
    }
  }
  for (const Recompute recompute : {Recompute::kFull, Recompute::kExceptLast}) {
    const std::string word = letters_of(kRecomputeWords[static_cast<std::size_t>(recompute)]);
    for (const char* const strategy : {"gpipe", "1f1b"}) {
      add(out, "recompute" + word + strategy, gpus(3), strategy, [&](Job& job) {
        stages(3, 4)(job);
        job.training.recompute = recompute;
      });
    }
  }
  add(out, "interleaved", gpus(2), "interleaved_1f1b", [](Job& job) {
    stages(2, 4)(job);
    job.parallelism.virtual_stages = 2;
  });
  add(out, "gpipeNoOverlap", gpus(2), "gpipe", [](Job& job) {
    stages(2, 6)(job);
    job.parallelism.overlap = false;
  });
  add(out, "pipelineWithServers", gpus(4), "gpipe", [](Job& job) {
    stages(2, 4)(job);
    job.server.given = true;
  });
  add(out, "pipelineTimesData", gpus(6), "1f1b", stages(2, 2));
  add(out, "pipelineTimesZero", gpus(4), "1f1b", [](Job& job) {
    stages(2, 3)(job);
    job.parallelism.zero_stage = 1;
    job.parallelism.data_parallel_shard_degree = 2;
  });
}

// Tensors that leave the device and come back, and samples that come from somewhere.
void add_options(std::vector<Case>& out) {
  for (const Offload offload : {Offload::kActivations, Offload::kWeights}) {
    const std::string word(kOffloadWords[static_cast<std::size_t>(offload)]);
    const auto offloaded = [&](const Change& change) {
      return [=](Job& job) {
        change(job);
        job.training.offload = offload;
      };
    };
    add(out, "offload" + word + "single", gpus(1), "single", offloaded([](Job&) {}));
    add(out, "offload" + word + "accumulated", gpus(1), "single",
        offloaded([](Job& job) { job.training.gradient_accumulation = 3; }));
    add(out, "offload" + word + "ddp", hosts(3), "ddp", offloaded([](Job&) {}));
    add(out, "offload" + word + "gpipe", hosts(2), "gpipe", offloaded(stages(2, 4)));
    add(out, "offload" + word + "recompute", hosts(4), "1f1b", offloaded([](Job& job) {
          stages(2, 3)(job);
          job.training.recompute = Recompute::kFull;
        }));
    add(out, "offload" + word + "tensor", hosts(2), "tensor_parallel", offloaded([](Job&) {}));
    add(out, "offload" + word + "sharedHost", gpus(3), "ddp", offloaded([](Job&) {}));
    out.back().shares_host = true;
  }
  const auto fed = [](Job& job) {
    job.input.given = true;
    job.input.decode_samples_per_core = 1e6;
  };
  add(out, "input", hosts(4), "ddp", fed);
  add(out, "inputPrefetched", hosts(2), "ddp", [&](Job& job) {
    fed(job);
    job.input.prefetch = 5;
    job.training.gradient_accumulation = 2;
  });
  add(out, "inputOfPipeline", hosts(4), "gpipe", [&](Job& job) {
    fed(job);
    stages(2, 4)(job);
    job.input.prefetch = 1;
  });
}

void add_tensors(std::vector<Case>& out) {
  for (const std::int64_t ranks : {2, 4, 8}) {
    add(out, "tensor" + std::to_string(ranks), gpus(ranks), "tensor_parallel");
  }
  add(out, "tensorTimesData", gpus(8), "ddp",
      [](Job& job) { job.parallelism.tensor_parallel_degree = 2; });
  add(out, "tensorTimesPipelineTimesData", gpus(8), "1f1b", [](Job& job) {
    stages(2, 3)(job);
    job.parallelism.tensor_parallel_degree = 2;
    job.parallelism.balance = {2, 3};
  });
  add(out, "tensorTimesZero", gpus(4), "ddp", [](Job& job) {
    job.parallelism.tensor_parallel_degree = 2;
    job.parallelism.zero_stage = 3;
    job.parallelism.data_parallel_shard_degree = 2;
  });
  add(out, "tensorTimesServer", gpus(4), "parameter_server",
      [](Job& job) { job.parallelism.tensor_parallel_degree = 2; });
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  add(out, "single", cpus(1), "single");
  add(out, "singleAccumulated", cpus(1), "single",
      [](Job& job) { job.training.gradient_accumulation = 4; });
  add_ddp(out);
  add_replicas(out);
  add_servers(out);
  add_pipelines(out);
  add_tensors(out);
  add_options(out);
  return out;
}

const exec::Execution& one_device(bool uses_integers) {
  static const exec::Execution integers =
      train(batch_job("single"), kModel, cpus(1), kSteps, true).execution;
  static const exec::Execution reals =
      train(batch_job("single"), kModel, cpus(1), kSteps, false).execution;
  return uses_integers ? integers : reals;
}

double largest_relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  double scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max<double>(most, std::abs(a[i] - b[i]));
    scale = std::max<double>(scale, std::abs(b[i]));
  }
  return most / scale;
}

class Training : public testing::TestWithParam<Case> {};

bool is_too_close(const Case& one) { return one.shares_host && trains_in_processes; }

TEST_P(Training, EndsWithTheWeightsOfOneDeviceBitForBitOnIntegers) {
  if (is_too_close(GetParam())) {
    GTEST_SKIP() << "copies to the memory of another process";
  }
  const TrainedRun run = train(GetParam().job, kModel, GetParam().topology, kSteps, true);
  EXPECT_EQ(run.execution.weights, one_device(true).weights);
  EXPECT_EQ(run.execution.losses, one_device(true).losses);
  EXPECT_EQ(run.execution.replica_disagreement, 0);
}

TEST_P(Training, EndsWithTheWeightsOfOneDeviceWithinRounding) {
  if (is_too_close(GetParam())) {
    GTEST_SKIP() << "copies to the memory of another process";
  }
  const TrainedRun run = train(GetParam().job, kModel, GetParam().topology, kSteps, false);
  const exec::Execution& one = one_device(false);
  ASSERT_EQ(run.execution.weights.size(), one.weights.size());
  EXPECT_LT(largest_relative_difference(run.execution.weights, one.weights), 1e-5);
  ASSERT_EQ(run.execution.losses.size(), one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(run.execution.losses[i], one.losses[i], 1e-5 * one.losses[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Training, testing::ValuesIn(all_cases()), name_of_case);

// Workers that do not wait for each other see weights of different ages; they learn all the same.
TEST(AsynchronousServers, Learn) {
  for (const ServerMode mode : {ServerMode::kAsync, ServerMode::kBounded}) {
    for (const ServerSite site : {ServerSite::kGpu0, ServerSite::kCpu}) {
      Job job = batch_job("parameter_server");
      job.training.learning_rate = 0.2;
      job.server.mode = mode;
      job.server.placement = site;
      job.server.staleness = 1;
      const auto run = train(job, "mlp-12-32-4", gpus(4), 2 * kSteps, false);
      EXPECT_LT(run.execution.losses.back(), 0.6 * run.execution.losses.front());
    }
  }
}

std::string refusal_of(const Job& job, const std::string& topology) {
  const CompiledJob compiled = compile_for_execution(job, kModel, topology, 1);
  try {
    exec::find_backend("cpu")->execute(compiled.plan, {});
  } catch (const CannotRun& error) {
    return error.what();
  }
  return "";
}

// Better not at all than wrong.
TEST(WhatCannotRunYet, IsRefusedWithTheOp) {
  using testing::HasSubstr;
  Job job = batch_job("1f1b");  // cut inside of a pair of divided layers
  stages(2, 6)(job);
  job.parallelism.tensor_parallel_degree = 2;
  job.parallelism.balance = {1, 4};
  EXPECT_THAT(refusal_of(job, gpus(4)), HasSubstr("send"));
}

TEST(OneDevice, LearnsSomething) {
  Job job = batch_job("single");
  job.training.learning_rate = 0.5;
  const exec::Execution one = train(job, "mlp-12-32-4", cpus(1), kSteps, false).execution;
  EXPECT_LT(one.losses.back(), 0.5 * one.losses.front());
}

TEST(OneDevice, IntegersStayExact) {
  const exec::Execution& one = one_device(true);
  EXPECT_THAT(one.weights, testing::Each(testing::AllOf(testing::Ge(-2), testing::Le(2))));
  EXPECT_TRUE(std::any_of(one.weights.begin(), one.weights.end(), [](float w) { return w != 0; }));
}

}  // namespace
}  // namespace twinrun
