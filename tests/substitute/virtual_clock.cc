#include "tests/substitute/virtual_clock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "tests/substitute/communicators.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/streams.h"

namespace substitute {
namespace {

constexpr Picoseconds kMicrosecond = 1'000'000;

// As the README states: a machine that is easy to reckon with, not a model of any GPU.
Picoseconds default_cost(const Task& task) {
  const auto bytes = static_cast<Picoseconds>(task.bytes);
  switch (task.kind) {
    case TaskKind::kKernel:
      return 2 * kMicrosecond + static_cast<Picoseconds>(task.threads);
    case TaskKind::kGemm:
      return 2 * kMicrosecond + task.m * task.n * task.k / 50;
    case TaskKind::kCopy:
    case TaskKind::kFill:
      return 1 * kMicrosecond + bytes * 100;
    case TaskKind::kCollective:
    case TaskKind::kSend:
    case TaskKind::kReceive:
      return 5 * kMicrosecond + bytes * 100;
    case TaskKind::kHostFunction:
      break;
  }
  return 0;
}

struct Clock {
  std::atomic<bool> is_virtual = std::getenv("TWINRUN_SUBSTITUTE_VIRTUAL") != nullptr;
  std::atomic<bool> query_joins_host = false;
  std::atomic<std::uint64_t> epoch = 0;  // host threads of an older one are at 0
  std::mutex mutex;
  std::function<Picoseconds(const Task&)> cost;
  std::function<float(const std::vector<Task>&)> estimate;
};

Clock& clock_state() {
  static Clock& only = *new Clock;  // never destroyed: streams may outlive main
  return only;
}

struct HostTime {
  std::uint64_t epoch = 0;
  Picoseconds now = 0;
};

Picoseconds& host_now() {
  thread_local HostTime host;
  const std::uint64_t epoch = clock_state().epoch.load();
  if (host.epoch != epoch) {
    host = {epoch, 0};
  }
  return host.now;
}

}  // namespace

bool clock_is_virtual() { return clock_state().is_virtual.load(); }
bool query_joins_host() { return clock_state().query_joins_host.load(); }

Picoseconds real_time() {
  static const auto start = std::chrono::steady_clock::now();
  const auto passed = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count() * 1000;
}

Picoseconds cost_of(const Task& task) {
  if (!clock_is_virtual()) {
    return 0;
  }
  std::function<Picoseconds(const Task&)> cost;
  {
    const std::lock_guard lock(clock_state().mutex);
    cost = clock_state().cost;
  }
  const Visible visible;
  return cost ? cost(task) : default_cost(task);
}

float nccl_estimate(const std::vector<Task>& tasks) {
  std::function<float(const std::vector<Task>&)> estimate;
  {
    const std::lock_guard lock(clock_state().mutex);
    estimate = clock_state().estimate;
  }
  const Visible visible;
  const char* const asked = std::getenv("TWINRUN_SUBSTITUTE_ESTIMATE_US");
  const float otherwise = asked == nullptr ? 0.0F : std::strtof(asked, nullptr);
  return estimate ? estimate(tasks) : otherwise;
}

void join_host(Picoseconds time) { host_now() = std::max(host_now(), time); }

void forget_clock() {
  Clock& clock = clock_state();
  const std::lock_guard lock(clock.mutex);
  clock.is_virtual = std::getenv("TWINRUN_SUBSTITUTE_VIRTUAL") != nullptr;
  clock.query_joins_host = false;
  clock.cost = nullptr;
  clock.estimate = nullptr;
  ++clock.epoch;
}

void use_virtual_clock(bool is_on) {
  const Hidden hidden;
  streams().set_times_to_zero();
  communicators().set_times_to_zero();
  clock_state().is_virtual = is_on;
  ++clock_state().epoch;
}

void set_cost(std::function<Picoseconds(const Task&)> cost) {
  const Hidden hidden;
  const std::lock_guard lock(clock_state().mutex);
  clock_state().cost = std::move(cost);
}

void set_nccl_estimate(std::function<float(const std::vector<Task>&)> estimate) {
  const Hidden hidden;
  const std::lock_guard lock(clock_state().mutex);
  clock_state().estimate = std::move(estimate);
}

void set_query_joins_host(bool joins) {
  const Hidden hidden;
  clock_state().query_joins_host = joins;
}

Picoseconds host_time() {
  const Hidden hidden;
  return clock_is_virtual() ? host_now() : real_time();
}

void advance_host(Picoseconds duration) {
  const Hidden hidden;
  host_now() += duration;
}

}  // namespace substitute
