#pragma once

#include <atomic>
#include <cstdint>

namespace twinrun::exec {

// Thrown out of a wait when the run is being ended.
struct Stopped {};

// A counter that threads raise and wait for; four bytes, and raising costs no system call while
// nobody waits. What was written before raise() is seen after wait_for().
class Gate {
 public:
  void raise(std::uint32_t by = 1) {
    count_.fetch_add(by, std::memory_order_release);
    count_.notify_all();
  }
  // For gates that only one thread raises.
  void raise_to(std::uint32_t count) {
    std::uint32_t before = count_.load(std::memory_order_relaxed);
    while ((before & kStop) == 0 &&
           !count_.compare_exchange_weak(before, count, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    count_.notify_all();
  }
  [[nodiscard]] bool has(std::uint32_t count) const {
    return (count_.load(std::memory_order_acquire) & ~kStop) >= count;
  }
  void wait_for(std::uint32_t count) const {
    std::uint32_t now = count_.load(std::memory_order_acquire);
    while ((now & ~kStop) < count) {
      if ((now & kStop) != 0) {
        throw Stopped{};
      }
      count_.wait(now, std::memory_order_acquire);
      now = count_.load(std::memory_order_acquire);
    }
  }
  // Those who wait, now or later, give up.
  void stop() {
    count_.fetch_or(kStop, std::memory_order_release);
    count_.notify_all();
  }

 private:
  static constexpr std::uint32_t kStop = std::uint32_t{1} << 31;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace twinrun::exec
