#pragma once

#include <stdexcept>
#include <string>

namespace twinrun {

// A broken invariant is our bug, never the user's: it says so and where.
[[noreturn]] inline void report_bug(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string("bug in twinrun: ") + condition + " does not hold at " + file +
                         ":" + std::to_string(line));
}

}  // namespace twinrun

// __FILE__/__LINE__ rather than std::source_location: clang-tidy 14 cannot see the latter.
#define TWINRUN_CHECK(condition)                             \
  do {                                                       \
    if (!(condition)) {                                      \
      ::twinrun::report_bug(#condition, __FILE__, __LINE__); \
    }                                                        \
  } while (false)

// For hot loops: costs nothing in release builds.
#ifdef NDEBUG
#define TWINRUN_DCHECK(condition) \
  do {                            \
  } while (false)
#else
#define TWINRUN_DCHECK(condition) TWINRUN_CHECK(condition)
#endif
