#pragma once

#include <array>

#include "core/nccl/graph.h"

namespace twinrun {

// The constants of NCCL's model (cuda-nccl-cpu 3.3 and 3.6). A value, so that a calibration can
// replace rows: the network row fits InfiniBand, while TCP and EFA are many times slower.
struct NcclTables {
  using PerProtocol = std::array<double, 3>;          // LL, LL128, Simple
  using Latencies = std::array<PerProtocol, 7>;       // µs, by NcclAlgorithm
  using Caps = std::array<std::array<double, 3>, 4>;  // GB/s: [generation][1, 2, more nodes]
  using Corrections = std::array<std::array<double, 23>, 3>;  // [protocol][log2(bytes / 64)]

  Latencies base{};
  Latencies nvlink_hop{};
  Latencies pci_hop{};
  Latencies network_hop{};
  // A ring's step costs the CPU this much once there is a network.
  double network_overhead_us = 0;
  double network_overhead_amd_us = 0;
  // Latencies of the NIC that Simple pays on top of one, to flush what arrived.
  double flush_nic_latencies = 1;

  std::array<double, 4> ll_cap_one_node{};  // GB/s of all channels, by generation
  std::array<double, 2> ll_cap_intel{};     // two nodes, more nodes
  std::array<double, 2> ll_cap_amd{};       // the same, also for mixed machines
  Caps ring_ll128_cap{};                    // these are of one channel
  Caps tree_ll128_cap{};
  Caps tree_cap{};
  Caps nvls_tree_cap{};
  std::array<double, 4> nvls_efficiency{};

  Corrections tree_correction{};  // of a tree's all-reduce bandwidth
  // A ring with Simple has a plateau once each channel and rank has this many bytes.
  double plateau_bytes = 0;
  double plateau_factor = 1;
  double plateau_factor_before_sm80 = 1;
  bool operator==(const NcclTables&) const = default;
};

// NCCL 2.28.9.
[[nodiscard]] const NcclTables& default_nccl_tables();

}  // namespace twinrun
