#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/nccl/graph.h"
#include "core/topology/topology.h"

namespace twinrun {

// One machine as the search for rings sees it (cuda-nccl-cpu 3.1): capacities in GB/s, and for each
// pair of GPUs, and of GPU and NIC, the one way between them.

// What a channel of 1 GB/s takes from a capacity.
struct NcclToll {
  std::uint32_t capacity = 0;
  double gbps = 1;
};

// A link on the way, and how much of the traffic takes it: less than all of it at grouped NICs.
struct NcclLinkShare {
  std::uint32_t link = 0;  // by local number
  double share = 1;
};

struct NcclWire {
  NcclPath path = NcclPath::kDis;
  std::vector<NcclToll> tolls;
  std::vector<NcclLinkShare> links;
  bool through_host = false;  // staged in host memory
};

// NICs that are used as one: several alike behind a switch that has fewer GPUs than NICs, as the
// EFA plugin groups the four NICs of each GPU of a p5.
struct NcclNic {
  std::vector<std::uint32_t> members;  // local vertices
};

// GB/s of a NIC's wires to the network; 0 without any.
[[nodiscard]] double nccl_network_gbps(const Topology& topology, VertexId nic);

class NcclMachine {
 public:
  // These GPUs (local vertices, ascending) of a machine; with the network when there are others.
  NcclMachine(const Topology& topology,
              NodeId node,
              std::vector<std::uint32_t> gpus,
              bool with_network);

  [[nodiscard]] std::size_t gpu_count() const { return gpus_.size(); }
  [[nodiscard]] std::size_t nic_count() const { return nics_.size(); }
  [[nodiscard]] std::uint32_t gpu(std::size_t g) const { return gpus_[g]; }
  [[nodiscard]] const NcclNic& nic(std::size_t n) const { return nics_[n]; }
  // Local links first, then the way into and out of each NIC from the network.
  [[nodiscard]] std::span<const double> capacities() const { return capacities_; }

  [[nodiscard]] const NcclWire& between(std::size_t from, std::size_t to) const {
    return between_[from * gpus_.size() + to];
  }
  [[nodiscard]] const NcclWire& from_nic(std::size_t n, std::size_t g) const {
    return from_nic_[n * gpus_.size() + g];
  }
  [[nodiscard]] const NcclWire& to_nic(std::size_t g, std::size_t n) const {
    return to_nic_[n * gpus_.size() + g];
  }
  [[nodiscard]] std::uint32_t port_in(std::size_t n) const;
  [[nodiscard]] std::uint32_t port_out(std::size_t n) const { return port_in(n) + 1; }

  [[nodiscard]] int sm() const { return sm_; }          // of the oldest GPU
  [[nodiscard]] int max_sm() const { return max_sm_; }  // of the newest
  [[nodiscard]] bool on_nvswitch() const { return nvswitch_gbps_ > 0; }
  // Between a GPU and the NVSwitch, of the slowest GPU; 0 unless all hang on one.
  [[nodiscard]] double nvswitch_gbps() const { return nvswitch_gbps_; }
  [[nodiscard]] double nic_latency_us() const { return nic_latency_us_; }  // both ends together
  [[nodiscard]] bool network_in_order() const { return network_in_order_; }
  [[nodiscard]] bool network_is_tcp() const { return network_is_tcp_; }
  [[nodiscard]] NcclCpu cpu() const { return cpu_; }

 private:
  class Reader;

  std::vector<std::uint32_t> gpus_;
  std::vector<NcclNic> nics_;
  std::vector<double> capacities_;
  std::size_t link_count_ = 0;
  std::vector<NcclWire> between_;
  std::vector<NcclWire> from_nic_;
  std::vector<NcclWire> to_nic_;
  int sm_ = 0;
  int max_sm_ = 0;
  double nvswitch_gbps_ = 0;
  double nic_latency_us_ = 0;
  bool network_in_order_ = true;
  bool network_is_tcp_ = false;
  NcclCpu cpu_ = NcclCpu::kOther;
};

}  // namespace twinrun
