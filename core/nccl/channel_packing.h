#pragma once

#include <cstdint>
#include <vector>

#include "core/nccl/machine.h"

namespace twinrun {

// The order in which a channel visits the GPUs of a machine (by their place in NcclMachine), and
// the NICs it enters and leaves by: kNoNic both for a ring that closes inside the machine.
struct NcclChannel {
  static constexpr int kNoNic = -1;
  std::vector<std::uint32_t> gpus;
  int enters = kNoNic;
  int leaves = kNoNic;
  bool operator==(const NcclChannel&) const = default;
};

// How fast, and how far its hops may reach.
struct NcclChannelLimits {
  double intra_gbps = 0;
  double inter_gbps = 0;
  NcclPath worst_intra = NcclPath::kSys;
  NcclPath worst_inter = NcclPath::kSys;
  bool may_cross_nics = false;  // leave by another NIC than it came in by
  int most = 32;
};

// Capacities that channels draw on.
class NcclLedger {
 public:
  explicit NcclLedger(const NcclMachine& machine)
      : left_(machine.capacities().begin(), machine.capacities().end()) {}

  [[nodiscard]] double room(const NcclWire& wire) const;  // GB/s it could still carry
  bool take(const NcclWire& wire, double gbps);           // false, and nothing taken, when too much
  void give_back(const NcclWire& wire, double gbps);
  // The largest share of its capacity that is taken anywhere; more than one when take() was forced.
  [[nodiscard]] double fullest(const NcclMachine& machine) const;
  void force(const NcclWire& wire, double gbps) { give_back(wire, -gbps); }

 private:
  std::vector<double> left_;
};

// As many channels as fit, each visiting every GPU once. Depth-first, widest way first, with a
// budget of steps; ends early once no GPU or NIC could serve one more.
std::vector<NcclChannel> pack_channels(const NcclMachine& machine, const NcclChannelLimits& limits);

// No more than this many channels of a speed can fit, whatever their order.
int most_channels(const NcclMachine& machine, const NcclChannelLimits& limits);

}  // namespace twinrun
