#include "core/strategy/server_shards.h"

#include <algorithm>
#include <map>

namespace twinrun {
namespace {

constexpr std::int64_t kLargestWhole = 1'000'000;                 // elements
constexpr std::int64_t kSmallestMessage = std::int64_t{1} << 20;  // bytes

// What a server has of one layer.
struct ServerShare {
  std::int64_t elements = 0;
  std::vector<CountRange> ranges = {};
};
using SharesOfLayer = std::vector<ServerShare>;  // by server

class Sharding {
 public:
  explicit Sharding(std::size_t servers) : load_(servers) {}

  SharesOfLayer divide(const TrainedLayer& layer) {
    if (!layer.shared_as) {
      return divide_tensors(layer);
    }
    const auto known = shared_.find(*layer.shared_as);
    return known != shared_.end()
               ? known->second
               : shared_.emplace(*layer.shared_as, divide_tensors(layer)).first->second;
  }

 private:
  SharesOfLayer divide_tensors(const TrainedLayer& layer) {
    SharesOfLayer shares(load_.size());
    std::int64_t first = layer.first_element;
    for (const std::int64_t elements : layer.tensors) {
      if (load_.size() > 1 && elements > kLargestWhole) {
        cut(first, elements, shares);
      } else {
        const auto least = std::min_element(load_.begin(), load_.end());
        give(static_cast<std::size_t>(least - load_.begin()), first, elements, shares);
      }
      first += elements;
    }
    return shares;
  }

  void give(std::size_t server, std::int64_t first, std::int64_t elements, SharesOfLayer& shares) {
    load_[server] += elements;
    shares[server].elements += elements;
    shares[server].ranges.push_back({first, first + elements});
  }

  void cut(std::int64_t first, std::int64_t elements, SharesOfLayer& shares) {
    const auto servers = static_cast<std::int64_t>(load_.size());
    for (std::size_t i = 0; i < load_.size(); ++i) {
      const std::int64_t rest = static_cast<std::int64_t>(i) < elements % servers ? 1 : 0;
      give(i, first, elements / servers + rest, shares);
      first += elements / servers + rest;
    }
  }

  std::vector<std::int64_t> load_;               // by server: elements
  std::map<std::size_t, SharesOfLayer> shared_;  // by the number of the tensor
};

std::vector<ShardTransfer> transfers_of(const std::vector<TrainedLayer>& layers,
                                        const std::vector<SharesOfLayer>& shares,
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
      const ServerShare& share = shares[i][server];
      if (share.elements == 0) {
        continue;
      }
      if (layers[i].shared_as) {
        close_if_begun(server);
      }
      open[server].elements += share.elements;
      open[server].ranges.insert(open[server].ranges.end(), share.ranges.begin(),
                                 share.ranges.end());
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
    std::vector<SharesOfLayer> shares;
    shares.reserve(layers.size());
    for (const TrainedLayer& layer : layers) {
      shares.push_back(sharding.divide(layer));
    }
    out.push_back(transfers_of(layers, shares, options));
  }
  return out;
}

}  // namespace twinrun
