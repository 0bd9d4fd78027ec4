// The calls of CUDA that ask about devices.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/streams.h"

namespace substitute {
namespace {

// What an A100 answers where the test's device does not say.
std::optional<int> attribute_of(const Device& device, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return 1024;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return 49152;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return 167936;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return 2048;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMultiProcessorCount:
      return device.multiprocessors;
    case cudaDevAttrComputeCapabilityMajor:
      return device.major;
    case cudaDevAttrComputeCapabilityMinor:
      return device.minor;
    case cudaDevAttrClockRate:
      return 1410000;
    case cudaDevAttrMemoryClockRate:
      return 1215000;
    case cudaDevAttrGlobalMemoryBusWidth:
      return 5120;
    case cudaDevAttrL2CacheSize:
      return 41943040;
    case cudaDevAttrAsyncEngineCount:
      return 3;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGpuOverlap:
      return 1;
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrPageableMemoryAccess:
      return 0;
    default:
      return std::nullopt;
  }
}

// "0000:01:00.0"
struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
};

PciAddress pci_address(const Device& device) {
  PciAddress address;
  std::sscanf(device.pci_bus_id.c_str(), "%x:%x:%x", &address.domain, &address.bus,
              &address.device);
  return address;
}

void describe(const Device& device, cudaDeviceProp* properties) {
  std::memset(properties, 0, sizeof *properties);
  std::snprintf(properties->name, sizeof properties->name, "%s", device.name.c_str());
  properties->totalGlobalMem = device.memory_bytes;
  properties->major = device.major;
  properties->minor = device.minor;
  properties->multiProcessorCount = device.multiprocessors;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->sharedMemPerBlock = 49152;
  properties->warpSize = 32;
  properties->memoryBusWidth = 5120;
  properties->l2CacheSize = 41943040;
  properties->asyncEngineCount = 3;
  properties->unifiedAddressing = 1;
  properties->concurrentKernels = 1;
  properties->canMapHostMemory = 1;
  properties->streamPrioritiesSupported = 1;
  const PciAddress address = pci_address(device);
  properties->pciDomainID = static_cast<int>(address.domain);
  properties->pciBusID = static_cast<int>(address.bus);
  properties->pciDeviceID = static_cast<int>(address.device);
}

int device_at(const PciAddress& wanted) {
  for (int device = 0; device < machine().count(); ++device) {
    const PciAddress address = pci_address(machine().device(device));
    if (address.domain == wanted.domain && address.bus == wanted.bus &&
        address.device == wanted.device) {
      return device;
    }
  }
  return -1;
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's
cudaError_t cudaDriverGetVersion(int* version) {
  return substitute::cuda_question({"cudaDriverGetVersion"}, [&] {
    *version = substitute::machine().driver_version();
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return substitute::cuda_question({"cudaRuntimeGetVersion"}, [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

// The real one leaves the count unset when it fails.
cudaError_t cudaGetDeviceCount(int* count) {
  return substitute::cuda_call({"cudaGetDeviceCount"}, [&] {
    *count = substitute::machine().count();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return substitute::cuda_question({"cudaSetDevice"}, [&] {
    const cudaError_t error = substitute::machine().driver_error();
    if (error != cudaSuccess || !substitute::machine().has(device)) {
      return substitute::remember(error != cudaSuccess ? error : cudaErrorInvalidDevice);
    }
    substitute::set_current_device(device);
    return substitute::remember(substitute::standing_error());
  });
}

cudaError_t cudaGetDevice(int* device) {
  return substitute::cuda_call({"cudaGetDevice"}, [&] {
    *device = substitute::current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int) {
  return substitute::cuda_call({"cudaSetDeviceFlags"}, [] { return cudaSuccess; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return substitute::cuda_call({"cudaGetDeviceProperties"}, [&] {
    if (!substitute::machine().has(device)) {
      return cudaErrorInvalidDevice;
    }
    substitute::describe(substitute::machine().device(device), properties);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return substitute::cuda_call({"cudaDeviceGetAttribute"}, [&] {
    if (!substitute::machine().has(device)) {
      return cudaErrorInvalidDevice;
    }
    const auto address = substitute::pci_address(substitute::machine().device(device));
    switch (attribute) {
      case cudaDevAttrPciDomainId:
        *value = static_cast<int>(address.domain);
        return cudaSuccess;
      case cudaDevAttrPciBusId:
        *value = static_cast<int>(address.bus);
        return cudaSuccess;
      case cudaDevAttrPciDeviceId:
        *value = static_cast<int>(address.device);
        return cudaSuccess;
      default:
        break;
    }
    const auto known = substitute::attribute_of(substitute::machine().device(device), attribute);
    *value = known.value_or(0);
    return known ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return substitute::cuda_call({"cudaDeviceGetPCIBusId"}, [&] {
    if (!substitute::machine().has(device)) {
      return cudaErrorInvalidDevice;
    }
    const std::string id = substitute::machine().device(device).pci_bus_id;
    if (length <= static_cast<int>(id.size())) {
      return cudaErrorInvalidValue;
    }
    std::memcpy(text, id.c_str(), id.size() + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return substitute::cuda_call({"cudaDeviceGetByPCIBusId"}, [&] {
    substitute::PciAddress wanted;
    const int fields = std::sscanf(text, "%x:%x:%x", &wanted.domain, &wanted.bus, &wanted.device);
    const int found = fields == 3 ? substitute::device_at(wanted) : -1;
    if (found < 0) {
      return cudaErrorInvalidDevice;
    }
    *device = found;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return substitute::cuda_call({"cudaDeviceGetStreamPriorityRange"}, [&] {
    *least = substitute::kLeastPriority;
    *greatest = substitute::kGreatestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return substitute::cuda_call({"cudaDeviceCanAccessPeer"}, [&] {
    if (!substitute::machine().has(device) || !substitute::machine().has(peer)) {
      return cudaErrorInvalidDevice;
    }
    *can = substitute::machine().peer_access_is_possible(device, peer) ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return substitute::cuda_call({"cudaDeviceEnablePeerAccess"}, [&] {
    if (flags != 0) {
      return cudaErrorInvalidValue;
    }
    return substitute::machine().has(peer)
               ? substitute::machine().enable_peer_access(substitute::current_device(), peer)
               : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return substitute::cuda_call({"cudaDeviceDisablePeerAccess"}, [&] {
    return substitute::machine().has(peer)
               ? substitute::machine().disable_peer_access(substitute::current_device(), peer)
               : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return substitute::cuda_call({"cudaMemGetInfo"}, [&] {
    *total = substitute::machine().device(substitute::current_device()).memory_bytes;
    *free = *total -
            std::min(*total, substitute::device_memory().used_bytes(substitute::current_device()));
    return cudaSuccess;
  });
}
// NOLINTEND(readability-*)
