#pragma once

#include <cstddef>

namespace substitute {

// ThreadSanitizer must see the order that CUDA promises between streams, and none that only this
// library's own locks make: else a missing event wait is never reported, because the queues'
// mutexes order everything. So all of the library runs hidden (its locks, atomics, reads and writes
// do not exist for the sanitizer), the accesses to the user's data run visible, and the promises
// are stated one by one.
//
// With TWINRUN_SUBSTITUTE_TSAN=self in the environment nothing is hidden, and the sanitizer looks
// for races in the library itself instead. Without ThreadSanitizer all of this is nothing.

// May be nested; what ends last is visible again.
class Hidden {
 public:
  Hidden();
  ~Hidden();  // NOLINT(performance-trivially-destructible): it is not, where a sanitizer watches
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
};

// Around accesses to the user's data and calls of the user's functions.
class Visible {
 public:
  Visible();
  ~Visible();
  Visible(const Visible&) = delete;
  Visible& operator=(const Visible&) = delete;

 private:
  int depth_;
};

// All that this thread did so far happens before what a thread does after happens_after(place).
void happens_before(const void* place);
void happens_after(const void* place);

// Says that user's data is read or written by code that is not instrumented.
void reads(const void* data, std::size_t bytes);
void writes(const void* data, std::size_t bytes);

}  // namespace substitute

// For loops whose accesses are declared with reads() and writes(): ten times quicker than watched.
#if defined(__SANITIZE_THREAD__)
#define SUBSTITUTE_UNWATCHED __attribute__((no_sanitize("thread"), noinline))
#else
#define SUBSTITUTE_UNWATCHED
#endif
