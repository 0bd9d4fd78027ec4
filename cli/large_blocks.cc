// A plan of a thousand GPUs is a gigabyte of columns. The kernel gives memory page by page, when a
// page is first written: a sixth of a run was spent waiting for that. So blocks of many megabytes
// are handed to a thread that has their pages given on another core. It changes no byte, and what
// it does not come to happens as before. Large pages would spare a run a fifth more, but where a
// virtual machine has yet to get them from its host they cost three times what they spare.
//
// The program's operator new is the one place where all columns pass. Sanitizers have their own.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include <sys/mman.h>

#ifdef MADV_POPULATE_WRITE

namespace {

constexpr std::size_t kLargeBlock = std::size_t{8} << 20;
// At a time, so that whoever maps or unmaps memory meanwhile does not wait long.
constexpr std::uintptr_t kStride = std::uintptr_t{1} << 21;
constexpr std::uintptr_t kPage = 4096;

struct Block {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

void* at_address(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// From its end: the owner begins at the other. A block that was given back meanwhile is nobody's,
// and the kernel says so; it may as well be another's by then, which does no harm.
void give_pages(const Block& block) {
  const std::uintptr_t begin = block.begin;
  std::uintptr_t end = block.end;
  while (end > begin) {
    const std::uintptr_t from = std::max(begin, (end - 1) / kStride * kStride);
    if (::madvise(at_address(from), end - from, MADV_POPULATE_WRITE) != 0) {
      return;
    }
    end = from;
  }
}

class PageThread {
 public:
  PageThread() {
    std::thread([this] { run(); }).detach();
  }
  void add(const Block& block) {
    {
      const std::scoped_lock lock(mutex_);
      if (count_ < blocks_.size()) {  // else so be it
        blocks_[count_++] = block;
      }
    }
    changed_.notify_one();
  }

 private:
  [[noreturn]] void run() {
    while (true) {
      Block block;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return count_ > 0; });
        block = blocks_.front();
        std::move(blocks_.begin() + 1, blocks_.begin() + static_cast<std::ptrdiff_t>(count_),
                  blocks_.begin());
        --count_;
      }
      give_pages(block);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Block, 64> blocks_;  // under the mutex, the oldest first
  std::size_t count_ = 0;         // under the mutex
};

// Lives as long as the program; null where there is no thread or no second core to be had.
PageThread* page_thread() {
  static PageThread* const thread = []() -> PageThread* {
    if (std::thread::hardware_concurrency() < 2) {
      return nullptr;
    }
    alignas(PageThread) static std::array<std::byte, sizeof(PageThread)> place;
    try {
      return ::new (place.data()) PageThread;
    } catch (const std::system_error&) {
      return nullptr;
    }
  }();
  return thread;
}

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  if (size >= kLargeBlock) {
    if (PageThread* const thread = page_thread()) {
      const auto address = reinterpret_cast<std::uintptr_t>(memory);
      const Block whole_pages{(address + kPage - 1) / kPage * kPage,
                              (address + size) / kPage * kPage};
      thread->add(whole_pages);
    }
  }
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

#endif
#endif
