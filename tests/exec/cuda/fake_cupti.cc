// CUPTI as far as the plugin uses it, for tests: instead of what ran on a GPU it tells of one
// kernel for each op that was announced, a microsecond long, on device 0. Compiled against the real
// header, and found by the plugin under the library's own name.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <cupti.h>

namespace {

#if CUDA_VERSION >= 13000
using Kernel = CUpti_ActivityKernel10;
#elif CUDA_VERSION >= 12000
using Kernel = CUpti_ActivityKernel9;
#else
using Kernel = CUpti_ActivityKernel8;
#endif

constexpr std::uint64_t kAhead = 1'000'000'000;  // by so much the clock is not the host's

struct Pair {  // as they lie in a buffer
  CUpti_ActivityExternalCorrelation correlation;
  Kernel kernel;
};

struct Launch {
  std::uint64_t op;
  std::uint64_t at;
};

std::mutex mutex;
std::vector<Launch> launches;
CUpti_BuffersCallbackRequestFunc request_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc complete_buffer = nullptr;

std::uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return kAhead + static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

Pair told(const Launch& launch, std::uint32_t number) {
  Pair out;
  std::memset(&out, 0, sizeof out);
  out.correlation.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  out.correlation.externalId = launch.op;
  out.correlation.correlationId = number;
  out.kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  out.kernel.correlationId = number;
  out.kernel.deviceId = 0;
  out.kernel.name = launch.op % 2 == 0 ? "even" : "odd";
  out.kernel.start = launch.at;
  out.kernel.end = launch.at + 1000;
  return out;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  request_buffer = request;
  complete_buffer = complete;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }

CUptiResult CUPTIAPI cuptiGetTimestamp(std::uint64_t* time) {
  *time = now();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                            std::uint64_t op) {
  const std::lock_guard lock(mutex);
  launches.push_back({op, now()});
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                           std::uint64_t*) {
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(mutex);
  std::size_t next = 0;
  while (next < launches.size()) {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0;
    std::size_t most = 0;
    request_buffer(&buffer, &bytes, &most);
    std::size_t used = 0;
    for (; next < launches.size() && used + sizeof(Pair) <= bytes; ++next, used += sizeof(Pair)) {
      const Pair pair = told(launches[next], static_cast<std::uint32_t>(next + 1));
      std::memcpy(buffer + used, &pair, sizeof pair);
    }
    complete_buffer(nullptr, 0, buffer, bytes, used);
  }
  launches.clear();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer,
                                                std::size_t bytes,
                                                CUpti_Activity** record) {
  auto* const last = reinterpret_cast<std::uint8_t*>(*record);
  std::uint8_t* next = buffer;
  if (last != nullptr) {
    const std::size_t at = static_cast<std::size_t>(last - buffer) % sizeof(Pair);
    next = last + (at == 0 ? offsetof(Pair, kernel) : sizeof(Pair) - at);
  }
  if (next >= buffer + bytes) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

}  // extern "C"
