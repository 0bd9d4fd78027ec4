#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/base/units.h"
#include "exec/cuda/gpu_runtime.h"

namespace twinrun::exec {

// When events were, on the host's clock. Events only tell how long after another one of the same
// device they were, in milliseconds of single precision; so each device has a base event whose time
// the host knows, and a new one before the old is so far away that microseconds would be lost.
class EventClock {
 public:
  using HostClock = std::function<Time()>;

  EventClock(GpuRuntime& runtime, HostClock now) : runtime_(runtime), now_(std::move(now)) {}
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;
  ~EventClock();

  // Streams of their own for the base events; before the run.
  void add_device(int device);
  // Before anything else is enqueued.
  void start();
  // Which base counts for what is enqueued now; renews those that are old.
  std::uint32_t base();
  [[nodiscard]] Time time_of(const GpuEvent& event, std::uint32_t base);

 private:
  struct Base {
    GpuEvent event;
    Time at{};
  };
  struct Device {
    GpuStream stream;
    std::vector<Base> bases;
  };
  Base record_base(const Device& device);

  GpuRuntime& runtime_;
  HostClock now_;
  std::map<int, Device> devices_;
  std::uint32_t newest_ = 0;
  Time renewed_{};
};

}  // namespace twinrun::exec
