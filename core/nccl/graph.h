#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/topology/kinds.h"

namespace twinrun {

// NCCL's words for what it can do. The order is NCCL's own: where two ways cost the same, the
// earlier one wins.
enum class NcclAlgorithm : std::uint8_t {
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
};
inline constexpr std::array<std::string_view, 7> kNcclAlgorithmNames = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};

enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr std::array<std::string_view, 3> kNcclProtocolNames = {"LL", "LL128", "Simple"};

// How near, best first; finer than PathClass, because LL128 is allowed over some of them only:
// kNvb is NVLink through another GPU, kP2c a NIC on the GPU's own chip-to-chip link, kPxn a NIC
// reached through another GPU's NVLink (cuda-nccl-cpu 3.1).
enum class NcclPath : std::uint8_t {
  kLoc,
  kNvl,
  kNvb,
  kC2c,
  kPix,
  kPxb,
  kP2c,
  kPxn,
  kPhb,
  kSys,
  kNet,
  kDis,
};
inline constexpr std::array<std::string_view, 12> kNcclPathNames = {
    "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

constexpr std::string_view name_of(NcclAlgorithm algorithm) {
  return kNcclAlgorithmNames[static_cast<std::size_t>(algorithm)];
}
constexpr std::string_view name_of(NcclProtocol protocol) {
  return kNcclProtocolNames[static_cast<std::size_t>(protocol)];
}
constexpr std::string_view name_of(NcclPath path) {
  return kNcclPathNames[static_cast<std::size_t>(path)];
}
NcclPath nccl_path(PathClass path);
// By its name in any case: "ring", "NVLSTree"; nothing when NCCL has no such algorithm.
std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name);

// What the search found for one algorithm: so many channels, each of this speed in every machine
// and between machines. No channels: the algorithm cannot be used.
struct NcclSearchGraph {
  int channels = 0;
  double intra_gbps = 0;  // GB/s of a channel
  double inter_gbps = 0;  // the same between machines; equal to intra_gbps for one machine
  NcclPath intra_path = NcclPath::kLoc;  // the worst
  NcclPath inter_path = NcclPath::kLoc;  // GPU to NIC, the worst
  bool plain_tree = false;               // tree: one GPU carries all network traffic of a channel
  bool same_channels = true;             // every channel visits the GPUs in the same order
  double nic_latency_us = 0;             // as the NIC's driver reports it; InfiniBand says 0
  bool through_host = false;             // some hop inside a machine is staged in host memory
  bool operator==(const NcclSearchGraph&) const = default;
};

struct NcclSearchGraphs {
  NcclSearchGraph ring;
  NcclSearchGraph tree;     // PAT uses it too
  NcclSearchGraph nvls;     // one channel a head; NVLSTree uses it too
  NcclSearchGraph collnet;  // reduction in the network's switches
  bool operator==(const NcclSearchGraphs&) const = default;
};

enum class NcclCpu : std::uint8_t { kIntel, kAmd, kMixed, kOther };

// What the model asks about the machines. Ranks are spread evenly: ranks / nodes on each.
struct NcclSystem {
  int ranks = 1;
  int nodes = 1;
  int sm = 80;     // compute capability times ten, of the oldest GPU
  int max_sm = 0;  // of the newest; 0: all alike
  NcclCpu cpu = NcclCpu::kIntel;
  bool has_nvswitch = false;
  bool has_collnet = false;
  bool network_in_order = true;  // bytes of a message arrive in order
  bool network_is_tcp = false;
  // One way between machines, beyond what NCCL's figures contain. NCCL itself does not know of it.
  double wire_latency_us = 0;
  bool operator==(const NcclSystem&) const = default;
};

// Depth of a binary tree over the nodes.
int nccl_tree_levels(int nodes);

// Every channel of the search becomes two that run, or four (3.2); at most 64.
int nccl_compute_channels(const NcclSearchGraph& ring, const NcclSystem& system);
// The same for NVLS, which has its own count.
int nccl_nvls_channels(const NcclSystem& system);

}  // namespace twinrun
