#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/payload.h"

namespace twinrun {

// A trained layer as one rank has it.
struct TrainedLayer {
  std::size_t layer = 0;              // of the model
  std::vector<std::int64_t> tensors;  // elements of each
  // A tensor that another family has too (tied weights): a number that both have for it.
  std::optional<std::size_t> shared_as = std::nullopt;
  std::int64_t first_element = 0;  // … of the model; for real runs
};

// What goes between a worker and one server at once: gradients to it, weights back.
struct ShardTransfer {
  std::size_t server = 0;
  std::size_t number = 0;  // among those of its server, in the order of backward
  std::int64_t elements = 0;
  std::vector<std::size_t> layers;  // with a part in it, in the order of backward
  std::optional<std::size_t> shared_as = std::nullopt;  // then nothing else is in it
  std::vector<CountRange> ranges = {};                  // elements of the model
};

struct ShardOptions {
  std::size_t servers = 1;
  std::int64_t element_bytes = 4;
};

// Divides tensors among servers. A tensor goes whole to the server that has least so far, as
// TensorFlow's greedy placement does it; with several servers, one of more than a million elements
// is cut evenly over all of them (MXNet's MXNET_KVSTORE_BIGARRAY_BOUND).
//
// Transfers: of what a server gets, consecutive layers are put together until 1 MiB is reached,
// and sent at the end of the layer that reached it. So a large layer never waits for another one,
// and the many small ones (norms, biases) do not each pay a message of their own.
//
// A tensor that families share lies on the servers once: it counts once, and travels alone.
//
// Families are ranks with the same part of the model (a stage, a tensor-parallel share), each with
// its layers in the order of forward; servers are shared by all. Transfers of a family are in the
// order of backward.
std::vector<std::vector<ShardTransfer>> shard_over_servers(
    const std::vector<std::vector<TrainedLayer>>& families, const ShardOptions& options);

}  // namespace twinrun
