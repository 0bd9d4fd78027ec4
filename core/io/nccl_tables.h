#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/topology/spec.h"

namespace twinrun {

// What NCCL believes about hardware it meets (its src/graph/topo.h and topo.cc): the figures that
// an imported topology starts from.

// What a PCI class prefix stands for. NCCL takes whatever it does not know for a bridge.
enum class PciClass : std::uint8_t { kBridge, kNvswitch, kCpuBridge, kGpu, kNic };
[[nodiscard]] PciClass pci_class(std::string_view text);

struct PcieSpeed {
  int generation = 3;  // 1 to 6
  int width = 16;      // lanes
  bool operator==(const PcieSpeed&) const = default;
};
// "16 GT/s", "16.0 GT/s PCIe", even "32 GT/s PCIe/s"; nothing for other texts (NCCL assumes gen 3).
[[nodiscard]] std::optional<int> pcie_generation(std::string_view speed_text);
[[nodiscard]] std::string_view pcie_speed_text(int generation);
// "gen5x16"
[[nodiscard]] std::optional<PcieSpeed> parse_pcie_speed(std::string_view text);
[[nodiscard]] Bandwidth pcie_bandwidth(PcieSpeed speed);  // what NCCL counts with: gen3 x16 is 12
[[nodiscard]] Bandwidth pcie_line_rate(PcieSpeed speed);  // after encoding: gen3 x16 is 15.75
// The other way round; nothing when no whole number of lanes gives this bandwidth.
[[nodiscard]] std::optional<PcieSpeed> pcie_speed_of(Bandwidth bandwidth, Bandwidth line_rate);

struct LinkRates {
  Bandwidth bandwidth;
  Bandwidth line_rate;
};
[[nodiscard]] LinkRates nvlink_rates(int sm);  // one link, one direction

// Between two CPUs of this kind; nothing for CPUs that NCCL does not know.
[[nodiscard]] std::optional<Bandwidth> socket_bandwidth(std::string_view vendor, int model);

// NCCL's "no limit": within a device, or from a CPU to a network device outside PCI.
inline constexpr Bandwidth kLocalBandwidth = gigabytes_per_second(5000);

// A GPU of the catalogue by its PCI device id (NVIDIA's), and by its name.
struct KnownGpu {
  std::uint16_t pci_device;
  int sm;
  std::string_view device;
};
[[nodiscard]] const KnownGpu* known_gpu_of_pci_device(std::uint32_t pci_device);
[[nodiscard]] const KnownGpu* known_gpu_named(std::string_view device);
// The usual one of a compute capability.
[[nodiscard]] const KnownGpu* known_gpu_of_sm(int sm);

// Broadcom's gen4 and gen5 switches show themselves as two levels of bridges although every port
// runs at full rate; NCCL fuses the second level into the first. The generation (4, 5) when the
// four PCI ids, 16 bits each (vendor, device, subsystem vendor, subsystem device), are those of
// such a bridge of that level (0 or 1), else 0.
[[nodiscard]] int broadcom_generation(std::uint64_t pci_ids, int level);

}  // namespace twinrun
