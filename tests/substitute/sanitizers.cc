#include "tests/substitute/sanitizers.h"

#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
// NOLINTBEGIN(readability-*,bugprone-reserved-identifier): the names are the sanitizer's
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void __tsan_acquire(void* place);
void __tsan_release(void* place);
void __tsan_read_range(void* data, unsigned long bytes);
void __tsan_write_range(void* data, unsigned long bytes);
}
// NOLINTEND(readability-*,bugprone-reserved-identifier)
#endif

namespace substitute {

#if defined(__SANITIZE_THREAD__)

namespace {

thread_local int hidden_depth = 0;

bool watches_itself() {
  static const bool itself = [] {
    const char* const asked = std::getenv("TWINRUN_SUBSTITUTE_TSAN");
    return asked != nullptr && std::strcmp(asked, "self") == 0;
  }();
  return itself;
}

void hide() {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

void show() {
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

}  // namespace

Hidden::Hidden() {
  if (hidden_depth++ == 0 && !watches_itself()) {
    hide();
  }
}

Hidden::~Hidden() {
  if (--hidden_depth == 0 && !watches_itself()) {
    show();
  }
}

Visible::Visible() : depth_(hidden_depth) {
  if (depth_ > 0 && !watches_itself()) {
    show();
  }
  hidden_depth = 0;
}

Visible::~Visible() {
  hidden_depth = depth_;
  if (depth_ > 0 && !watches_itself()) {
    hide();
  }
}

void happens_before(const void* place) {
  const Visible visible;
  __tsan_release(const_cast<void*>(place));
}

void happens_after(const void* place) {
  const Visible visible;
  __tsan_acquire(const_cast<void*>(place));
}

void reads(const void* data, std::size_t bytes) {
  const Visible visible;
  __tsan_read_range(const_cast<void*>(data), bytes);
}

void writes(const void* data, std::size_t bytes) {
  const Visible visible;
  __tsan_write_range(const_cast<void*>(data), bytes);
}

#else

Hidden::Hidden() = default;
Hidden::~Hidden() = default;
Visible::Visible() : depth_(0) {}
Visible::~Visible() { static_cast<void>(depth_); }
void happens_before(const void*) {}
void happens_after(const void*) {}
void reads(const void*, std::size_t) {}
void writes(const void*, std::size_t) {}

#endif

}  // namespace substitute
