#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nccl.h>
#include <pthread.h>
#include <sys/types.h>

#include "tests/substitute/substitute.h"

namespace substitute {

// The ranks of one communicator, in one process or in many: they meet in a piece of shared memory
// that is named by the unique id and loses its name as soon as all have come, so that nothing is
// left behind even when they are killed.
//
//   header | mailboxes N·N | their bytes N·N | slots of the even steps N + result | slots of the
//   odd steps N + result
//
// A collective goes in steps of at most kSlotBytes. In each, every rank writes into its slot and
// arrives; the last to arrive reduces the slots in the order of the ranks; then all copy out. Steps
// use two sets of slots in turn: whoever fills the same set again knows that all have arrived at
// the step between, and so have left this one.

inline constexpr int kMostRanks = 64;
inline constexpr std::size_t kSlotBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMailBytes = std::size_t{64} << 10;

// What the ranks must agree on.
struct Description {
  int kind = 0;
  int type = 0;
  int operation = 0;
  int root = 0;
  std::uint64_t count = 0;
  bool operator==(const Description&) const = default;
};

struct Meeting {
  int arrived = 0;
  int first_rank = 0;
  Description first;
  Picoseconds start = 0;  // of the last rank to come
  Picoseconds cost = 0;   // the largest that was asked for
  std::uint64_t completed = 0;
};

// One end of a message.
struct MailSide {
  bool is_there = false;
  std::uint64_t bytes = 0;
  int type = 0;
  Picoseconds ready = 0;
  Picoseconds cost = 0;
};

// From one rank to another; holds one chunk of the message on its way.
struct Mailbox {
  MailSide sender;
  MailSide receiver;
  std::uint64_t chunk_bytes = 0;
  bool is_full = false;
  bool is_received = false;  // whole; the sender clears the box
};

struct RankState {
  pid_t process = 0;
  std::uint64_t device_key = 0;
  bool has_joined = false;
  bool has_left = false;
};

struct SplitPost {
  int color = 0;
  int key = 0;
};

struct SharedHeader {
  std::atomic<std::uint32_t> is_ready;
  std::atomic<std::uint32_t> changes;  // a futex: everybody waits for any change, and looks
  int ranks = 0;
  int joined = 0;
  bool is_aborted = false;
  int error = ncclSuccess;
  std::array<char, 256> error_text{};
  pthread_mutex_t mutex{};
  std::array<RankState, kMostRanks> rank{};
  std::array<Meeting, 2> meeting{};
  std::array<std::array<SplitPost, kMostRanks>, 2> split{};
  std::array<int, 2> split_posts{};
  std::array<std::uint64_t, 2> splits_done{};
};

class Clique {
 public:
  // Creates the shared memory, or opens what another rank created. nullptr with a text when that is
  // impossible.
  static std::shared_ptr<Clique> attach(const std::string& name,
                                        int ranks,
                                        double timeout_s,
                                        std::string& error);

  Clique(std::string name, std::byte* base, std::size_t bytes, int ranks);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  // Holds the lock of all processes; a process that died with it marks the clique broken.
  class Lock {
   public:
    explicit Lock(Clique& clique);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Clique& clique_;
  };

  using Condition = std::function<bool()>;
  // Until is_true, asked under the lock, holds; false when gives_up did first. Looks after dead
  // processes.
  bool wait(const Condition& is_true, const Condition& gives_up);
  void wake();

  // "" or why not; the last to join removes the name.
  std::string join(int rank, std::uint64_t device_key);
  [[nodiscard]] bool all_joined();
  [[nodiscard]] std::string missing_ranks();
  void remove_name();
  void leave(int rank);

  // All ranks see the error.
  void fail(ncclResult_t code, const std::string& text);
  void abort_all();
  [[nodiscard]] bool is_aborted();
  [[nodiscard]] bool has_failed() { return error() != ncclSuccess; }
  [[nodiscard]] ncclResult_t error();
  [[nodiscard]] std::string error_text();

  // Arrives at the step; `last` runs on whoever comes last, before anyone goes on. The meeting, or
  // nothing when it gave up. A rank that disagrees makes the clique fail, and the step never ends.
  std::optional<Meeting> meet(std::uint64_t step,
                              int rank,
                              const Meeting& mine,
                              const std::function<void()>& last,
                              const Condition& gives_up);

  [[nodiscard]] std::byte* slot(std::uint64_t step, int rank) const;
  [[nodiscard]] std::byte* result(std::uint64_t step) const { return slot(step, ranks); }
  [[nodiscard]] Mailbox& mailbox(int from, int to) const;
  [[nodiscard]] std::byte* mail(int from, int to) const;
  // Places for ThreadSanitizer's edges: who arrived at an even or odd step, what was put into a
  // box.
  [[nodiscard]] const void* arrival_edge(std::uint64_t step, int rank) const;
  [[nodiscard]] const void* mail_edge(int from, int to) const;

  // A thread of this process works for a rank without a group. Another rank's: it would hang on
  // real NCCL.
  std::optional<int> other_rank_of_thread(int rank);

  SharedHeader& shared;
  const int ranks;
  const std::string name;

 private:
  void check_processes();

  std::byte* const base_;
  const std::size_t bytes_;
  std::vector<char> edges_;
  std::mutex mutex_;
  std::map<std::thread::id, int> lone_threads_;
};

// A name that no other process and no other communicator has; stale ones of dead processes are
// removed.
std::string new_clique_name();

}  // namespace substitute
