#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace twinrun {

// What a vertex is. The words are those of the JSON format, in the order of the enumerators.
enum class VertexKind : std::uint8_t { kGpu, kCpu, kMemory, kPcieSwitch, kNvswitch, kNic, kSwitch };
inline constexpr std::array<std::string_view, 7> kVertexKindWords = {
    "gpu", "cpu", "memory", "pcie-switch", "nvswitch", "nic", "switch"};

// What a link is made of. kSocket joins CPUs (QPI, UPI, Infinity Fabric), kBus a CPU and its
// memory.
enum class LinkKind : std::uint8_t { kNvlink, kC2c, kPcie, kSocket, kBus, kNetwork };
inline constexpr std::array<std::string_view, 6> kLinkKindWords = {"nvlink", "c2c", "pcie",
                                                                   "socket", "bus", "network"};

// How near two devices are, best first, with NCCL's names (cuda-nccl-cpu 3.1): same device, NVLink,
// chip-to-chip, one PCIe switch, several, a host bridge, between sockets, the network, not at all.
enum class PathClass : std::uint8_t { kLoc, kNvl, kC2c, kPix, kPxb, kPhb, kSys, kNet, kDis };
inline constexpr std::array<std::string_view, 9> kPathClassWords = {
    "LOC", "NVL", "C2C", "PIX", "PXB", "PHB", "SYS", "NET", "DIS"};

constexpr std::string_view word(VertexKind kind) {
  return kVertexKindWords[static_cast<std::size_t>(kind)];
}
constexpr std::string_view word(LinkKind kind) {
  return kLinkKindWords[static_cast<std::size_t>(kind)];
}
constexpr std::string_view word(PathClass path) {
  return kPathClassWords[static_cast<std::size_t>(path)];
}

}  // namespace twinrun
