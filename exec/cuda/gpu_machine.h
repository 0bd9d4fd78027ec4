#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cpu/cpu_machine.h"
#include "exec/cuda/device_places.h"
#include "exec/cuda/gpu_runtime.h"
#include "exec/training/tensor_machine.h"

namespace twinrun::exec {

// Memory of a stream's own, for what is on its way: an op finds it free, since its stream has done
// with the op before.
enum class Scratch : std::uint8_t {
  kDevice,  // of the stream's GPU
  kPinned,  // of the host
  kNarrow,  // of the GPU, for elements of two bytes
  kLosses,  // of the GPU
  kClock,   // of the GPU: when an op began
};
inline constexpr std::size_t kScratchKinds = 5;

// The GPUs and hosts that stand for the devices of a plan: their memory, a CUDA stream for each
// stream of the plan, and kernels that enqueue on it. A host's memory is pinned, and what it
// computes are calls of the host in its stream's order.
class GpuMachine : public TensorMachine {
 public:
  // Whoever wants scratch in the run says so before: until prepared(), everything is only measured.
  GpuMachine(const Plan& plan,
             GpuRuntime& runtime,
             std::vector<DevicePlace> places,
             ProductLibrary host_library);
  ~GpuMachine() override;

  std::span<float> allocate(DeviceId device, std::size_t elements) override;
  std::span<double> allocate_losses(std::size_t count) override;
  SamplePlace place_samples(DeviceId device, TrainingData& data) override;
  void write(std::span<const float> from, std::span<float> into) override;
  TensorKernels& kernels(OpId op) override;
  std::mutex* lock_of(DeviceId device) override;
  void read(std::span<const float> from, std::span<float> into) const override;

  // Zeros that the host and all GPUs can use; pinned, so that copies go in the order of streams.
  std::span<float> allocate_on_host(std::size_t elements);

  // Makes the scratch that was asked for, and handles for the streams that multiply.
  void prepare();
  [[nodiscard]] bool is_prepared() const { return is_prepared_; }

  [[nodiscard]] GpuRuntime& runtime() const { return runtime_; }
  [[nodiscard]] const Products& host_products() const { return host_products_; }
  [[nodiscard]] CpuKernels& host_kernels() { return host_kernels_; }
  [[nodiscard]] const DevicePlace& place(DeviceId device) const {
    return places_[index_of(device)];
  }
  [[nodiscard]] const DevicePlace& place_of(OpId op) const { return place(plan_.device(op)); }
  [[nodiscard]] const GpuStream& stream(StreamId stream) const {
    return streams_[index_of(stream)];
  }
  [[nodiscard]] const GpuStream& stream_of(OpId op) const { return stream(plan_.stream(op)); }
  // Not to be used while it is only measured.
  void* scratch(StreamId stream, Scratch kind, std::size_t bytes);
  void will_multiply(StreamId stream) { multiplies_[index_of(stream)] = true; }

  // Where an array lies, and how far into what was allocated.
  struct Whereabouts {
    DeviceId device{};
    std::int64_t element = 0;
  };
  [[nodiscard]] Whereabouts find(const float* pointer) const;
  // The locks of a GPU that shared arrays are worked on with.
  [[nodiscard]] TileLocks locks_for(const float* pointer) const;
  [[nodiscard]] bool reaches(int gpu, int other);

  // A call of the host in the stream's order.
  void call(const GpuStream& stream, std::function<void()> function);

 private:
  struct Area {
    DeviceId device{};
    std::size_t bytes = 0;
  };
  struct StreamScratch {
    std::array<std::size_t, kScratchKinds> bytes{};
    std::array<void*, kScratchKinds> memory{};
  };
  void make_streams();
  void* allocate_bytes(DeviceId device, std::size_t bytes);
  void* allocate_pinned(std::size_t bytes);

  const Plan& plan_;
  GpuRuntime& runtime_;
  std::vector<DevicePlace> places_;  // by device
  std::vector<GpuStream> streams_;   // by stream; no handle of those that are elsewhere
  Products host_products_;
  std::vector<std::mutex> host_locks_;  // by device: of hosts
  CpuKernels host_kernels_;
  std::map<const float*, Area> areas_;                // arrays, by where they begin
  std::vector<std::pair<int, void*>> device_memory_;  // of a GPU
  std::vector<void*> pinned_memory_;
  std::map<int, std::uint32_t*> locks_;                  // by GPU
  std::vector<StreamScratch> scratch_;                   // by stream
  std::vector<bool> multiplies_;                         // by stream
  std::vector<std::unique_ptr<TensorKernels>> kernels_;  // by stream
  std::map<std::pair<int, int>, bool> reaches_;
  bool is_prepared_ = false;
  float nowhere_ = 0;  // what scratch is while it is only measured
};

}  // namespace twinrun::exec
