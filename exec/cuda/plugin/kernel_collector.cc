#include "exec/cuda/plugin/kernel_collector.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include <dlfcn.h>

#if __has_include(<cupti.h>)
#include <cupti.h>
#define TWINRUN_HAS_CUPTI 1
#endif

namespace twinrun::exec::gpu {

#if defined(TWINRUN_HAS_CUPTI)
namespace {

#if CUDA_VERSION >= 13000
using KernelActivity = CUpti_ActivityKernel10;
#elif CUDA_VERSION >= 12000
using KernelActivity = CUpti_ActivityKernel9;
#else
using KernelActivity = CUpti_ActivityKernel8;
#endif

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 8;
constexpr CUpti_ExternalCorrelationKind kOps = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

struct Functions {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop = nullptr;
  decltype(&cuptiGetTimestamp) timestamp = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Functions& out) {
  return find(library, "cuptiActivityRegisterCallbacks", out.register_callbacks) &&
         find(library, "cuptiActivityEnable", out.enable) &&
         find(library, "cuptiActivityDisable", out.disable) &&
         find(library, "cuptiActivityFlushAll", out.flush) &&
         find(library, "cuptiActivityGetNextRecord", out.next) &&
         find(library, "cuptiActivityPushExternalCorrelationId", out.push) &&
         find(library, "cuptiActivityPopExternalCorrelationId", out.pop) &&
         find(library, "cuptiGetTimestamp", out.timestamp);
}

void* open_library() {
  const std::string major = "libcupti.so." + std::to_string(CUDA_VERSION / 1000);
  const std::string minor = major + "." + std::to_string(CUDA_VERSION % 1000 / 10);  // of 11
  for (const std::string& name : {major, minor, std::string("libcupti.so")}) {
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return library;
    }
  }
  return nullptr;
}

// What CUPTI hands over, on threads of its own. Its callbacks carry nothing of ours, so there is
// one for all.
class Records {
 public:
  static Records& the() {
    static Records records;
    return records;
  }

  void use(const Functions& functions, std::int64_t ahead_ns) {
    const std::lock_guard lock(mutex_);
    functions_ = functions;
    ahead_ns_ = ahead_ns;
    kernels_.clear();
    op_of_.clear();
  }

  void take_in(std::uint8_t* buffer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    CUpti_Activity* record = nullptr;
    while (functions_.next(buffer, bytes, &record) == CUPTI_SUCCESS) {
      if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
        const auto& found = *reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
        op_of_[found.correlationId] = found.externalId;
      } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const auto& kernel = *reinterpret_cast<const KernelActivity*>(record);
        kernels_.emplace_back(kernel.correlationId,
                              GpuKernelRecord{kernel.name == nullptr ? "" : kernel.name,
                                              static_cast<int>(kernel.deviceId), 0,
                                              static_cast<std::int64_t>(kernel.start) - ahead_ns_,
                                              static_cast<std::int64_t>(kernel.end) - ahead_ns_});
      }
    }
  }

  std::vector<GpuKernelRecord> take() {
    const std::lock_guard lock(mutex_);
    std::vector<GpuKernelRecord> out;
    for (auto& [correlation, kernel] : kernels_) {
      const auto found = op_of_.find(correlation);
      if (found != op_of_.end()) {  // others are not of an op
        kernel.op = found->second;
        out.push_back(std::move(kernel));
      }
    }
    kernels_.clear();
    return out;
  }

 private:
  std::mutex mutex_;
  Functions functions_;
  std::int64_t ahead_ns_ = 0;  // by how much CUPTI's clock is ahead of the steady one
  std::vector<std::pair<std::uint32_t, GpuKernelRecord>> kernels_;
  std::map<std::uint32_t, std::uint64_t> op_of_;  // by correlation
};

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI take_buffer(CUcontext /*context*/,
                          std::uint32_t /*stream*/,
                          std::uint8_t* buffer,
                          std::size_t /*bytes*/,
                          std::size_t valid_bytes) {
  Records::the().take_in(buffer, valid_bytes);
  std::free(buffer);
}

class CuptiCollector : public KernelCollector {
 public:
  explicit CuptiCollector(const Functions& functions) : functions_(functions) {}
  ~CuptiCollector() override {
    functions_.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    functions_.disable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    functions_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }

  void begin_op(std::uint64_t op) override { functions_.push(kOps, op); }
  void end_op() override { functions_.pop(kOps, nullptr); }
  std::vector<GpuKernelRecord> take() override {
    functions_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return Records::the().take();
  }

 private:
  Functions functions_;
};

// By how much CUPTI's clock is ahead, from the quicker of some readings.
std::int64_t clock_ahead_ns(const Functions& functions) {
  std::int64_t best_width = INT64_MAX;
  std::int64_t ahead = 0;
  const auto steady_ns = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  for (int i = 0; i < 16; ++i) {
    const std::int64_t before = steady_ns();
    std::uint64_t theirs = 0;
    functions.timestamp(&theirs);
    const std::int64_t after = steady_ns();
    if (after - before < best_width) {
      best_width = after - before;
      ahead = static_cast<std::int64_t>(theirs) - (before + after) / 2;
    }
  }
  return ahead;
}

}  // namespace

std::unique_ptr<KernelCollector> KernelCollector::start(std::string& problem) {
  void* const library = open_library();
  Functions functions;
  if (library == nullptr || !find_all(library, functions)) {
    problem = "libcupti.so of the CUDA toolkit is not on the library path";
    return nullptr;
  }
  Records::the().use(functions, clock_ahead_ns(functions));
  const std::array codes = {functions.register_callbacks(give_buffer, take_buffer),
                            functions.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                            functions.enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)};
  for (const CUptiResult code : codes) {
    if (code != CUPTI_SUCCESS) {
      problem = "CUPTI refuses to record kernels (code " + std::to_string(code) +
                "): another profiler may be attached";
      return nullptr;
    }
  }
  problem.clear();
  return std::make_unique<CuptiCollector>(functions);
}

#else

std::unique_ptr<KernelCollector> KernelCollector::start(std::string& problem) {
  problem = "the backend was built without CUPTI's header";
  return nullptr;
}

#endif

}  // namespace twinrun::exec::gpu
