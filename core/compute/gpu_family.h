#pragma once

#include <cstdint>

#include "core/topology/spec.h"

namespace twinrun {

// GPUs whose kernels behave alike. Which one a device is follows from its compute capability.
enum class GpuFamily : std::uint8_t {
  kKepler,
  kMaxwell,
  kPascal,    // P100
  kConsumer,  // 6.1: GeForce 10, Titan X and Xp, P40
  kVolta,     // and Turing, whose multiprocessor is much the same
  kLowPower,  // at most 75 W, which no clock survives for long: T4
  kAmpere,    // and Ada
  kHopper,
  kBlackwell,
  kAnyGpu,
  kCpu,
};
GpuFamily family_of(const DeviceSpec& device);

// Cores that compute on their own: a GPU's multiprocessors, a CPU's cores. Of a GPU from its fp32
// peak, what a multiprocessor of its capability does a cycle and the clock such GPUs run at; right
// within an eighth for all GPUs of the catalogue.
double multiprocessors(const DeviceSpec& device);

// Of the memory bandwidth on paper, what a kernel that streams through memory reaches.
double memory_share(GpuFamily family);

// Products in tf32, fp16, bf16 and narrower run on tensor cores.
bool has_tensor_cores(const DeviceSpec& device, Dtype dtype);

}  // namespace twinrun
