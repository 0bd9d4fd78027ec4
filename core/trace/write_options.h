#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"

namespace twinrun {

// Takes the next piece of a file, about 64 KB.
using TraceSink = std::function<void(std::string_view)>;

// What of a trace goes into a file. chrome://tracing and TensorBoard fail near 500 MB, the browser
// build of Perfetto at 2 GB of memory, which is a file a third of that: hence the cap.
struct TraceWriteOptions {
  std::vector<DeviceId> ranks = {};       // empty: all
  std::vector<std::int64_t> steps = {};   // N of ids "stepN/…"; empty: all. Ops of no step stay
  std::int64_t most_bytes = 200'000'000;  // of one file; the earliest ops are kept
  std::vector<std::string> device_models = {};  // by DeviceId, "a100"; empty when not known
};

// What became of the ops of a plan, or of one rank of it.
struct TraceWriteCounts {
  std::int64_t written = 0;
  std::int64_t beyond_cap = 0;  // the file was full
  std::int64_t not_chosen = 0;  // another rank or step
  std::int64_t not_run = 0;     // never started
  std::int64_t links_beyond_cap = 0;
  std::int64_t bytes = 0;  // of the file
  bool operator==(const TraceWriteCounts&) const = default;
};

}  // namespace twinrun
