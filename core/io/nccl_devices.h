#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/nccl_graph.h"
#include "core/topology/spec.h"

namespace twinrun {

// Names what the vertices of an NCCL topology are: GPUs by the catalogue, from their PCI id or
// their compute capability (with a warning); CPUs and NICs as devices of the topology's own.
class NcclDevices {
 public:
  // A given name is what every GPU is.
  NcclDevices(std::string gpu_device, Diagnostics& diagnostics)
      : given_gpu_(std::move(gpu_device)), diagnostics_(diagnostics) {}

  std::string name_of(const NcclVertex& vertex);  // "" for switches
  [[nodiscard]] const std::vector<DeviceSpec>& all() const { return devices_; }

 private:
  std::string gpu_name(const NcclVertex& gpu, DeviceSpec unknown);
  void warn_once(const char* code, const Place& place, std::string message, std::string help);
  std::string keep(DeviceSpec device);

  std::string given_gpu_;
  Diagnostics& diagnostics_;
  std::vector<DeviceSpec> devices_;
  std::set<std::string> warned_;
};

}  // namespace twinrun
