#include "tests/conformance/training_cases.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "core/collective/algorithms.h"

namespace twinrun {
namespace {

constexpr std::int64_t kBatch = 24;

}  // namespace

void PrintTo(const TrainingCase& one, std::ostream* out) { *out << one.topology; }

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

JobChange stages(std::int64_t count, std::int64_t micro_batch) {
  return [=](Job& job) {
    job.parallelism.pipeline_parallel_degree = count;
    job.training.micro_batch_size = micro_batch;
  };
}

namespace {

// Names of tests have no other signs.
std::string letters_of(std::string_view name) {
  std::string out(name);
  std::erase_if(out, [](unsigned char c) { return std::isalnum(c) == 0; });
  return out;
}

void add(std::vector<TrainingCase>& out,
         const std::string& name,
         const std::string& topology,
         const std::string& strategy,
         const JobChange& change = {}) {
  Job job = batch_job(strategy);
  if (change) {
    change(job);
  }
  out.push_back({name, topology, std::move(job), false});
}

void add_ddp(std::vector<TrainingCase>& out) {
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

void add_replicas(std::vector<TrainingCase>& out) {
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

void add_servers(std::vector<TrainingCase>& out) {
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

void add_pipelines(std::vector<TrainingCase>& out) {
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
void add_options(std::vector<TrainingCase>& out) {
  for (const Offload offload : {Offload::kActivations, Offload::kWeights}) {
    const std::string word(kOffloadWords[static_cast<std::size_t>(offload)]);
    const auto offloaded = [&](const JobChange& change) {
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

void add_tensors(std::vector<TrainingCase>& out) {
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

}  // namespace

std::vector<TrainingCase> all_training_cases() {
  std::vector<TrainingCase> out;
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

}  // namespace twinrun
