#include "sim/memory_thread.h"

namespace twinrun::sim {

MemoryThread::MemoryThread(MemoryMeter& meter) : meter_(meter) {
  filling_.reserve(kBatch);
  handed_.reserve(kBatch);
  thread_ = std::thread([this] { apply_all(); });
}

// Waits when the thread is two batches behind.
void MemoryThread::hand_over() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return handed_.empty(); });
    filling_.swap(handed_);
  }
  changed_.notify_one();
}

void MemoryThread::apply_all() {
  std::vector<Event> taken;
  taken.reserve(kBatch);
  while (true) {
    taken.clear();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !handed_.empty() || is_over_; });
      if (handed_.empty()) {
        return;
      }
      taken.swap(handed_);
    }
    changed_.notify_one();
    for (const Event& event : taken) {
      meter_.apply(event.op, event.when, event.now);
    }
  }
}

void MemoryThread::finish() {
  if (!thread_.joinable()) {
    return;
  }
  if (!filling_.empty()) {
    hand_over();
  }
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace twinrun::sim
