#pragma once

// What tests say to the substitute beyond the calls of CUDA, cuBLAS and NCCL; README.md tells the
// whole. Link gpu_substitute instead of the three libraries.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

namespace substitute {

using Picoseconds = std::int64_t;

// Everything as at the start: default machine, no faults, real clock, empty log; whatever was
// leaked or hangs is ended. Kernel bodies stay. Not while another thread is inside a call.
void reset();

// ---- the machine ----

struct Device {
  std::string name = "Substitute A100";
  int major = 8;
  int minor = 0;
  int multiprocessors = 108;
  std::size_t memory_bytes = std::size_t{1} << 30;
  std::string pci_bus_id;  // "" makes one from the device's number
};

enum class Driver {
  kPresent,
  kMissing,  // cudaErrorInsufficientDriver, driver version 0
  kTooOld,   // cudaErrorInsufficientDriver, an old driver's version
  kStub,     // cudaErrorStubLibrary
};

// Two devices with peer access at the start, or as many as TWINRUN_SUBSTITUTE_DEVICES says. No
// devices: cudaErrorNoDevice.
void set_devices(std::vector<Device> devices);
void set_device_count(int count);
void set_driver(Driver driver);
// Whether `device` may be given access to the memory of `peer`; all may at the start.
void set_peer_access_possible(int device, int peer, bool is_possible);

// ---- kernels: what runs on the CPU in the place of the GPU's code ----

// One launch, as its body sees it. Pointer arguments are device pointers: translate() them.
class Launch {
 public:
  struct Thread {
    dim3 block_index;
    dim3 thread_index;
    std::uint64_t index = 0;  // blockIdx.x * blockDim.x + threadIdx.x
    std::uint64_t count = 0;  // gridDim.x * blockDim.x: the stride of a grid-stride loop
  };

  Launch(std::string_view kernel, int device, dim3 grid, dim3 block, std::size_t shared_bytes);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // Where `count` elements behind a device pointer (or a pinned one) lie; aborts with a sentence
  // when not all of them are in one live allocation that the launching device may access.
  template <class T>
  [[nodiscard]] T* translate(T* pointer, std::size_t count) const {
    using Plain = std::remove_cv_t<T>;
    auto* const from = const_cast<Plain*>(pointer);
    return static_cast<T*>(where(from, count * sizeof(T)));
  }
  // As translate(), for bodies that do not know the count: from here to the allocation's end.
  template <class T>
  [[nodiscard]] T* translate(T* pointer) const {
    return translate(pointer, 0);
  }

  // Calls body(thread) for every thread, one after another, blocks and threads in the order of
  // their numbers.
  template <class Body>
  void each_thread(Body&& body) const {
    for (unsigned bz = 0; bz < grid.z; ++bz) {
      for (unsigned by = 0; by < grid.y; ++by) {
        for (unsigned bx = 0; bx < grid.x; ++bx) {
          each_thread_of({bx, by, bz}, body);
        }
      }
    }
  }

  const std::string_view kernel;
  const int device;
  const dim3 grid;
  const dim3 block;
  const std::size_t shared_bytes;

 private:
  struct Kept;

  [[nodiscard]] void* where(void* pointer, std::size_t bytes) const;
  template <class Body>
  void each_thread_of(dim3 block_index, Body& body) const {
    const std::uint64_t count = std::uint64_t{grid.x} * block.x;
    const std::uint64_t first = std::uint64_t{block_index.x} * block.x;
    for (unsigned z = 0; z < block.z; ++z) {
      for (unsigned y = 0; y < block.y; ++y) {
        for (unsigned x = 0; x < block.x; ++x) {
          body(Thread{block_index, {x, y, z}, first + x, count});
        }
      }
    }
  }

  std::unique_ptr<Kept> kept_;  // allocations that live until the launch has ended
};

using RawKernelBody = std::function<void(const Launch&, void** arguments)>;

// name: as the compiler writes it ("_Z4fillPffi") or as people do ("fill(float*, float, int)"). A
// kernel without a body cannot be launched: cudaErrorInvalidDeviceFunction. A second body replaces
// the first.
void add_raw_kernel(std::string name, std::vector<std::size_t> argument_bytes, RawKernelBody body);

template <class... Arguments, std::size_t... Index>
void add_kernel_with(std::string name,
                     std::function<void(const Launch&, Arguments...)> body,
                     std::index_sequence<Index...>) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...));
  add_raw_kernel(std::move(name), {sizeof(Arguments)...},
                 [body = std::move(body)](const Launch& launch, [[maybe_unused]] void** arguments) {
                   body(launch, *static_cast<Arguments*>(arguments[Index])...);
                 });
}

template <class... Arguments>
void add_typed_kernel(std::string name, std::function<void(const Launch&, Arguments...)> body) {
  add_kernel_with(std::move(name), std::move(body), std::index_sequence_for<Arguments...>{});
}

// add_kernel("fill(float*, float, int)", [](const Launch& launch, float* to, float value, int
// count) {…}): the body takes what the kernel takes, in the same types.
template <class Body>
void add_kernel(std::string name, Body body) {
  add_typed_kernel(std::move(name), std::function{std::move(body)});
}

// ---- the virtual clock ----

enum class TaskKind { kKernel, kCopy, kFill, kGemm, kCollective, kSend, kReceive, kHostFunction };

// What was enqueued, for a function that says what it costs.
struct Task {
  TaskKind kind = TaskKind::kKernel;
  std::string_view
      name;        // the kernel's mangled name, or the call: "cudaMemcpyAsync", "ncclAllReduce"
  int device = 0;  // whose stream
  int from_device = -1;  // of a copy; -1 is the host
  int to_device = -1;    //
  std::size_t bytes =
      0;  // copied, filled; of a collective what NCCL counts: the larger of both buffers
  std::int64_t m = 0, n = 0, k = 0;  // of a product
  std::uint64_t threads = 0;         // of a kernel
  int ranks = 0;                     // of a collective
};

// On: times are modelled, and the same in every run. Resets all clocks to 0; only while nothing is
// enqueued.
void use_virtual_clock(bool is_on);
// What a task costs on the virtual clock; nullptr: the costs that README.md states.
void set_cost(std::function<Picoseconds(const Task&)> cost);
// All that is enqueued on the stream in between costs exactly so much, at its end. Not to be
// nested.
void begin_charge(cudaStream_t stream, Picoseconds cost);
void end_charge(cudaStream_t stream);
// Whether a successful cudaEventQuery or cudaStreamQuery moves this thread's clock as synchronising
// does. Off at the start: whoever polls many events would find them done in another order each
// time.
void set_query_joins_host(bool joins);

// Exact times; of an event that was recorded and is complete.
[[nodiscard]] Picoseconds event_time(cudaEvent_t event);
[[nodiscard]] Picoseconds stream_time(
    cudaStream_t stream);                 // when all that it finished so far was over
[[nodiscard]] Picoseconds host_time();    // of the calling thread
void advance_host(Picoseconds duration);  // the calling thread computes so long

// What ncclGroupSimulateEnd estimates, in microseconds as there; each task of the group is passed.
// nullptr: 0, or what TWINRUN_SUBSTITUTE_ESTIMATE_US says.
void set_nccl_estimate(std::function<float(const std::vector<Task>&)> estimate);

// ---- faults ----

// The nth call of the function from now on (1 is the next) does nothing but return the code.
void fail_call(std::string function, std::int64_t nth, int code);
// The nth kernel launch from now on runs, and then the device is broken: every later call for it
// returns the code, as after an illegal access on a GPU.
void break_device_at_kernel(std::int64_t nth, cudaError_t code);
// Cuts the communicator off as a failed network does: its async error is set, what is pending stays
// so.
void fail_communicator(ncclComm_t communicator, ncclResult_t code);
// Nothing that is enqueued starts until resume.
void stall(cudaStream_t stream);
void resume(cudaStream_t stream);
// The nth launch from now on of the kernel ("" is any) never ends, or only at release_hung_kernels
// or reset.
void hang_kernel(std::string name, std::int64_t nth);
void release_hung_kernels();

// cudaStreamWaitEvent that had something to wait for, since the start or the last reset; and the
// one to ignore (1 is the first since then).
[[nodiscard]] std::int64_t waits();
void drop_wait(std::int64_t nth);

// How long creating a communicator waits for the other ranks; then ncclSystemError with the missing
// ones.
void set_nccl_init_timeout_seconds(double seconds);
// As the real one: an aborted communicator frees its own rank only. Off at the start: all ranks are
// freed, and the others have the async error ncclRemoteError.
void set_nccl_abort_is_local(bool is_local);

// ---- what is left, what was called ----

// A line for everything that lives: streams, events, memory, pinned memory, handles, communicators,
// peer access.
[[nodiscard]] std::vector<std::string> leaks();

struct Call {
  std::string function;
  cudaStream_t stream = nullptr;
  std::size_t bytes = 0;
};
// Calls since the start or the last reset, with or without a log.
[[nodiscard]] std::int64_t calls_of(std::string_view function);
void start_log();
[[nodiscard]] std::vector<Call> take_log();

}  // namespace substitute
