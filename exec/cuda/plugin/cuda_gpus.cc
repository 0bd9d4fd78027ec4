#include "exec/cuda/plugin/cuda_gpus.h"

#include <array>

#include "exec/cuda/plugin/check.h"

// Devices, memory, streams and events.

namespace twinrun::exec::gpu {
namespace {

// The interface knows no type of CUDA's.
// NOLINTBEGIN(performance-no-int-to-ptr)
cudaStream_t native(const GpuStream& stream) {
  return reinterpret_cast<cudaStream_t>(stream.handle);
}
cudaEvent_t native(const GpuEvent& event) { return reinterpret_cast<cudaEvent_t>(event.handle); }
// NOLINTEND(performance-no-int-to-ptr)

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute");
  return value;
}

std::string version_text(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

// Whoever made something has destroyed it; what is left is the runtime's own. Errors are of no
// use to anybody any more.
CudaGpus::~CudaGpus() {
  for (const auto& [stream, handle] : products_) {
    cublasDestroy(handle);
  }
  for (std::size_t i = 0; i < set_up_.size(); ++i) {
    if (set_up_[i] != nullptr) {
      cudaSetDevice(static_cast<int>(i));
      cudaStreamDestroy(set_up_[i]);
    }
  }
  for (const auto& [device, other] : reached_) {
    cudaSetDevice(device);
    cudaDeviceDisablePeerAccess(other);
  }
}

cudaStream_t CudaGpus::on(const GpuStream& stream) {
  check(cudaSetDevice(stream.device), "cudaSetDevice");
  return native(stream);
}

cudaStream_t CudaGpus::set_up_stream(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaStream_t& stream = set_up_[static_cast<std::size_t>(device)];
  if (stream == nullptr) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  return stream;
}

GpuFacts CudaGpus::facts(int device) const {
  GpuFacts out;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  out.name = properties.name;
  out.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device),
        "cudaDeviceGetPCIBusId");
  out.pci_bus_id = bus.data();
  out.major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  out.minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
  out.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
  return out;
}

std::string CudaGpus::versions() const {
  int cuda = 0;
  check(cudaRuntimeGetVersion(&cuda), "cudaRuntimeGetVersion");
  int nccl = 0;
  check(ncclGetVersion(&nccl), "ncclGetVersion");
  return "CUDA " + version_text(cuda / 1000, cuda % 1000 / 10) + ", NCCL " +
         version_text(nccl / 10000, nccl % 10000 / 100) + "." + std::to_string(nccl % 100);
}

bool CudaGpus::reach(int device, int other) {
  if (device == other || reached_.contains({device, other})) {
    return true;
  }
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, device, other), "cudaDeviceCanAccessPeer");
  if (can == 0) {
    return false;
  }
  check(cudaSetDevice(device), "cudaSetDevice");
  const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {  // NCCL or somebody else was first
    static_cast<void>(cudaGetLastError());
    return true;
  }
  check(code, "cudaDeviceEnablePeerAccess");
  reached_.insert({device, other});
  return true;
}

// ---- memory

void* CudaGpus::allocate(int device, std::size_t bytes) {
  cudaStream_t const stream = set_up_stream(device);
  void* memory = nullptr;
  const cudaError_t code = cudaMalloc(&memory, bytes);
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  check(code, "cudaMalloc");
  check(cudaMemsetAsync(memory, 0, bytes, stream), "cudaMemsetAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return memory;
}

void CudaGpus::free(int device, void* memory) {
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaFree(memory), "cudaFree");
}

void* CudaGpus::allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  std::fill_n(static_cast<char*>(memory), bytes, '\0');
  return memory;
}

void CudaGpus::free_pinned(void* memory) { check(cudaFreeHost(memory), "cudaFreeHost"); }

void CudaGpus::copy_now(void* into, const void* from, std::size_t bytes) {
  cudaStream_t const stream = set_up_stream(0);
  check(cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

// ---- streams and events

GpuStream CudaGpus::make_stream(int device, bool is_urgent) {
  check(cudaSetDevice(device), "cudaSetDevice");
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, is_urgent ? greatest : least),
        "cudaStreamCreateWithPriority");
  return {reinterpret_cast<std::uintptr_t>(stream), device};
}

void CudaGpus::destroy_stream(const GpuStream& stream) {
  if (const auto found = products_.find(stream.handle); found != products_.end()) {
    check(cublasDestroy(found->second), "cublasDestroy");
    products_.erase(found);
  }
  check(cudaStreamDestroy(on(stream)), "cudaStreamDestroy");
}

GpuEvent CudaGpus::make_event(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  return {reinterpret_cast<std::uintptr_t>(event), device};
}

void CudaGpus::destroy_event(const GpuEvent& event) {
  check(cudaSetDevice(event.device), "cudaSetDevice");
  check(cudaEventDestroy(native(event)), "cudaEventDestroy");
}

void CudaGpus::record(const GpuEvent& event, const GpuStream& stream) {
  check(cudaEventRecord(native(event), on(stream)), "cudaEventRecord");
}

void CudaGpus::wait(const GpuStream& stream, const GpuEvent& event) {
  check(cudaStreamWaitEvent(on(stream), native(event), 0), "cudaStreamWaitEvent");
}

bool CudaGpus::is_done(const GpuEvent& event) {
  const cudaError_t code = cudaEventQuery(native(event));
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(code, "cudaEventQuery");
  return true;
}

double CudaGpus::elapsed_ms(const GpuEvent& from, const GpuEvent& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, native(from), native(to)), "cudaEventElapsedTime");
  return static_cast<double>(ms);
}

void CudaGpus::begin_op(const GpuStream& /*stream*/, std::uint64_t op) {
  if (collector_) {
    collector_->begin_op(op);
  }
}

void CudaGpus::end_op(const GpuStream& /*stream*/) {
  if (collector_) {
    collector_->end_op();
  }
}

std::string CudaGpus::collect_kernels() {
  std::string problem;
  collector_ = KernelCollector::start(problem);
  return problem;
}

std::vector<GpuKernelRecord> CudaGpus::take_kernels() {
  return collector_ ? collector_->take() : std::vector<GpuKernelRecord>();
}

}  // namespace twinrun::exec::gpu
