#include "tests/substitute/kernels.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <cxxabi.h>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/streams.h"

namespace substitute {
namespace {

struct KernelBody {
  std::vector<std::size_t> argument_bytes;
  RawKernelBody run;
};

// A fault that strikes one launch; 0 is none.
struct LaunchFaults {
  std::int64_t breaks_at = 0;
  cudaError_t broken_by = cudaSuccess;
  std::int64_t hangs_at = 0;
  std::string hung_kernel;
};

struct Kernels {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<const void*, std::string> names;  // by the address of the host's stub
  std::map<std::string, std::shared_ptr<const KernelBody>, std::less<>> bodies;
  LaunchFaults faults;
  std::uint64_t releases = 0;  // of hung kernels
};

// Filled by constructors of objects that nvcc compiled, before main.
Kernels& kernels() {
  static Kernels& only = *new Kernels;
  return only;
}

struct PushedConfiguration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<PushedConfiguration> pushed_configurations;

std::string readable(const std::string& mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  return name;
}

struct Found {
  std::string name;
  std::shared_ptr<const KernelBody> body;
};

std::optional<Found> find_kernel(const void* stub) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  const auto name = all.names.find(stub);
  if (name == all.names.end()) {
    return std::nullopt;
  }
  auto body = all.bodies.find(name->second);
  if (body == all.bodies.end()) {
    body = all.bodies.find(readable(name->second));
  }
  if (body == all.bodies.end()) {
    return std::nullopt;
  }
  return Found{name->second, body->second};
}

struct LaunchFault {
  cudaError_t breaks_device = cudaSuccess;
  bool hangs = false;
};

LaunchFault fault_of_launch(const std::string& kernel) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  LaunchFault fault;
  LaunchFaults& planned = all.faults;
  if (planned.breaks_at > 0 && --planned.breaks_at == 0) {
    fault.breaks_device = planned.broken_by;
  }
  const bool is_meant = planned.hung_kernel.empty() || planned.hung_kernel == kernel ||
                        planned.hung_kernel == readable(kernel);
  if (is_meant && planned.hangs_at > 0 && --planned.hangs_at == 0) {
    fault.hangs = true;
  }
  return fault;
}

void hang() {
  Kernels& all = kernels();
  std::unique_lock lock(all.mutex);
  const std::uint64_t before = all.releases;
  all.changed.wait(lock, [&] { return all.releases != before; });
}

// The arguments live on the caller's stack, so they are copied before the launch returns.
class CopiedArguments {
 public:
  CopiedArguments(const std::vector<std::size_t>& sizes, void** arguments) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto* const from = static_cast<const std::byte*>(arguments[i]);
      // Rounded up, so that every argument is aligned for any type.
      auto& copy = copies_.emplace_back((sizes[i] + sizeof(Aligned) - 1) / sizeof(Aligned));
      std::memcpy(copy.data(), from, sizes[i]);
    }
    for (auto& copy : copies_) {
      pointers_.push_back(copy.data());
    }
  }
  [[nodiscard]] void** pointers() { return pointers_.data(); }

 private:
  struct alignas(16) Aligned {
    std::byte bytes[16];
  };
  std::vector<std::vector<Aligned>> copies_;
  std::vector<void*> pointers_;
};

bool can_be_launched(dim3 grid, dim3 block) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && threads > 0 && threads <= 1024 &&
         block.z <= 64 && grid.x <= 2147483647U && grid.y <= 65535 && grid.z <= 65535;
}

cudaError_t launch(const void* stub, const PushedConfiguration& configuration, void** arguments) {
  const auto queue = streams().get(configuration.stream, "a kernel launch");
  const auto kernel = find_kernel(stub);
  if (!kernel) {
    return cudaErrorInvalidDeviceFunction;
  }
  if (!can_be_launched(configuration.grid, configuration.block)) {
    return cudaErrorInvalidConfiguration;
  }
  if (queue->device != current_device()) {
    return cudaErrorInvalidResourceHandle;
  }
  const dim3 grid = configuration.grid;
  const dim3 block = configuration.block;
  const auto blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const Task task{.kind = TaskKind::kKernel,
                  .name = kernel->name,
                  .device = queue->device,
                  .threads = blocks * block.x * block.y * block.z};
  const auto copied = std::make_shared<CopiedArguments>(kernel->body->argument_bytes, arguments);
  const LaunchFault fault = fault_of_launch(kernel->name);
  enqueue(*queue, task,
          [kernel = *kernel, configuration, copied, fault, device = queue->device](Picoseconds&) {
            if (fault.hangs) {
              hang();
            }
            const Launch seen(kernel.name, device, configuration.grid, configuration.block,
                              configuration.shared_bytes);
            {
              const Visible visible;
              kernel.body->run(seen, copied->pointers());
            }
            if (fault.breaks_device != cudaSuccess) {
              machine().break_device(device, fault.breaks_device);
            }
          });
  return cudaSuccess;
}

}  // namespace

struct Launch::Kept {
  std::vector<Bytes> bytes;
};

Launch::Launch(std::string_view its_kernel,
               int its_device,
               dim3 its_grid,
               dim3 its_block,
               std::size_t its_shared_bytes)
    : kernel(its_kernel),
      device(its_device),
      grid(its_grid),
      block(its_block),
      shared_bytes(its_shared_bytes),
      kept_(std::make_unique<Kept>()) {}

Launch::~Launch() = default;

void* Launch::where(void* pointer, std::size_t bytes) const {
  const Hidden hidden;
  if (pointer == nullptr) {
    return nullptr;
  }
  const std::string what = "the kernel " + readable(std::string(kernel));
  kept_->bytes.push_back(
      device_memory().access(pointer, std::max<std::size_t>(bytes, 1), {what, device, true}));
  return kept_->bytes.back().data;
}

void add_raw_kernel(std::string name, std::vector<std::size_t> argument_bytes, RawKernelBody body) {
  const Hidden hidden;
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  all.bodies[std::move(name)] =
      std::make_shared<const KernelBody>(KernelBody{std::move(argument_bytes), std::move(body)});
}

void break_device_at_kernel(std::int64_t nth, cudaError_t code) {
  const Hidden hidden;
  const std::lock_guard lock(kernels().mutex);
  kernels().faults.breaks_at = nth;
  kernels().faults.broken_by = code;
}

void hang_kernel(std::string name, std::int64_t nth) {
  const Hidden hidden;
  const std::lock_guard lock(kernels().mutex);
  kernels().faults.hangs_at = nth;
  kernels().faults.hung_kernel = std::move(name);
}

void release_hung_kernels() {
  const Hidden hidden;
  const std::lock_guard lock(kernels().mutex);
  ++kernels().releases;
  kernels().changed.notify_all();
}

void forget_kernel_faults() {
  release_hung_kernels();
  const std::lock_guard lock(kernels().mutex);
  kernels().faults = {};
}

}  // namespace substitute

// NOLINTBEGIN(readability-*,bugprone-reserved-identifier): the names are CUDA's
cudaError_t cudaLaunchKernel(const void* stub,
                             dim3 grid,
                             dim3 block,
                             void** arguments,
                             std::size_t shared_bytes,
                             cudaStream_t stream) {
  return substitute::cuda_call({"cudaLaunchKernel", stream}, [&] {
    return substitute::launch(stub, {grid, block, shared_bytes, stream}, arguments);
  });
}

#if CUDART_VERSION >= 12000
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration,
                                const void* stub,
                                void** arguments) {
  return substitute::cuda_call({"cudaLaunchKernelExC", configuration->stream}, [&] {
    return substitute::launch(stub,
                              {configuration->gridDim, configuration->blockDim,
                               configuration->dynamicSmemBytes, configuration->stream},
                              arguments);
  });
}
#endif

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* stub) {
  return substitute::cuda_call({"cudaFuncGetAttributes"}, [&] {
    if (!substitute::find_kernel(stub)) {
      return cudaErrorInvalidDeviceFunction;
    }
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
  });
}

// What nvcc writes into every object with substitute::kernels. CUDA 11 and 12 launch through
// cudaLaunchKernel, 13 through a handle that __cudaGetKernel gives: ours is the stub's address.
extern "C" {
void** __cudaRegisterFatBinary(void* image) {
  const substitute::Hidden hidden;
  return new void*(image);
}

void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void __cudaUnregisterFatBinary(void** handle) {
  const substitute::Hidden hidden;
  delete handle;
}

char __cudaInitModule(void** /*handle*/) { return 1; }

void __cudaRegisterFunction(void** /*handle*/,
                            const char* stub,
                            char* /*device_stub*/,
                            const char* name,
                            int /*thread_limit*/,
                            uint3* /*thread*/,
                            uint3* /*block*/,
                            dim3* /*block_dim*/,
                            dim3* /*grid_dim*/,
                            int* /*warp_size*/) {
  const substitute::Hidden hidden;
  const std::lock_guard lock(substitute::kernels().mutex);
  substitute::kernels().names[stub] = name;
}

// Variables of the device can be there, but not copied to or from: no call for that is offered.
void __cudaRegisterVar(void** /*handle*/,
                       char* /*host*/,
                       char* /*device*/,
                       const char* /*name*/,
                       int /*is_external*/,
                       std::size_t /*bytes*/,
                       int /*is_constant*/,
                       int /*is_global*/) {}

unsigned __cudaPushCallConfiguration(dim3 grid,
                                     dim3 block,
                                     std::size_t shared_bytes,
                                     cudaStream_t stream) {
  substitute::pushed_configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid,
                                       dim3* block,
                                       std::size_t* shared_bytes,
                                       void* stream) {
  if (substitute::pushed_configurations.empty()) {
    return cudaErrorInvalidConfiguration;
  }
  const auto last = substitute::pushed_configurations.back();
  substitute::pushed_configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

#if CUDART_VERSION >= 12000
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel,
                               dim3 grid,
                               dim3 block,
                               void** arguments,
                               std::size_t shared_bytes,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
#endif
}
// NOLINTEND(readability-*,bugprone-reserved-identifier)
