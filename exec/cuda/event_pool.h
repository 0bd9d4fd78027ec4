#pragma once

#include <exception>
#include <map>
#include <vector>

#include "exec/cuda/gpu_runtime.h"

namespace twinrun::exec {

// Events that are used again. A stream that waits for an event waits for what was recorded when it
// was told to, so an event may be given back as soon as everybody has been told.
class EventPool {
 public:
  explicit EventPool(GpuRuntime& runtime) : runtime_(runtime) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  ~EventPool() {
    for (const GpuEvent& event : made_) {
      try {
        runtime_.destroy_event(event);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nobody to be told
      }
    }
  }

  // Recorded on the stream, at once.
  GpuEvent record(const GpuStream& stream) {
    std::vector<GpuEvent>& free = free_[stream.device];
    if (free.empty()) {
      free.push_back(runtime_.make_event(stream.device));
      made_.push_back(free.back());
    }
    const GpuEvent event = free.back();
    free.pop_back();
    runtime_.record(event, stream);
    return event;
  }
  void give_back(const GpuEvent& event) { free_[event.device].push_back(event); }

 private:
  GpuRuntime& runtime_;
  std::vector<GpuEvent> made_;
  std::map<int, std::vector<GpuEvent>> free_;  // by device
};

}  // namespace twinrun::exec
