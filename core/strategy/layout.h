#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/ids.h"
#include "core/model/model.h"
#include "core/strategy/job.h"
#include "core/topology/topology.h"

namespace twinrun {

// What a strategy does with the dimensions of a job.
struct StrategyTraits {
  bool is_single = false;          // one device, whatever the topology has
  bool has_stages = false;         // pipeline_parallel_degree: all devices unless said otherwise
  bool has_micro_batches = false;  // the pipeline fills with them
  bool has_virtual_stages = false;
  bool has_equal_layers = false;  // stages of a transformer have as many layers as the others
  bool is_tensor = false;         // tensor_parallel_degree: all devices unless said otherwise
  bool may_shard = false;         // ZeRO
  bool has_server = false;
  bool may_use_servers = false;     // where the job has a "server" block
  bool has_uneven_batches = false;  // the last replica may have fewer samples than the others
};

// A job's dimensions on a topology, all known: ranks are (replica, stage, tensor) triples, numbered
// in mapping.order. Stages are positions of a pipeline, each with `virtual_stages` chunks.
struct Layout {
  std::vector<VertexId> devices;  // by rank
  std::int64_t replicas = 1;      // data-parallel copies: replicate × shard
  std::int64_t shards = 1;        // … of which so many share one copy of the state
  std::int64_t zero_stage = 0;
  std::int64_t stages = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t tensor = 1;
  std::int64_t local_batch = 1;  // samples a step of a replica
  std::int64_t global_batch = 1;
  std::int64_t micro_batch = 1;    // samples that go through at once
  std::int64_t micro_batches = 1;  // of a replica, a step
  std::int64_t tensor_stride = 1;
  std::int64_t replica_stride = 1;
  std::int64_t stage_stride = 1;
  bool uses_servers = false;  // replicas come to the same weights through parameter servers

  [[nodiscard]] std::size_t ranks() const { return devices.size(); }
  [[nodiscard]] std::size_t rank(std::int64_t replica,
                                 std::int64_t stage,
                                 std::int64_t tensor_rank) const {
    return static_cast<std::size_t>(replica * replica_stride + stage * stage_stride +
                                    tensor_rank * tensor_stride);
  }
};

// The devices a list such as "all", "4" or "node0/gpu1,node1/gpu0" names; complains about names
// that are not there. "all" and numbers choose among the candidates: the topology's devices unless
// said otherwise.
std::vector<VertexId> ranks_of(const Topology& topology,
                               const std::string& list,
                               const Place& place,
                               Diagnostics& diagnostics);
std::vector<VertexId> ranks_of(const Topology& topology,
                               std::vector<VertexId> candidates,
                               const std::string& list,
                               const Place& place,
                               Diagnostics& diagnostics);

// Works out degrees and batches: two of local, global and degree give the third. Complains about
// contradictions and what does not divide, naming the nearest values that do.
std::optional<Layout> make_layout(const Job& job,
                                  const Model& model,
                                  const Topology& topology,
                                  const StrategyTraits& traits,
                                  Diagnostics& diagnostics);

}  // namespace twinrun
