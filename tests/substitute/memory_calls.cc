// The calls of CUDA that allocate and free.
#include <cstring>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/streams.h"

namespace substitute {
namespace {

cudaError_t allocate_on_current(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) {
    return cudaSuccess;
  }
  *pointer = device_memory().allocate(current_device(), bytes);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t allocate_pinned_memory(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) {
    return cudaSuccess;
  }
  *pointer = device_memory().allocate_pinned(current_device(), bytes);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

// As cudaFree and cudaFreeHost do: nobody is still using it. The wait is an order in time, not one
// that a program may rely on, so ThreadSanitizer is not told.
void drain_all_devices() {
  for (int device = 0; device < machine().count(); ++device) {
    for (const auto& stream : streams().of_device(device)) {
      stream->drain();
    }
  }
}

cudaError_t free_on_device(void* pointer) {
  if (pointer == nullptr) {
    return cudaSuccess;
  }
  if (!device_memory().is_allocation(pointer, Place::kDevice)) {
    if (device_memory().find(pointer).place == Place::kDevice) {
      refuse("cudaFree was called for " + address_text(pointer) +
             ", which is no allocation (any more).");
    }
    return cudaErrorInvalidValue;
  }
  for (const auto& stream : streams().of_device(device_memory().find(pointer).device)) {
    stream->drain();
  }
  device_memory().free(pointer);
  return cudaSuccess;
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's
cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return substitute::cuda_call({"cudaMalloc", nullptr, bytes},
                               [&] { return substitute::allocate_on_current(pointer, bytes); });
}

cudaError_t cudaFree(void* pointer) {
  return substitute::cuda_call({"cudaFree"}, [&] { return substitute::free_on_device(pointer); });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return substitute::cuda_call({"cudaMallocHost", nullptr, bytes},
                               [&] { return substitute::allocate_pinned_memory(pointer, bytes); });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int) {
  return substitute::cuda_call({"cudaHostAlloc", nullptr, bytes},
                               [&] { return substitute::allocate_pinned_memory(pointer, bytes); });
}

cudaError_t cudaFreeHost(void* pointer) {
  return substitute::cuda_call({"cudaFreeHost"}, [&] {
    if (pointer == nullptr) {
      return cudaSuccess;
    }
    if (!substitute::device_memory().is_allocation(pointer, substitute::Place::kPinned)) {
      return cudaErrorInvalidValue;
    }
    substitute::drain_all_devices();
    substitute::device_memory().free_pinned(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int) {
  return substitute::cuda_call({"cudaHostRegister", nullptr, bytes}, [&] {
    if (pointer == nullptr || bytes == 0) {
      return cudaErrorInvalidValue;
    }
    const bool is_new =
        substitute::device_memory().pin(pointer, bytes, substitute::current_device());
    return is_new ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return substitute::cuda_call({"cudaHostUnregister"}, [&] {
    return substitute::device_memory().unpin(pointer) ? cudaSuccess
                                                      : cudaErrorHostMemoryNotRegistered;
  });
}

// One address space: a kernel takes the host's address of pinned memory.
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return substitute::cuda_call({"cudaHostGetDevicePointer"}, [&] {
    if (flags != 0 || substitute::device_memory().find(host).place != substitute::Place::kPinned) {
      return cudaErrorInvalidValue;
    }
    *device = host;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return substitute::cuda_call({"cudaPointerGetAttributes"}, [&] {
    const auto found = substitute::device_memory().find(pointer);
    std::memset(attributes, 0, sizeof *attributes);
    attributes->device = found.device;
    auto* const same = const_cast<void*>(pointer);
    switch (found.place) {
      case substitute::Place::kPageable:
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->hostPointer = same;
        break;
      case substitute::Place::kPinned:
        attributes->type = cudaMemoryTypeHost;
        attributes->hostPointer = attributes->devicePointer = same;
        break;
      case substitute::Place::kDevice:
        attributes->type = cudaMemoryTypeDevice;
        attributes->devicePointer = same;
        break;
    }
    return cudaSuccess;
  });
}
// NOLINTEND(readability-*)
