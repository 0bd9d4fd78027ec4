#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "exec/cuda/gpu_runtime.h"
#include "exec/cuda/plugin/kernel_collector.h"
#include "exec/cuda/plugin/kernels.h"

namespace twinrun::exec::gpu {

// The GPUs of this process, by CUDA, cuBLAS and NCCL.
class CudaGpus : public GpuRuntime {
 public:
  explicit CudaGpus(int devices) : devices_(devices), set_up_(static_cast<std::size_t>(devices)) {}
  ~CudaGpus() override;

  [[nodiscard]] int device_count() const override { return devices_; }
  [[nodiscard]] GpuFacts facts(int device) const override;
  [[nodiscard]] std::string versions() const override;
  bool reach(int device, int other) override;

  void* allocate(int device, std::size_t bytes) override;
  void free(int device, void* memory) override;
  void* allocate_pinned(std::size_t bytes) override;
  void free_pinned(void* memory) override;
  void copy_now(void* into, const void* from, std::size_t bytes) override;

  GpuStream make_stream(int device, bool is_urgent) override;
  void destroy_stream(const GpuStream& stream) override;
  GpuEvent make_event(int device) override;
  void destroy_event(const GpuEvent& event) override;
  void record(const GpuEvent& event, const GpuStream& stream) override;
  void wait(const GpuStream& stream, const GpuEvent& event) override;
  bool is_done(const GpuEvent& event) override;
  double elapsed_ms(const GpuEvent& from, const GpuEvent& to) override;
  void begin_op(const GpuStream& stream, std::uint64_t op) override;
  void end_op(const GpuStream& stream) override;

  void copy(const GpuStream& stream, void* into, const void* from, std::size_t bytes) override;
  void copy_peer(const GpuStream& stream,
                 void* into,
                 int into_device,
                 const void* from,
                 std::size_t bytes) override;
  void call(const GpuStream& stream, void (*function)(void*), void* argument) override;
  void prepare_products(const GpuStream& stream) override;
  void multiply(const GpuStream& stream,
                const MatrixProduct& product,
                ProductMode mode,
                void* scratch) override;
  void fill(const GpuStream& stream, std::span<float> array, float value) override;
  void spread_bias(const GpuStream& stream,
                   std::span<const float> bias,
                   std::int64_t rows,
                   float* output) override;
  void sum_rows(const GpuStream& stream,
                const float* from,
                std::int64_t rows,
                std::span<float> into,
                bool accumulates) override;
  void activate(const GpuStream& stream,
                Activation kind,
                std::span<const float> input,
                std::span<float> output) override;
  void activate_backward(const GpuStream& stream,
                         Activation kind,
                         std::span<const float> output,
                         std::span<const float> output_gradient,
                         std::span<float> input_gradient) override;
  void losses(const GpuStream& stream, const LossRows& rows, double* into) override;
  void loss_gradient(const GpuStream& stream, const LossRows& rows, float* gradient) override;
  void update(const GpuStream& stream,
              const UpdateNumbers& rule,
              const UpdatedArrays& arrays,
              const TileLocks& locks) override;
  void add(const GpuStream& stream,
           std::span<float> from,
           std::span<float> into,
           bool takes,
           const TileLocks& locks) override;
  void take(const GpuStream& stream,
            std::span<float> from,
            std::span<float> into,
            bool takes,
            const TileLocks& locks) override;
  void replace(const GpuStream& stream,
               std::span<const float> from,
               std::span<float> into) override;
  void narrow(const GpuStream& stream,
              std::span<const float> from,
              WireType type,
              void* into) override;
  void widen(const GpuStream& stream,
             const void* from,
             WireType type,
             std::span<float> into) override;
  void note_time(const GpuStream& stream, std::uint64_t* when) override;
  void hold_until(const GpuStream& stream,
                  const std::uint64_t* when,
                  std::int64_t nanoseconds) override;

  std::vector<GpuCommunicator> join_all(std::span<const int> devices) override;
  std::string new_group_id() override;
  std::vector<GpuCommunicator> join(const std::string& id,
                                    int ranks,
                                    std::span<const GpuMember> members) override;
  std::string trouble_of(const GpuCommunicator& communicator) override;
  void leave(const GpuCommunicator& communicator) override;
  void abort(const GpuCommunicator& communicator) override;
  void begin_group() override;
  void communicate(const GpuTransfer& transfer) override;
  void end_group() override;
  [[nodiscard]] bool has_estimates() const override;
  double estimate_group_s() override;

  std::string collect_kernels() override;
  std::vector<GpuKernelRecord> take_kernels() override;

 private:
  // On the stream's device from here on; as the library names it.
  static cudaStream_t on(const GpuStream& stream);
  cudaStream_t set_up_stream(int device);
  [[nodiscard]] bool forget(const GpuCommunicator& communicator);

  int devices_;
  std::vector<cudaStream_t> set_up_;                   // by device: for what is done at once
  std::set<std::pair<int, int>> reached_;              // peers whose memory is accessible
  std::map<std::uintptr_t, cublasHandle_t> products_;  // by stream
  std::mutex mutex_;                                   // of the next one
  std::set<std::uintptr_t> communicators_;             // that live
  std::unique_ptr<KernelCollector> collector_;         // when kernels are collected
};

}  // namespace twinrun::exec::gpu
