#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/trace/trace.h"

namespace twinrun::exec {

// The times of a process's ops in a file that is mapped into memory: written as they happen, and
// there for others even if the process is killed.
class LiveTable {
 public:
  struct Head {
    std::atomic<std::int64_t> process{0};   // its id; 0 until it has come so far
    std::atomic<std::int64_t> started{0};   // … and when it was started, as /proc has it
    std::atomic<std::int64_t> begin_ns{0};  // as in Part
    std::atomic<std::int64_t> ahead_ns{0};  // …
    std::atomic<std::int64_t> round_trip_ns{0};
    std::atomic<std::int64_t> beat{0};       // grows as long as it lives
    std::atomic<std::int64_t> is_ending{0};  // 1: it was told to end, and knows
    std::atomic<std::int64_t> all_done{0};   // of the first process: ops done by all
  };

  // Of rank's, in a folder; made by the process itself.
  static LiveTable create(const std::string& folder, int rank, std::size_t ops);
  // Nothing when it is not there, or not of so many ops.
  static std::optional<LiveTable> open(const std::string& folder, int rank, std::size_t ops);

  LiveTable(LiveTable&& other) noexcept;
  LiveTable& operator=(LiveTable&&) = delete;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;
  ~LiveTable();

  [[nodiscard]] Head& head() const { return *static_cast<Head*>(memory_); }
  [[nodiscard]] OpTimes* times() const;

 private:
  LiveTable(void* memory, std::size_t size) : memory_(memory), size_(size) {}
  static std::optional<LiveTable> map(int descriptor, std::size_t size);

  void* memory_;
  std::size_t size_;
};

// When a process was started, in the kernel's ticks: with its id it names the process for good. 0
// when there is none.
std::int64_t start_of_process(std::int64_t process);

}  // namespace twinrun::exec
