#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/strategy/server_shards.h"
#include "core/strategy/server_sites.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// Who talks to the servers: one rank, or a machine for all its ranks.
struct ServerParty {
  DeviceId device{};
  std::string label;                   // rank3, node1
  std::vector<std::int64_t> replicas;  // whose gradients it brings
};

// Ranks with the same part of the model.
struct ServerFamily {
  std::int64_t stage = 0;
  std::int64_t tensor = 0;
  std::vector<ShardTransfer> transfers;                      // in the order of backward
  std::map<std::size_t, std::vector<std::size_t>> of_layer;  // transfers that it is in
  std::vector<ServerParty> parties;
  std::string suffix;  // of names, when there are several families
};

// Everything that goes between ranks and servers: its sizes, names and tags, and the ops at the
// ranks' ends, which are emitted before those at the servers' ends.
class ServerTraffic {
 public:
  ServerTraffic(StepBuilder& steps, const ServerSites& sites);

  [[nodiscard]] const std::vector<ServerFamily>& families() const { return families_; }
  [[nodiscard]] std::size_t family_of(const RankStep& at) const;
  [[nodiscard]] bool sums_in_machines() const { return !machine_sums_.empty(); }
  [[nodiscard]] std::size_t server_count() const { return servers_.size(); }
  [[nodiscard]] DeviceId server(std::size_t number) const { return servers_[number]; }
  // The device a rank exchanges this transfer with.
  [[nodiscard]] DeviceId peer_of(std::size_t rank, const ShardTransfer& transfer) const;
  [[nodiscard]] Bytes bytes_of(const ShardTransfer& transfer) const;
  // "server0-group2", and the family where there are several.
  [[nodiscard]] std::string name_of(std::size_t family, const ShardTransfer& transfer) const;

  // Which elements go with it, in that store, as both ends of a message have them.
  [[nodiscard]] Payload payload_of(std::size_t family,
                                   const ShardTransfer& transfer,
                                   Store store,
                                   DeviceId sender = no_id<DeviceId>()) const;

  // Tags of messages with the servers, and of those inside a machine; pipelines have lower ones.
  [[nodiscard]] std::int32_t tag_of(std::size_t family,
                                    const ShardTransfer& transfer,
                                    bool is_pull,
                                    bool in_machine) const;

  // The op at the rank's end: the send of a push (what made the gradients where the other end is on
  // the same device), the receive of a pull (a marker on the same device).
  OpId& pushed(std::int64_t step, std::size_t family, std::size_t transfer, std::int64_t replica) {
    return pushed_[slot(step, family, transfer, replica)];
  }
  OpId& pulled(std::int64_t step, std::size_t family, std::size_t transfer, std::int64_t replica) {
    return pulled_[slot(step, family, transfer, replica)];
  }

 private:
  [[nodiscard]] std::vector<ServerParty> parties_of(const ServerFamily& family) const;
  [[nodiscard]] std::size_t slot(std::int64_t step,
                                 std::size_t family,
                                 std::size_t transfer,
                                 std::int64_t replica) const;

  StepBuilder& steps_;
  std::vector<DeviceId> servers_;
  std::vector<DeviceId> machine_sums_;  // by rank
  std::vector<ServerFamily> families_;
  std::vector<std::size_t> first_slot_;  // by family
  std::size_t slots_a_step_ = 0;
  std::vector<OpId> pushed_;
  std::vector<OpId> pulled_;
};

}  // namespace twinrun
