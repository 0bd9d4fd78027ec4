#include "tests/substitute/calls.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "tests/substitute/devices.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/substitute.h"

namespace substitute {
namespace {

struct Fault {
  std::string function;
  std::int64_t at_call;
  int code;
};

// As in the C libraries it stands for, what was called is the process's, not an object's.
struct Calls {
  std::mutex mutex;
  std::map<std::string, std::int64_t, std::less<>> counts;
  std::vector<Fault> faults;
  std::vector<Call> log;
  bool is_logging = false;
};

// "cudaMalloc:3:2,ncclSend:1:6" in TWINRUN_SUBSTITUTE_FAIL: for processes that a test starts.
std::vector<Fault> faults_of_environment() {
  std::vector<Fault> faults;
  const char* const asked = std::getenv("TWINRUN_SUBSTITUTE_FAIL");
  std::istringstream list(asked == nullptr ? "" : asked);
  for (std::string one; std::getline(list, one, ',');) {
    std::istringstream parts(one);
    Fault fault;
    char colon = 0;
    if (!std::getline(parts, fault.function, ':') ||
        !(parts >> fault.at_call >> colon >> fault.code)) {
      refuse("TWINRUN_SUBSTITUTE_FAIL has \"" + one + "\"; write function:nth:code.");
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

Calls& calls() {
  static Calls& all = [&]() -> Calls& {
    auto* const made = new Calls;
    made->faults = faults_of_environment();
    return *made;
  }();
  return all;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local int host_function_depth = 0;

}  // namespace

std::optional<int> begin_call(const CallNote& note) {
  Calls& all = calls();
  const std::lock_guard lock(all.mutex);
  const std::int64_t number = ++all.counts[note.function];
  if (all.is_logging) {
    all.log.push_back({note.function, note.stream, note.bytes});
  }
  const auto strikes = std::ranges::find_if(all.faults, [&](const Fault& fault) {
    return fault.at_call == number && fault.function == note.function;
  });
  if (strikes == all.faults.end()) {
    return std::nullopt;
  }
  const int code = strikes->code;
  all.faults.erase(strikes);
  return code;
}

cudaError_t standing_error() {
  if (host_function_depth > 0) {
    return cudaErrorNotPermitted;
  }
  return machine().standing_error(current_device());
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) {
    last_error = error;
  }
  return error;
}

InHostFunction::InHostFunction() { ++host_function_depth; }
InHostFunction::~InHostFunction() { --host_function_depth; }

void forget_calls() {
  Calls& all = calls();
  const std::lock_guard lock(all.mutex);
  all.counts.clear();
  all.faults.clear();
  all.log.clear();
  all.is_logging = false;
  last_error = cudaSuccess;
}

void fail_call(std::string function, std::int64_t nth, int code) {
  const Hidden hidden;
  Calls& all = calls();
  const std::lock_guard lock(all.mutex);
  const std::int64_t at_call = all.counts[function] + nth;
  all.faults.push_back({std::move(function), at_call, code});
}

std::int64_t calls_of(std::string_view function) {
  const Hidden hidden;
  Calls& all = calls();
  const std::lock_guard lock(all.mutex);
  const auto found = all.counts.find(function);
  return found == all.counts.end() ? 0 : found->second;
}

void start_log() {
  const Hidden hidden;
  Calls& all = calls();
  const std::lock_guard lock(all.mutex);
  all.is_logging = true;
  all.log.clear();
}

std::vector<Call> take_log() {
  const Hidden hidden;
  Calls& all = calls();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.log, {});
}

}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's
cudaError_t cudaGetLastError() {
  const substitute::Hidden hidden;
  if (const auto fault = substitute::begin_call({"cudaGetLastError"})) {
    return static_cast<cudaError_t>(*fault);
  }
  return std::exchange(substitute::last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  const substitute::Hidden hidden;
  return substitute::last_error;
}
// NOLINTEND(readability-*)
