#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "sim/memory_meter.h"

namespace twinrun::sim {

// Keeps a meter on a thread of its own. What an op takes and gives back decides nothing in a run,
// but looking it up is a sixth of a large one: here it costs the run one line in a list. The meter
// sees the same events in the same order, so the peaks are the same to the byte.
//
//   run:    [filling] ──full──> [handed] ──taken──> [applied]   :thread
class MemoryThread {
 public:
  // The meter must outlive this, and is not to be asked before finish(). Throws std::system_error
  // where no thread is to be had.
  explicit MemoryThread(MemoryMeter& meter);
  MemoryThread(const MemoryThread&) = delete;
  MemoryThread& operator=(const MemoryThread&) = delete;
  ~MemoryThread() { finish(); }

  void add(OpId op, MemoryWhen when, Time now) {
    filling_.push_back({now, op, when});
    if (filling_.size() == kBatch) {
      hand_over();
    }
  }
  // Returns when the meter has seen all.
  void finish();

 private:
  static constexpr std::size_t kBatch = 8192;  // stays in the cache, and is handed over rarely

  struct Event {
    Time now{};
    OpId op{};
    MemoryWhen when{};
  };
  void hand_over();
  void apply_all();

  MemoryMeter& meter_;
  std::vector<Event> filling_;  // of the run
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> handed_;  // under the mutex; empty: taken
  bool is_over_ = false;       // under the mutex
  std::thread thread_;         // last: starts when all else is there
};

}  // namespace twinrun::sim
