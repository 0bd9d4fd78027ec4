#include "exec/discover/driver_gpus.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "exec/cuda/open_gpus.h"
#include "exec/discover/nvml.h"

namespace twinrun::exec {
namespace {

constexpr std::uint32_t kGpuClass = 0x030200;
constexpr std::uint16_t kNvidiaVendor = 0x10DE;

DriverGpu taken_out(std::vector<DriverGpu>& gpus, const std::string& bus_id) {
  const auto found = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const DriverGpu& gpu) { return gpu.bus_id == bus_id; });
  DriverGpu out;
  if (found != gpus.end()) {
    out = std::move(*found);
    gpus.erase(found);
  }
  out.bus_id = bus_id;
  return out;
}

// Those of CUDA are the first ones.
void add_peers(std::vector<DriverGpu>& gpus, int count, GpuRuntime& runtime) {
  for (int device = 0; device < count; ++device) {
    DriverGpu& gpu = gpus[static_cast<std::size_t>(device)];
    for (int other = 0; !gpu.knows_peers && other < count; ++other) {
      if (other != device && runtime.reach(device, other)) {
        gpu.peers.push_back(gpus[static_cast<std::size_t>(other)].bus_id);
      }
    }
    gpu.knows_peers = true;
  }
}

void add_gpus_of_plugin(Machine& machine) {
  try {
    const std::unique_ptr<GpuRuntime> runtime = open_gpus();
    machine.gpus = with_gpus_of_cuda(machine.gpus, *runtime);
    machine.readers.emplace_back("cuda");
  } catch (const std::runtime_error&) {
    return;  // no GPU, no plugin, a driver in trouble: what is known without has to do
  }
}

}  // namespace

std::vector<DriverGpu> with_gpus_of_cuda(std::vector<DriverGpu> known, GpuRuntime& runtime) {
  std::vector<DriverGpu> out;
  const int count = runtime.device_count();
  for (int device = 0; device < count; ++device) {
    const GpuFacts facts = runtime.facts(device);
    DriverGpu gpu = taken_out(known, plain_bus_id(facts.pci_bus_id));
    gpu.name = facts.name;
    gpu.sm = 10 * facts.major + facts.minor;
    gpu.memory = {facts.memory_bytes};
    out.push_back(std::move(gpu));
  }
  add_peers(out, count, runtime);
  out.insert(out.end(), known.begin(), known.end());
  return out;
}

void add_unseen_gpus(Machine& machine) {
  for (const DriverGpu& gpu : machine.gpus) {
    if (machine.find(gpu.bus_id) != nullptr) {
      continue;
    }
    PciFunction function;
    function.bus_id = gpu.bus_id;
    function.code = kGpuClass;
    function.vendor = kNvidiaVendor;
    const auto place =
        std::find_if(machine.pci.begin(), machine.pci.end(),
                     [&](const PciFunction& other) { return other.bus_id > function.bus_id; });
    machine.pci.insert(place, std::move(function));
  }
}

void ask_driver(Machine& machine) {
  if (std::vector<DriverGpu> gpus = gpus_of_nvml(); !gpus.empty()) {
    machine.gpus = std::move(gpus);
    machine.readers.emplace_back("nvml");
  }
  add_gpus_of_plugin(machine);
  add_unseen_gpus(machine);
}

}  // namespace twinrun::exec
