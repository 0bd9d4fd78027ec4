#include "exec/discover/copy_rates.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <sched.h>

namespace twinrun::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeOfOne{120};
constexpr int kRepeats = 3;  // the best counts: others may be in the way
constexpr std::size_t kAllBlocks = std::size_t{1}
                                   << 29;  // of all threads together, where it may be
constexpr std::size_t kLeastBlock = std::size_t{1} << 25;
constexpr std::size_t kTimesCaches = 4;     // more than this is copied, so that caches hold little
constexpr std::int64_t kShareOfMemory = 8;  // at most this part of a node's memory is used

void bind_to(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  if (cpu < CPU_SETSIZE) {
    CPU_SET(static_cast<std::size_t>(cpu), &only);
    ::sched_setaffinity(0, sizeof only, &only);  // where it may not, the system places it
  }
}

struct Copied {
  std::int64_t bytes = 0;
  Clock::time_point end;
};

// Copies until it is told to end; a copy under way is finished, and counts.
Copied copy_until(std::span<char> memory, const std::atomic<bool>& is_over) {
  const std::size_t half = memory.size() / 2;
  Copied out;
  while (!is_over.load(std::memory_order_relaxed)) {
    std::memcpy(memory.data() + half, memory.data(), half);
    asm volatile("" : : "r"(memory.data()) : "memory");  // says that somebody reads it
    out.bytes += static_cast<std::int64_t>(half);
  }
  out.end = Clock::now();
  return out;
}

// Bytes per second of so many cores of a node at once, until the last of them is done.
double copies_per_second(const NumaNode& node, std::size_t threads) {
  std::atomic<bool> is_over = false;
  std::barrier ready(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<Copied> copied(threads);
  std::vector<std::jthread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      bind_to(node.cores[i]);
      std::vector<char> memory(block_bytes(node, threads), 1);  // touched here: this node's
      ready.arrive_and_wait();
      copied[i] = copy_until(memory, is_over);
    });
  }
  ready.arrive_and_wait();
  const Clock::time_point begin = Clock::now();
  std::this_thread::sleep_for(kTimeOfOne);
  is_over = true;
  running.clear();
  std::int64_t bytes = 0;
  Clock::time_point end = begin;
  for (const Copied& one : copied) {
    bytes += one.bytes;
    end = std::max(end, one.end);
  }
  return static_cast<double>(bytes) / std::chrono::duration<double>(end - begin).count();
}

Bandwidth best_of(const NumaNode& node, std::size_t threads) {
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    best = std::max(best, copies_per_second(node, threads));
  }
  constexpr double kStep = 1e7;  // digits beyond are noise
  return {std::max(1.0, static_cast<double>(static_cast<std::int64_t>(best / kStep))) * kStep};
}

}  // namespace

std::size_t block_bytes(const NumaNode& node, std::size_t threads) {
  std::size_t all = std::max(kAllBlocks, kTimesCaches * static_cast<std::size_t>(node.cache.count));
  if (node.memory.count > 0) {
    all = std::min(all, static_cast<std::size_t>(node.memory.count / kShareOfMemory));
  }
  return std::max(kLeastBlock, all / threads);
}

void measure_copies(Machine& machine) {
  for (NumaNode& node : machine.nodes) {
    node.copy = best_of(node, 1);
    const std::size_t cores = node.cores.size();
    node.copies = cores == 1 ? node.copy : std::max(node.copy, best_of(node, cores));
  }
}

}  // namespace twinrun::exec
