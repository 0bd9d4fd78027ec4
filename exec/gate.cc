#include "exec/gate.h"

#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace twinrun::exec {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
constexpr int kLooks = 40;  // a pause takes some tens of nanoseconds

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// While the word is still that; returns for no reason now and then.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

}  // namespace

bool Gate::comes_soon(std::uint32_t count) const {
  for (int look = 0; look < kLooks; ++look) {
    if (has(count)) {
      return true;
    }
    pause_briefly();
  }
  return false;
}

void Gate::wait_for(std::uint32_t count) {
  if (comes_soon(count)) {
    return;
  }
  std::uint32_t now = count_.load(std::memory_order_acquire);
  while ((now & kCount) < count) {
    if ((now & kStop) != 0) {
      throw Stopped{};
    }
    if ((now & kWaits) == 0 &&
        !count_.compare_exchange_weak(now, now | kWaits, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      continue;
    }
    sleep_while(count_, now | kWaits);
    now = count_.load(std::memory_order_acquire);
  }
}

// The note goes first: who is woken and has to wait on leaves it again.
void Gate::wake() {
  count_.fetch_and(~kWaits, std::memory_order_acq_rel);
  ::syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace twinrun::exec
