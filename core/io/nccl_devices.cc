#include "core/io/nccl_devices.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/io/nccl_tables.h"

namespace twinrun {

std::string NcclDevices::name_of(const NcclVertex& vertex) {
  DeviceSpec device;
  device.kind = vertex.kind;
  device.source = "nccl-xml";
  switch (vertex.kind) {
    case VertexKind::kGpu:
      return gpu_name(vertex, std::move(device));
    case VertexKind::kCpu:
      device.name = vertex.vendor.empty()
                        ? "cpu-unknown"
                        : fmt::format("cpu-{}-{}", vertex.vendor, vertex.cpu_model);
      device.vendor = vertex.vendor;
      device.cpu_model = vertex.vendor.empty() ? 0 : vertex.cpu_model;
      return keep(std::move(device));
    case VertexKind::kNic:
      device.rate = vertex.rate;
      device.latency = vertex.latency;
      device.name = fmt::format("nic-{:g}g", vertex.rate.bytes_per_s / 125e6);
      if (vertex.latency.ps > 0) {
        device.name += fmt::format("-{:g}us", to_microseconds(vertex.latency));
      }
      return keep(std::move(device));
    case VertexKind::kMemory:
    case VertexKind::kPcieSwitch:
    case VertexKind::kNvswitch:
    case VertexKind::kSwitch:
      break;
  }
  return "";
}

std::string NcclDevices::gpu_name(const NcclVertex& gpu, DeviceSpec unknown) {
  if (!given_gpu_.empty()) {
    return given_gpu_;
  }
  const bool is_nvidia = gpu.pci_ids >> 48 == 0x10DE;
  const KnownGpu* known =
      is_nvidia ? known_gpu_of_pci_device(static_cast<std::uint32_t>(gpu.pci_ids >> 32 & 0xFFFF))
                : nullptr;
  if (known != nullptr) {
    return std::string(known->device);
  }
  known = known_gpu_of_sm(gpu.sm);
  if (known != nullptr) {
    warn_once("W0203", gpu.place,
              fmt::format("the GPU model is not known; by its compute capability {} taken as {}",
                          gpu.sm, known->device),
              "give the model with --gpu MODEL; `twinrun topo list` names them");
    return std::string(known->device);
  }
  warn_once("W0201", gpu.place, "the file does not say which GPUs these are",
            "give the model with --gpu MODEL, such as --gpu h100-sxm5; without it there is no "
            "compute rate");
  unknown.name = gpu.sm > 0 ? fmt::format("gpu-sm{}", gpu.sm) : "gpu-unknown";
  unknown.sm = gpu.sm;
  return keep(std::move(unknown));
}

std::string NcclDevices::keep(DeviceSpec device) {
  std::string name = device.name;
  if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) {
    devices_.push_back(std::move(device));
  }
  return name;
}

void NcclDevices::warn_once(const char* code,
                            const Place& place,
                            std::string message,
                            std::string help) {
  if (warned_.insert(code).second) {
    diagnostics_.warning(code, place, std::move(message), std::move(help));
  }
}

}  // namespace twinrun
