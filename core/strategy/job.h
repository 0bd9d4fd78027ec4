#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/dtype.h"
#include "core/base/place_map.h"
#include "core/base/units.h"

namespace twinrun {

// A job as a person writes it (twinrun/job/1), names as in torchtitan. What is not given stays
// empty or 0: layout.h works out the rest from the topology and the model.

enum class Optimizer : std::uint8_t { kSgd, kMomentum, kAdam, kAdamW };
inline constexpr std::array<std::string_view, 4> kOptimizerWords = {"sgd", "momentum", "adam",
                                                                    "adamw"};

enum class Recompute : std::uint8_t {
  kNone,
  kSelective,   // attention's scores only
  kFull,        // every block from its input
  kExceptLast,  // … but for the last micro-batch, whose backward comes at once (torchgpipe's word)
};
inline constexpr std::array<std::string_view, 4> kRecomputeWords = {"none", "selective", "full",
                                                                    "except_last"};

enum class Offload : std::uint8_t { kNone, kActivations, kWeights };
inline constexpr std::array<std::string_view, 3> kOffloadWords = {"none", "activations", "weights"};

struct Training {
  std::optional<std::int64_t> local_batch_size;   // samples of a step on one replica
  std::optional<std::int64_t> global_batch_size;  // … on all of them
  std::optional<std::int64_t> micro_batch_size;   // samples that go through at once
  std::int64_t seq_length = 0;                    // 0: the model's usual one
  Dtype dtype = Dtype::kFp32;  // fp16, bf16: mixed precision, master weights fp32
  Optimizer optimizer = Optimizer::kSgd;
  Recompute recompute = Recompute::kNone;
  Offload offload = Offload::kNone;
  std::optional<std::int64_t> gradient_accumulation;  // passes before gradients are exchanged
  std::int64_t dataset_samples = 0;                   // 0: not known, no epoch time
  double learning_rate = 0.1;                         // for the executor
  bool fused_norms = false;      // batch norm, activation and sum in one kernel
  bool flash_attention = false;  // scores never leave the chip
};

struct Parallelism {
  std::string strategy;  // a name of the table in strategies.h; "": ddp, or single on one device
  std::optional<std::int64_t> data_parallel_replicate_degree;
  std::optional<std::int64_t> data_parallel_shard_degree;
  std::optional<std::int64_t> zero_stage;
  std::optional<std::int64_t> tensor_parallel_degree;
  bool sequence_parallel = false;
  std::optional<std::int64_t> pipeline_parallel_degree;
  std::optional<std::int64_t> virtual_stages;
  std::vector<std::int64_t> balance;  // blocks of each stage; empty: even cost
  std::string all_reduce_algorithm = "auto";
  bool overlap = true;  // communication beside compute
};

enum class ServerSite : std::uint8_t { kGpu0, kCpu, kHosts };
inline constexpr std::array<std::string_view, 3> kServerSiteWords = {"gpu0", "cpu", "hosts"};
enum class ServerMode : std::uint8_t { kSync, kAsync, kBounded };
inline constexpr std::array<std::string_view, 3> kServerModeWords = {"sync", "async", "bounded"};

enum class ServerTransport : std::uint8_t {
  kMessages,     // pushes and pulls
  kCollectives,  // reduce and broadcast, or all-to-all and all-gather, among the workers
};
inline constexpr std::array<std::string_view, 2> kServerTransportWords = {"messages",
                                                                          "collectives"};

struct Server {
  bool given = false;                   // the job has a "server" block
  std::optional<ServerSite> placement;  // none: cpu in one machine, hosts in several
  std::optional<std::int64_t> count;    // shards; none: one, or one a host
  bool colocated = true;                // servers live on the workers' machines
  ServerMode mode = ServerMode::kSync;
  std::int64_t staleness = 3;  // bounded: steps a worker may be ahead
  ServerTransport transport = ServerTransport::kMessages;
};

struct DdpOptions {
  double bucket_cap_mb = 25;              // MiB, as PyTorch means it
  std::optional<double> first_bucket_mb;  // none: 1, or the cap when that was given
  bool bucket_cap_given = false;
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
};

// Where samples come from; without any of it they are there (synthetic data).
struct InputPipeline {
  bool given = false;
  std::optional<Bandwidth> storage_bandwidth;  // of a machine
  std::int64_t decode_cores = 0;               // of a machine; 0: all its cores
  double decode_samples_per_core = 0;          // a second; 0: decoding takes no time
  std::int64_t prefetch = 2;                   // batches read ahead
  std::int64_t sample_bytes = 0;               // on storage; 0: as on the device
};

struct Mapping {
  std::string order = "tp-cp-ep-dp-pp";  // fastest first
  std::string ranks = "all";             // all, a number, or names separated by commas
};

// Times of the software around the kernels that no topology knows.
struct HostCosts {
  // nn.DataParallel: what the one process takes to launch a layer on one GPU. An assumption, not a
  // measurement of nn.DataParallel: the host's side of a framework's op takes 5 to 25 us (Python,
  // autograd, dispatch, cudaLaunchKernel), up to some 20 on the hosts of V100.
  Time launch = microseconds(20);
  Time checkpoint{};  // the chief's, a step
  // An eager framework takes so long to ask a GPU for a layer's kernels; small batches wait for it.
  // Of MXNet 1.2 beside a V100 at one image a batch (single_gpu_batch_sweep_mxnet): 20 µs a layer
  // in fp16 inference, and about three times as much for a layer's gradient.
  Time forward = microseconds(25);
  Time backward = microseconds(60);
};

struct Job {
  std::string name;
  std::string model_name;  // as written, for messages
  std::string topology_name;
  Training training;
  Parallelism parallelism;
  Server server;
  DdpOptions ddp;
  InputPipeline input;
  Mapping mapping;
  HostCosts host;
  std::string file;  // where it was written, for the places of complaints
  PlaceMap places;   // … for keys with other names, and values of --set
};

// The place of a key: at(job, "/training/dtype").
inline Place place_in(const Job& job, const std::string& pointer) {
  Place place = job.places.at(pointer);
  if (place.file.empty()) {
    place.file = job.file;
  }
  return place;
}

}  // namespace twinrun
