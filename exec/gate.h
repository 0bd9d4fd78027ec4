#pragma once

#include <atomic>
#include <cstdint>

namespace twinrun::exec {

// Thrown out of a wait when the run is being ended.
struct Stopped {};

// A counter that threads raise and wait for; four bytes, and raising costs no system call while
// nobody waits. What was written before raise() is seen after wait_for().
//
// Whoever waits looks for about a microsecond and then sleeps in the kernel; it never yields.
// std::atomic's wait does, and since Linux 6.6 a thread that yields to one that computes gets its
// core back with the next tick, up to 4 ms later, where one that sleeps is woken at once.
class Gate {
 public:
  void raise(std::uint32_t by = 1) {
    wake_if_waited_for(count_.fetch_add(by, std::memory_order_acq_rel));
  }
  // For gates that only one thread raises.
  void raise_to(std::uint32_t count) {
    std::uint32_t before = count_.load(std::memory_order_relaxed);
    while ((before & kStop) == 0 &&
           !count_.compare_exchange_weak(before, count, std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
    }
    wake_if_waited_for(before);
  }
  [[nodiscard]] bool has(std::uint32_t count) const {
    return (count_.load(std::memory_order_acquire) & kCount) >= count;
  }
  void wait_for(std::uint32_t count);
  // Those who wait, now or later, give up.
  void stop() { wake_if_waited_for(count_.fetch_or(kStop, std::memory_order_acq_rel)); }

 private:
  static constexpr std::uint32_t kStop = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kWaits = std::uint32_t{1}
                                          << 30;  // somebody sleeps, or is about to
  static constexpr std::uint32_t kCount = kWaits - 1;

  void wake_if_waited_for(std::uint32_t before) {
    if ((before & kWaits) != 0) {
      wake();
    }
  }
  void wake();
  bool comes_soon(std::uint32_t count) const;

  std::atomic<std::uint32_t> count_{0};
};

}  // namespace twinrun::exec
