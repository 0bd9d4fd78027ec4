#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "core/io/nccl_tables.h"
#include "core/topology/kinds.h"

namespace twinrun {

// An NCCL topology between text and TopologySpec: a forest of PCI devices below CPUs, in the order
// of the file, and the NVLinks, chip-to-chip and switch-internal links that cross it.

struct NcclVertex {
  VertexKind kind = VertexKind::kPcieSwitch;
  std::size_t parent = 0;  // index; a CPU is its own parent
  bool removed = false;    // fused into its parent
  std::string id;          // provenance: bus id, numa id, guid …
  Place place;

  // Up to the parent. A network device outside PCI has kLocalBandwidth and no line rate.
  Bandwidth bandwidth;
  Bandwidth line_rate;
  std::string link_source = "nccl-table";
  std::uint64_t pci_ids = 0;  // vendor, device, subsystem vendor, subsystem device

  std::int64_t order = -1;  // GPU and network: dev; CPU: numa id; -1 unknown
  int sm = 0;               // GPU
  bool has_element = true;  // GPU, NIC: the file has a gpu or net element for it

  std::string vendor;  // CPU
  int cpu_model = 0;
  std::string host;  // CPU: hash of the host it is in

  Bandwidth rate;  // NIC
  Time latency;
};

struct NcclNvlink {
  std::size_t gpu = 0;
  std::string target;  // bus id
  PciClass target_class = PciClass::kNvswitch;
  std::int64_t count = 1;
  Place place;
};

struct NcclC2c {
  std::size_t gpu = 0;
  std::int64_t count = 1;
  Bandwidth bandwidth;  // of one
};

struct NcclPciLink {
  std::size_t from = 0;
  std::string target;
  Place place;
};

struct NcclGraph {
  std::string name;
  std::vector<NcclVertex> vertices;
  std::vector<NcclNvlink> nvlinks;
  std::vector<NcclC2c> c2c;
  std::vector<NcclPciLink> pci_links;
  bool gpu_direct = true;  // false: every network or every GPU says gdr="0"
};

// Broadcom's two-level switches become one, as in NCCL: a path through it is PIX, not PXB, and the
// rings are searched as if every port had its full rate, which it has. Only one level is fused, and
// only where both have the ids of such a switch: bridges of another make below it (the ones in
// front of each GPU of a DGX A100) stay vertices, so GPU and NIC come out as PXB there, as
// nvidia-smi says.
void fuse_broadcom_switches(std::vector<NcclVertex>& vertices);

// "runs/my host.xml" is the topology my-host.
[[nodiscard]] std::string name_from_file(std::string_view text);

}  // namespace twinrun
