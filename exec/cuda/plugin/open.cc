#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "exec/cuda/plugin/cuda_gpus.h"

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Without any driver the version that it speaks is 0.
std::string sentence_for(cudaError_t code) {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (code == cudaErrorInsufficientDriver && driver == 0) {
    return "no NVIDIA driver is installed (libcuda.so.1 is missing)";
  }
  if (code == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is too old: it speaks CUDA " + version_text(driver) +
           ", and the backend was built with CUDA " + version_text(runtime);
  }
  if (code == cudaErrorStubLibrary) {
    return "libcuda.so.1 is the toolkit's stub, not a driver: take its folder off the library path";
  }
  if (code == cudaErrorNoDevice) {
    return "the NVIDIA driver sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES and, in a "
           "container, --gpus all";
  }
  return std::string("CUDA cannot be used: ") + cudaGetErrorString(code) + " (" +
         cudaGetErrorName(code) + ")";
}

// Streams share hardware queues; with the usual eight, those of a plan would wait for each other.
void ask_for_queues() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // NOLINT(concurrency-mt-unsafe): before threads
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int twinrun_cuda_open(
    int version, twinrun::exec::GpuRuntime** runtime, char* problem, std::size_t problem_size) {
  if (version != twinrun::exec::kGpuRuntimeVersion) {
    return twinrun::exec::kGpuRuntimeVersion;
  }
  *runtime = nullptr;
  ask_for_queues();
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess || devices < 1) {
    const std::string text = sentence_for(code == cudaSuccess ? cudaErrorNoDevice : code);
    std::snprintf(problem, problem_size, "%s", text.c_str());
    return version;
  }
  try {
    *runtime = std::make_unique<twinrun::exec::gpu::CudaGpus>(devices).release();
  } catch (const std::exception& error) {
    std::snprintf(problem, problem_size, "%s", error.what());
  }
  return version;
}
