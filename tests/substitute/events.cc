#include "tests/substitute/events.h"

#include <utility>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/streams.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {

void Record::complete(Picoseconds time) {
  happens_before(this);
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  time_ = time;
  completed_.notify_all();
}

Picoseconds Record::wait() {
  Picoseconds time = 0;
  {
    std::unique_lock lock(mutex_);
    completed_.wait(lock, [&] { return is_complete_; });
    time = time_;
  }
  happens_after(this);
  return time;
}

bool Record::is_complete() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_complete_) {
      return false;
    }
  }
  happens_after(this);
  return true;
}

Picoseconds Record::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

cudaEvent_t Events::create(int device, unsigned flags) {
  auto event = std::make_shared<CUevent_st>();
  const cudaEvent_t handle = event.get();
  const std::lock_guard lock(mutex_);
  event->device = device;
  event->flags = flags;
  event->id = next_id_++;
  live_[handle] = std::move(event);
  return handle;
}

void Events::destroy(cudaEvent_t event, std::string_view function) {
  static_cast<void>(get(event, function));
  const std::lock_guard lock(mutex_);
  live_.erase(event);
}

Event Events::get(cudaEvent_t event, std::string_view function) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(event);
  if (found == live_.end()) {
    refuse(std::string(function) + " was called for " + address_text(event) +
           ", which is no event (any more).");
  }
  return *found->second;
}

std::shared_ptr<Record> Events::new_record(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  auto& last = live_.at(event)->last;
  last = std::make_shared<Record>();
  return last;
}

bool Events::count_wait() {
  const std::lock_guard lock(mutex_);
  return ++waits_ != dropped_wait_;
}

void Events::drop_wait(std::int64_t nth) {
  const std::lock_guard lock(mutex_);
  dropped_wait_ = nth;
}

std::int64_t Events::waits() {
  const std::lock_guard lock(mutex_);
  return waits_;
}

std::vector<std::string> Events::leaks() {
  const std::lock_guard lock(mutex_);
  std::map<std::uint64_t, std::string> by_id;
  for (const auto& [handle, event] : live_) {
    by_id[event->id] =
        "event " + std::to_string(event->id) + " of device " + std::to_string(event->device);
  }
  std::vector<std::string> lines;
  lines.reserve(by_id.size());
  for (auto& [id, line] : by_id) {
    lines.push_back(std::move(line));
  }
  return lines;
}

void Events::end_all() {
  const std::lock_guard lock(mutex_);
  live_.clear();
  waits_ = 0;
  dropped_wait_ = 0;
}

Events& events() {
  static Events& only = *new Events;  // never destroyed: streams may outlive main
  return only;
}

std::int64_t waits() {
  const Hidden hidden;
  return events().waits();
}

void drop_wait(std::int64_t nth) {
  const Hidden hidden;
  events().drop_wait(nth);
}

Picoseconds event_time(cudaEvent_t event) {
  const Hidden hidden;
  const auto last = events().get(event, "event_time").last;
  if (last == nullptr || !last->is_complete()) {
    refuse("event_time was called for an event that was not recorded or is not complete.");
  }
  return last->time();
}

}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return substitute::cuda_call({"cudaEventCreateWithFlags"}, [&] {
    if ((flags & ~static_cast<unsigned>(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) {
      return cudaErrorInvalidValue;
    }
    *event = substitute::events().create(substitute::current_device(), flags);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return substitute::cuda_call({"cudaEventCreate"}, [&] {
    *event = substitute::events().create(substitute::current_device(), cudaEventDefault);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return substitute::cuda_call({"cudaEventDestroy"}, [&] {
    substitute::events().destroy(event, "cudaEventDestroy");
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return substitute::cuda_call({"cudaEventRecord", stream}, [&] {
    const auto queue = substitute::streams().get(stream, "cudaEventRecord");
    if (substitute::events().get(event, "cudaEventRecord").device != queue->device) {
      return cudaErrorInvalidResourceHandle;
    }
    queue->push(
        0, [record = substitute::events().new_record(event)](const substitute::Picoseconds& now) {
          record->complete(substitute::clock_is_virtual() ? now : substitute::real_time());
        });
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return substitute::cuda_call({"cudaStreamWaitEvent", stream}, [&] {
    if (flags != 0) {
      return cudaErrorInvalidValue;
    }
    const auto queue = substitute::streams().get(stream, "cudaStreamWaitEvent");
    const auto last = substitute::events().get(event, "cudaStreamWaitEvent").last;
    if (last != nullptr && substitute::events().count_wait()) {
      queue->push(0, [last](substitute::Picoseconds& now) { now = std::max(now, last->wait()); });
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return substitute::cuda_call({"cudaEventSynchronize"}, [&] {
    const auto known = substitute::events().get(event, "cudaEventSynchronize");
    if (known.last != nullptr) {
      substitute::join_host(known.last->wait());
    }
    return substitute::machine().standing_error(known.device);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return substitute::cuda_call({"cudaEventQuery"}, [&] {
    const auto known = substitute::events().get(event, "cudaEventQuery");
    if (const cudaError_t error = substitute::machine().standing_error(known.device);
        error != cudaSuccess) {
      return error;
    }
    if (known.last == nullptr) {
      return cudaSuccess;
    }
    if (!known.last->is_complete()) {
      return cudaErrorNotReady;
    }
    if (substitute::query_joins_host()) {
      substitute::join_host(known.last->time());
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return substitute::cuda_call({"cudaEventElapsedTime"}, [&] {
    const auto first = substitute::events().get(start, "cudaEventElapsedTime");
    const auto last = substitute::events().get(end, "cudaEventElapsedTime");
    const bool fit = first.device == last.device && first.has_timing() && last.has_timing();
    if (!fit || first.last == nullptr || last.last == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!first.last->is_complete() || !last.last->is_complete()) {
      return cudaErrorNotReady;
    }
    const substitute::Picoseconds passed = last.last->time() - first.last->time();
    *milliseconds = static_cast<float>(static_cast<double>(passed) / 1e9);
    return cudaSuccess;
  });
}
// NOLINTEND(readability-*)
