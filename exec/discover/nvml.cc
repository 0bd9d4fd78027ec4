#include "exec/discover/nvml.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include <dlfcn.h>

namespace twinrun::exec {
namespace {

// The few calls of NVML that are used, declared here so that neither its header nor the library is
// needed to build. Its binary interface is kept stable by version suffixes.
constexpr int kSuccess = 0;
constexpr int kEnabled = 1;
constexpr int kPeerOk = 0;
constexpr int kPeerRead = 0;  // of the capabilities between two GPUs
constexpr int kPeerWrite = 1;
constexpr int kToProcessor = 1;  // far ends of an NVLink; 0 is a GPU
constexpr int kToSwitch = 2;
constexpr unsigned kMostLinks = 36;  // as many as any GPU has; those beyond its own are refused
constexpr unsigned kMostGpus = 256;

constexpr std::uint32_t kSwitchClass = 0x068000;
constexpr std::uint32_t kProcessorClass = 0x068001;

using Device = void*;

struct PciInfo {
  std::array<char, 16> short_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_ids;
  unsigned subsystem_ids;
  std::array<char, 32> bus_id;
};

struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

std::string text_in(const char* data, std::size_t size) {
  return {data, std::find(data, data + size, '\0')};
}

class Nvml {
 public:
  explicit Nvml(const std::string& file)
      : library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)),
        is_open_(library_ != nullptr && call<int()>("nvmlInit_v2") == kSuccess) {}
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (is_open_) {
      call<int()>("nvmlShutdown");
    }  // the library stays: drivers do not expect to be unloaded
  }

  std::vector<DriverGpu> gpus() {
    find_devices();
    std::vector<DriverGpu> out;
    for (const auto& [bus_id, device] : devices_) {
      DriverGpu gpu;
      gpu.bus_id = bus_id;
      read_facts(device, gpu);
      read_links(device, gpu);
      read_peers(device, gpu);
      out.push_back(std::move(gpu));
    }
    return out;
  }

 private:
  // A call by its name; a library that lacks it answers as one that refuses.
  template <class Signature, class... Arguments>
  int call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<Signature*>(dlsym(library_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

  void find_devices() {
    unsigned count = 0;
    if (!is_open_ || call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count) != kSuccess) {
      return;
    }
    for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
      Device device = nullptr;
      PciInfo pci{};
      const bool is_known =
          call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &device) == kSuccess &&
          call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", device, &pci) == kSuccess;
      if (is_known) {  // one that has fallen off the bus is not
        devices_.emplace_back(plain_bus_id(text_in(pci.bus_id.data(), pci.bus_id.size())), device);
      }
    }
  }

  void read_facts(Device device, DriverGpu& gpu) {
    std::array<char, 96> name{};
    if (call<int(Device, char*, unsigned)>("nvmlDeviceGetName", device, name.data(),
                                           static_cast<unsigned>(name.size())) == kSuccess) {
      gpu.name = text_in(name.data(), name.size());
    }
    MemoryInfo memory{};
    if (call<int(Device, MemoryInfo*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) {
      gpu.memory = {static_cast<std::int64_t>(memory.total)};
    }
    int major = 0;
    int minor = 0;
    if (call<int(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability", device, &major,
                                      &minor) == kSuccess) {
      gpu.sm = 10 * major + minor;
    }
  }

  void read_links(Device device, DriverGpu& gpu) {
    for (unsigned link = 0; link < kMostLinks; ++link) {
      int state = 0;
      if (call<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkState", device, link, &state) !=
              kSuccess ||
          state != kEnabled) {
        continue;
      }
      PciInfo far{};
      DriverGpu::Link added;
      if (call<int(Device, unsigned, PciInfo*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link,
                                                &far) == kSuccess) {
        added.target = plain_bus_id(text_in(far.bus_id.data(), far.bus_id.size()));
      }
      added.code = class_of_far_end(device, link);
      if (!added.target.empty() || added.code != 0) {
        gpu.links.push_back(std::move(added));
      }
    }
  }

  // Of a GPU the bus id says enough.
  std::uint32_t class_of_far_end(Device device, unsigned link) {
    int type = 0;
    if (call<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkRemoteDeviceType", device, link,
                                          &type) != kSuccess) {
      return 0;
    }
    return type == kToSwitch ? kSwitchClass : type == kToProcessor ? kProcessorClass : 0;
  }

  void read_peers(Device device, DriverGpu& gpu) {
    bool knows_all = true;
    for (const auto& [bus_id, other] : devices_) {
      if (other == device) {
        continue;
      }
      bool reaches = true;
      for (const int what : {kPeerRead, kPeerWrite}) {
        int status = 0;
        knows_all = call<int(Device, Device, int, int*)>("nvmlDeviceGetP2PStatus", device, other,
                                                         what, &status) == kSuccess &&
                    knows_all;
        reaches = reaches && status == kPeerOk;
      }
      if (reaches) {
        gpu.peers.push_back(bus_id);
      }
    }
    gpu.knows_peers = knows_all;
    if (!knows_all) {
      gpu.peers.clear();
    }
  }

  void* library_;
  bool is_open_;
  std::vector<std::pair<std::string, Device>> devices_;  // by bus id, in the driver's order
};

}  // namespace

std::vector<DriverGpu> gpus_of_nvml(const std::string& library) { return Nvml(library).gpus(); }

std::vector<DriverGpu> gpus_of_nvml() {
  const char* const given =
      std::getenv("TWINRUN_NVML");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return gpus_of_nvml(given != nullptr && *given != '\0' ? given : "libnvidia-ml.so.1");
}

}  // namespace twinrun::exec
