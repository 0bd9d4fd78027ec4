#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/training/tensor_kernels.h"

namespace twinrun::exec {

// GPUs as the program sees them, in words that need no header of CUDA's. The plugin
// libtwinrun-cuda.so does it with CUDA, cuBLAS and NCCL; the program opens that on demand, so it
// starts as quickly as without, and runs where none of them is installed. Everything that is to be
// decided (what, where, in which order, who waits for whom) is decided by the program.
//
// What fails throws std::runtime_error with the library's own words. One thread at a time, but for
// what is said to be for any thread.

inline constexpr int kGpuRuntimeVersion = 1;  // of this header: plugin and program must agree

struct GpuFacts {
  std::string name;
  std::string pci_bus_id;
  std::int64_t memory_bytes = 0;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
};

// Handles are the library's own, as numbers.
struct GpuStream {
  std::uintptr_t handle = 0;
  int device = 0;
};
struct GpuEvent {
  std::uintptr_t handle = 0;
  int device = 0;
};
struct GpuCommunicator {
  std::uintptr_t handle = 0;
  int device = 0;
};

// How operands of a matrix product are rounded; sums are in fp32 in any case.
enum class ProductMode : std::uint8_t { kFp32, kTf32, kFp16, kBf16 };
// How elements travel between GPUs. Memory holds fp32.
enum class WireType : std::uint8_t { kFp32, kFp16, kBf16 };

// Locks of a device, each for a tile of an array: whoever adds to, updates or hands out arrays that
// others do so with at the same time. None: nobody does.
struct TileLocks {
  std::uint32_t* locks = nullptr;  // kTileLocks of them, in the memory of the device
  std::int64_t first_element = 0;  // of the array, so that all who meet there take the same lock
};
inline constexpr std::int64_t kTileElements = 1024;
inline constexpr std::int64_t kTileLocks = 4096;

enum class GpuTransferKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kSend,
  kReceive,
};

// One rank's part of a collective or message. Counts as NCCL has them: of a gather what a rank
// sends, of a scatter what it receives, of the others all of it.
struct GpuTransfer {
  GpuTransferKind kind = GpuTransferKind::kAllReduce;
  GpuStream stream;
  GpuCommunicator communicator;
  const void* from = nullptr;
  void* into = nullptr;
  std::int64_t count = 0;
  WireType type = WireType::kFp32;
  int peer = 0;  // or root
};

// A rank of a communicator that is a GPU of this process.
struct GpuMember {
  int rank = 0;
  int device = 0;
};

// A kernel as CUPTI saw it, on the clock that host_ns is read from.
struct GpuKernelRecord {
  std::string kernel;
  int device = 0;
  std::uint64_t op = 0;  // what begin_op was told
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

class GpuRuntime {
 public:
  GpuRuntime() = default;
  GpuRuntime(const GpuRuntime&) = delete;
  GpuRuntime& operator=(const GpuRuntime&) = delete;
  virtual ~GpuRuntime() = default;

  // ---- devices
  [[nodiscard]] virtual int device_count() const = 0;
  [[nodiscard]] virtual GpuFacts facts(int device) const = 0;
  [[nodiscard]] virtual std::string versions()
      const = 0;  // "CUDA 13.0, cuBLAS 13.0.2, NCCL 2.28.9"
  // Whether a device may read and write the other's memory; it does from then on.
  virtual bool reach(int device, int other) = 0;

  // ---- memory
  virtual void* allocate(int device,
                         std::size_t bytes) = 0;  // zeros; nullptr: there is not so much
  virtual void free(int device, void* memory) = 0;
  virtual void* allocate_pinned(std::size_t bytes) = 0;  // of the host, zeros
  virtual void free_pinned(void* memory) = 0;
  // Returns when it is done.
  virtual void copy_now(void* into, const void* from, std::size_t bytes) = 0;

  // ---- streams and events
  virtual GpuStream make_stream(int device, bool is_urgent) = 0;
  virtual void destroy_stream(const GpuStream& stream) = 0;
  virtual GpuEvent make_event(int device) = 0;
  virtual void destroy_event(const GpuEvent& event) = 0;
  virtual void record(const GpuEvent& event, const GpuStream& stream) = 0;
  virtual void wait(const GpuStream& stream, const GpuEvent& event) = 0;
  virtual bool is_done(const GpuEvent& event) = 0;
  // Of two events of one device that are done.
  virtual double elapsed_ms(const GpuEvent& from, const GpuEvent& to) = 0;
  // What is enqueued until end_op belongs to an op; for tools that watch.
  virtual void begin_op(const GpuStream& stream, std::uint64_t op) = 0;
  virtual void end_op(const GpuStream& stream) = 0;

  // ---- what is enqueued; sizes are elements
  virtual void copy(const GpuStream& stream, void* into, const void* from, std::size_t bytes) = 0;
  virtual void copy_peer(const GpuStream& stream,
                         void* into,
                         int into_device,
                         const void* from,
                         std::size_t bytes) = 0;
  // On a thread of the library's, which may not use the GPU; called once.
  virtual void call(const GpuStream& stream, void (*function)(void*), void* argument) = 0;
  // Before the run: the stream will multiply.
  virtual void prepare_products(const GpuStream& stream) = 0;
  // Rounded operands are set down in `scratch`, of two bytes an element: m · k + k · n of them.
  virtual void multiply(const GpuStream& stream,
                        const MatrixProduct& product,
                        ProductMode mode,
                        void* scratch) = 0;
  virtual void fill(const GpuStream& stream, std::span<float> array, float value) = 0;
  virtual void spread_bias(const GpuStream& stream,
                           std::span<const float> bias,
                           std::int64_t rows,
                           float* output) = 0;
  virtual void sum_rows(const GpuStream& stream,
                        const float* from,
                        std::int64_t rows,
                        std::span<float> into,
                        bool accumulates) = 0;
  virtual void activate(const GpuStream& stream,
                        Activation kind,
                        std::span<const float> input,
                        std::span<float> output) = 0;
  virtual void activate_backward(const GpuStream& stream,
                                 Activation kind,
                                 std::span<const float> output,
                                 std::span<const float> output_gradient,
                                 std::span<float> input_gradient) = 0;
  virtual void losses(const GpuStream& stream, const LossRows& rows, double* into) = 0;
  virtual void loss_gradient(const GpuStream& stream, const LossRows& rows, float* gradient) = 0;
  virtual void update(const GpuStream& stream,
                      const UpdateNumbers& rule,
                      const UpdatedArrays& arrays,
                      const TileLocks& locks) = 0;
  virtual void add(const GpuStream& stream,
                   std::span<float> from,
                   std::span<float> into,
                   bool takes,
                   const TileLocks& locks) = 0;
  // A copy within a device, tile by tile; what is taken leaves 0 behind.
  virtual void take(const GpuStream& stream,
                    std::span<float> from,
                    std::span<float> into,
                    bool takes,
                    const TileLocks& locks) = 0;
  virtual void replace(const GpuStream& stream,
                       std::span<const float> from,
                       std::span<float> into) = 0;
  // To and from elements of two bytes.
  virtual void narrow(const GpuStream& stream,
                      std::span<const float> from,
                      WireType type,
                      void* into) = 0;
  virtual void widen(const GpuStream& stream,
                     const void* from,
                     WireType type,
                     std::span<float> into) = 0;
  // Remembers when it is reached, in memory of the device; and lets nothing pass before so much
  // time has gone by since.
  virtual void note_time(const GpuStream& stream, std::uint64_t* when) = 0;
  virtual void hold_until(const GpuStream& stream,
                          const std::uint64_t* when,
                          std::int64_t nanoseconds) = 0;

  // ---- communicators
  // Of GPUs of this process alone.
  virtual std::vector<GpuCommunicator> join_all(std::span<const int> devices) = 0;
  // Of several processes, which know the id of it from the one that made it.
  virtual std::string new_group_id() = 0;
  virtual std::vector<GpuCommunicator> join(const std::string& id,
                                            int ranks,
                                            std::span<const GpuMember> members) = 0;
  // Any thread: what has gone wrong with it meanwhile; "" when nothing has.
  virtual std::string trouble_of(const GpuCommunicator& communicator) = 0;
  virtual void leave(const GpuCommunicator& communicator) = 0;
  // Any thread: whatever waits in there gives up.
  virtual void abort(const GpuCommunicator& communicator) = 0;
  // Transfers between the two start together: those of one collective or message, of all GPUs here.
  virtual void begin_group() = 0;
  virtual void communicate(const GpuTransfer& transfer) = 0;
  virtual void end_group() = 0;
  // NCCL's own prediction (since 2.22); instead of end_group(), and nothing is done.
  [[nodiscard]] virtual bool has_estimates() const = 0;
  virtual double estimate_group_s() = 0;

  // ---- CUPTI
  // Why records cannot be had, or "" when they are collected from now on.
  virtual std::string collect_kernels() = 0;
  virtual std::vector<GpuKernelRecord> take_kernels() = 0;
};

}  // namespace twinrun::exec

// What the plugin exports: a runtime, or why there is none in `problem` (of that size). Returns the
// version of this header that it was built with; with another one, nothing was made.
extern "C" int twinrun_cuda_open(int version,
                                 twinrun::exec::GpuRuntime** runtime,
                                 char* problem,
                                 std::size_t problem_size);
