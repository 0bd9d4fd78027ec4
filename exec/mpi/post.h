#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/mpi/transport.h"

namespace twinrun::exec {

// What processes tell each other beside the data of ops.
enum class Word : std::uint32_t {
  kDone,      // number: an op that another process waits for
  kProgress,  // number: ops done, of one process or (from the first) of all
  kFinished,  // all ops of this process are done
  kAllFinished,
  kFailed,  // text: a failure
};

struct Note {
  int from = 0;
  Word word = Word::kDone;
  std::uint32_t number = 0;
  std::string_view text;
};

// The transport, shared by all threads of a process. Whoever waits also takes in the notes of
// others, so none lie about while everybody waits. Waiting is polling: at first without a pause
// but yielding the core, then with naps, since there may be more processes than cores.
class Post {
 public:
  using Clock = std::chrono::steady_clock;

  // Tags of the communicator that is not for the data of ops.
  static constexpr int kNoteTag = 0;
  static constexpr int kClockTag = 1;
  static constexpr int kPartTag = 2;

  // By all processes together.
  explicit Post(Transport& transport);
  // By all processes together: sees to it that there are communicators for the data of ops.
  void provide(int data_communicators);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int communicator() const { return communicator_; }
  [[nodiscard]] int data_communicator(int index) const {
    return data_communicators_[static_cast<std::size_t>(index)];
  }

  // Called with each note, by whichever thread takes it in, under the lock.
  void on_note(std::function<void(const Note&)> take) { take_ = std::move(take); }
  void tell(int process, Word word, std::uint32_t number, std::string_view text = {});
  void tell_others(Word word, std::uint32_t number, std::string_view text = {});

  // Calls the transport with nobody else in it.
  template <class Call>
  auto with_transport(const Call& call) {
    const std::lock_guard lock(mutex_);
    return call(transport_);
  }
  // Until the condition holds, which is asked under the lock and may use the transport. False when
  // it is past the deadline; throws Stopped when the post has been stopped.
  bool wait_until(const std::function<bool(Transport&)>& is_so,
                  std::optional<Clock::time_point> deadline = {});
  // The same for what the transport alone brings about: notes of others are looked at less often.
  void wait_for_data(const std::function<bool(Transport&)>& is_so);
  void wait(Request request);
  // Takes in notes.
  void poll();

  // Those who wait, now or later, give up.
  void stop() { stopped_ = true; }
  // Waiting is possible again: for what is said after a run has failed.
  void go_on() { stopped_ = false; }

 private:
  static constexpr std::size_t kMostText = 6000;
  struct Head {
    Word word = Word::kDone;
    std::uint32_t number = 0;
  };
  struct Sent {
    std::string bytes;
    Request request{};
  };
  void listen();
  void take_in();
  bool look_until(const std::function<bool(Transport&)>& is_so,
                  int looks_between_notes,
                  std::optional<Clock::time_point> deadline);

  Transport& transport_;
  int rank_;
  int size_;
  bool is_crowded_;  // others need the core while this process waits
  int communicator_;
  std::vector<int> data_communicators_;
  std::mutex mutex_;
  std::atomic<bool> stopped_{false};
  std::function<void(const Note&)> take_;
  std::array<char, sizeof(Head) + kMostText> incoming_{};
  Request listening_{};
  std::deque<Sent> outgoing_;  // not known to have left
};

}  // namespace twinrun::exec
