#include "core/strategy/detail/server_traffic.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr std::int32_t kFirstServerTag = 1'000'000;
constexpr std::int32_t kFirstMachineTag = 2'000'000;

// Layers whose first tensor another stage has a copy of.
std::set<std::size_t> layers_with_copies(const StepBuilder& steps) {
  std::set<std::size_t> owners;
  for (std::size_t i = 0; i < steps.model().layers.size(); ++i) {
    const auto& tied_to = steps.model().layers[i].tied_to;
    if (tied_to && !steps.work()[i].tensors.empty()) {
      owners.insert(*tied_to);
    }
  }
  return owners;
}

// Tied weights are one tensor on the servers, whichever stages have a copy.
std::vector<TrainedLayer> trained_layers(const StepBuilder& steps,
                                         const RankStep& at,
                                         const std::set<std::size_t>& owners) {
  std::vector<TrainedLayer> out;
  const auto number_of = [&](std::size_t owner) {  // tensor-parallel ranks have different parts
    return owner * static_cast<std::size_t>(steps.layout().tensor) +
           static_cast<std::size_t>(at.tensor);
  };
  for (const std::size_t layer : steps.layers_on(at)) {
    std::vector<std::int64_t> own = steps.work()[layer].tensors;
    std::int64_t first = steps.payloads().wanted() ? steps.payloads().layer(layer).begin : 0;
    const bool is_owner = owners.contains(layer);
    const auto& tied_to = steps.model().layers[layer].tied_to;
    if (!own.empty() && (is_owner || tied_to)) {
      out.push_back({layer, {own.front()}, number_of(is_owner ? layer : *tied_to), first});
      first += own.front();
      own.erase(own.begin());
    }
    if (!own.empty()) {
      out.push_back({layer, std::move(own), std::nullopt, first});
    }
  }
  return out;
}

std::vector<std::vector<TrainedLayer>> layers_by_family(const StepBuilder& steps) {
  const std::set<std::size_t> owners = layers_with_copies(steps);
  std::vector<std::vector<TrainedLayer>> out;
  for (std::int64_t stage = 0; stage < steps.layout().stages; ++stage) {
    for (std::int64_t tensor = 0; tensor < steps.layout().tensor; ++tensor) {
      out.push_back(trained_layers(steps, {0, 0, stage, tensor, 0}, owners));
    }
  }
  return out;
}

}  // namespace

ServerTraffic::ServerTraffic(StepBuilder& steps, const ServerSites& sites) : steps_(steps) {
  const Layout& layout = steps.layout();
  for (const VertexId vertex : sites.servers) {
    servers_.push_back(steps.device_at(vertex));
  }
  for (const VertexId vertex : sites.machine_sums) {
    machine_sums_.push_back(steps.device_at(vertex));
  }
  const ShardOptions options{servers_.size(), stored_bytes(steps.job().training.dtype)};
  const auto transfers = shard_over_servers(layers_by_family(steps), options);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    ServerFamily& family = families_.emplace_back();
    family.stage = number / layout.tensor;
    family.tensor = number % layout.tensor;
    family.suffix = transfers.size() > 1 ? fmt::format("-s{}t{}", family.stage, family.tensor) : "";
    family.transfers = transfers[i];
    for (std::size_t j = 0; j < transfers[i].size(); ++j) {
      for (const std::size_t layer : transfers[i][j].layers) {
        family.of_layer[layer].push_back(j);
      }
    }
    family.parties = parties_of(family);
    first_slot_.push_back(slots_a_step_);
    slots_a_step_ += transfers[i].size() * static_cast<std::size_t>(layout.replicas);
  }
  pushed_.assign(slots_a_step_ * static_cast<std::size_t>(steps.steps()), no_id<OpId>());
  pulled_ = pushed_;
}

std::vector<ServerParty> ServerTraffic::parties_of(const ServerFamily& family) const {
  const Layout& layout = steps_.layout();
  const Topology& topology = steps_.topology();
  std::vector<ServerParty> parties;
  for (std::int64_t replica = 0; replica < layout.replicas; ++replica) {
    const std::size_t rank = layout.rank(replica, family.stage, family.tensor);
    if (!sums_in_machines()) {
      parties.push_back({steps_.device(rank), fmt::format("rank{}", rank), {replica}});
      continue;
    }
    const std::string label = topology.node_name(topology.node_of(layout.devices[rank]));
    const auto known = std::find_if(parties.begin(), parties.end(),
                                    [&](const ServerParty& one) { return one.label == label; });
    if (known != parties.end()) {
      known->replicas.push_back(replica);
    } else {
      parties.push_back({machine_sums_[rank], label, {replica}});
    }
  }
  return parties;
}

std::size_t ServerTraffic::family_of(const RankStep& at) const {
  return static_cast<std::size_t>(at.stage * steps_.layout().tensor + at.tensor);
}

DeviceId ServerTraffic::peer_of(std::size_t rank, const ShardTransfer& transfer) const {
  return sums_in_machines() ? machine_sums_[rank] : servers_[transfer.server];
}

Bytes ServerTraffic::bytes_of(const ShardTransfer& transfer) const {
  return {transfer.elements * stored_bytes(steps_.job().training.dtype)};
}

Payload ServerTraffic::payload_of(std::size_t family,
                                  const ShardTransfer& transfer,
                                  Store store,
                                  DeviceId sender) const {
  Payload payload = Payloads::elements(store, families_[family].tensor, joined(transfer.ranges));
  payload.sender = sender;
  return payload;
}

std::string ServerTraffic::name_of(std::size_t family, const ShardTransfer& transfer) const {
  return fmt::format("server{}-group{}{}", transfer.server, transfer.number,
                     families_[family].suffix);
}

std::int32_t ServerTraffic::tag_of(std::size_t family,
                                   const ShardTransfer& transfer,
                                   bool is_pull,
                                   bool in_machine) const {
  const std::size_t stream = family * servers_.size() + transfer.server;
  return (in_machine ? kFirstMachineTag : kFirstServerTag) + static_cast<std::int32_t>(2 * stream) +
         (is_pull ? 1 : 0);
}

std::size_t ServerTraffic::slot(std::int64_t step,
                                std::size_t family,
                                std::size_t transfer,
                                std::int64_t replica) const {
  return static_cast<std::size_t>(step) * slots_a_step_ + first_slot_[family] +
         transfer * static_cast<std::size_t>(steps_.layout().replicas) +
         static_cast<std::size_t>(replica);
}

}  // namespace twinrun
