#include "core/strategy/server_shards.h"

#include <algorithm>
#include <map>

namespace twinrun {
namespace {

constexpr std::int64_t kLargestWhole = 1'000'000;                 // elements
constexpr std::int64_t kSmallestMessage = std::int64_t{1} << 20;  // bytes

// By server: elements of one layer.
using LayerShares = std::vector<std::int64_t>;

class Sharding {
 public:
  explicit Sharding(std::size_t servers) : load_(servers) {}

  LayerShares divide(const TrainedLayer& layer) {
    if (!layer.shared_as) {
      return divide_tensors(layer);
    }
    const auto known = shared_.find(*layer.shared_as);
    return known != shared_.end()
               ? known->second
               : shared_.emplace(*layer.shared_as, divide_tensors(layer)).first->second;
  }

 private:
  LayerShares divide_tensors(const TrainedLayer& layer) {
    LayerShares shares(load_.size());
    for (const std::int64_t elements : layer.tensors) {
      if (load_.size() > 1 && elements > kLargestWhole) {
        cut(elements, shares);
      } else {
        const auto least = std::min_element(load_.begin(), load_.end());
        *least += elements;
        shares[static_cast<std::size_t>(least - load_.begin())] += elements;
      }
    }
    return shares;
  }

  void cut(std::int64_t elements, LayerShares& shares) {
    const auto servers = static_cast<std::int64_t>(load_.size());
    for (std::size_t i = 0; i < load_.size(); ++i) {
      const std::int64_t rest = static_cast<std::int64_t>(i) < elements % servers ? 1 : 0;
      shares[i] += elements / servers + rest;
      load_[i] += elements / servers + rest;
    }
  }

  std::vector<std::int64_t> load_;             // by server: elements
  std::map<std::size_t, LayerShares> shared_;  // by the number of the tensor
};

std::vector<ShardTransfer> transfers_of(const std::vector<TrainedLayer>& layers,
                                        const std::vector<LayerShares>& shares,
                                        const ShardOptions& options) {
  std::vector<ShardTransfer> out;
  std::vector<ShardTransfer> open(options.servers);
  const auto close = [&](std::size_t server) {
    const std::size_t next = open[server].number + 1;
    out.push_back(std::move(open[server]));
    open[server] = {server, next, 0, {}};
  };
  const auto close_if_begun = [&](std::size_t server) {
    if (open[server].elements > 0) {
      close(server);
    }
  };
  for (std::size_t server = 0; server < options.servers; ++server) {
    open[server].server = server;
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    for (std::size_t server = 0; server < options.servers; ++server) {
      if (shares[i][server] == 0) {
        continue;
      }
      if (layers[i].shared_as) {
        close_if_begun(server);
      }
      open[server].elements += shares[i][server];
      open[server].layers.push_back(layers[i].layer);
      open[server].shared_as = layers[i].shared_as;
      if (layers[i].shared_as ||
          open[server].elements * options.element_bytes >= kSmallestMessage) {
        close(server);
      }
    }
  }
  std::erase_if(open, [](const ShardTransfer& rest) { return rest.elements == 0; });
  // Layers run backward: what has its last layer first is complete first.
  std::stable_sort(open.begin(), open.end(), [](const ShardTransfer& a, const ShardTransfer& b) {
    return a.layers.back() > b.layers.back();
  });
  out.insert(out.end(), open.begin(), open.end());
  return out;
}

}  // namespace

std::vector<std::vector<ShardTransfer>> shard_over_servers(
    const std::vector<std::vector<TrainedLayer>>& families, const ShardOptions& options) {
  Sharding sharding(options.servers);
  std::vector<std::vector<ShardTransfer>> out;
  out.reserve(families.size());
  for (const std::vector<TrainedLayer>& layers : families) {
    std::vector<LayerShares> shares;
    shares.reserve(layers.size());
    for (const TrainedLayer& layer : layers) {
      shares.push_back(sharding.divide(layer));
    }
    out.push_back(transfers_of(layers, shares, options));
  }
  return out;
}

}  // namespace twinrun
