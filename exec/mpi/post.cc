#include "exec/mpi/post.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <sys/prctl.h>

#include "exec/gate.h"
#include "exec/mpi/launcher.h"

namespace twinrun::exec {
namespace {

constexpr int kHurriedLooks = 20;                       // one right after the other
constexpr auto kEager = std::chrono::microseconds(50);  // polling without a nap
constexpr auto kFirstNap = std::chrono::microseconds(10);
constexpr auto kLongestNap = std::chrono::microseconds(200);
constexpr int kLooksBetweenNotes = 16;

// Naps are as short as they are meant to be: the system adds 50 us to each otherwise.
void take_naps_exactly() {
  thread_local bool is_done = false;
  if (!is_done) {
    ::prctl(PR_SET_TIMERSLACK, 1);
    is_done = true;
  }
}

// Between two looks at something that is not there yet.
class Pause {
 public:
  explicit Pause(int hurried_looks) : hurried_looks_(hurried_looks) {}

  void operator()() {
    if (++looks_ < hurried_looks_) {
      return;
    }
    if (looks_ == hurried_looks_) {
      begin_ = Post::Clock::now();
    }
    if (Post::Clock::now() - begin_ < kEager) {
      std::this_thread::yield();
      return;
    }
    take_naps_exactly();
    std::this_thread::sleep_for(nap_);
    nap_ = std::min<std::chrono::microseconds>(2 * nap_, kLongestNap);
  }

 private:
  int hurried_looks_;
  int looks_ = 0;
  Post::Clock::time_point begin_;
  std::chrono::microseconds nap_ = kFirstNap;
};

}  // namespace

Post::Post(Transport& transport)
    : transport_(transport),
      rank_(transport.rank()),
      size_(transport.size()),
      is_crowded_(has_more_processes_than_cores()),
      communicator_(transport.add_communicator({})) {
  listen();
}

void Post::provide(int data_communicators) {
  const std::lock_guard lock(mutex_);
  while (static_cast<int>(data_communicators_.size()) < data_communicators) {
    data_communicators_.push_back(transport_.add_communicator({}));
  }
}

void Post::listen() {
  listening_ = transport_.receive_bytes(incoming_, {Transport::kAnybody, kNoteTag, communicator_});
}

void Post::tell(int process, Word word, std::uint32_t number, std::string_view text) {
  const Head head{word, number};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes += text.substr(0, kMostText);
  const std::lock_guard lock(mutex_);
  Sent& sent = outgoing_.emplace_back(Sent{std::move(bytes)});
  sent.request = transport_.send_bytes(sent.bytes, {process, kNoteTag, communicator_});
}

void Post::tell_others(Word word, std::uint32_t number, std::string_view text) {
  for (int process = 0; process < size_; ++process) {
    if (process != rank_) {
      tell(process, word, number, text);
    }
  }
}

void Post::take_in() {
  while (const auto arrival = transport_.test(listening_)) {
    Head head;
    std::memcpy(&head, incoming_.data(), sizeof head);
    const auto length = static_cast<std::size_t>(arrival->bytes) - sizeof head;
    if (take_) {
      take_({arrival->from, head.word, head.number,
             std::string_view(incoming_.data() + sizeof head, length)});
    }
    listen();
  }
  while (!outgoing_.empty() && transport_.test(outgoing_.front().request)) {
    outgoing_.pop_front();
  }
}

bool Post::look_until(const std::function<bool(Transport&)>& is_so,
                      int looks_between_notes,
                      std::optional<Clock::time_point> deadline) {
  Pause pause(is_crowded_ ? 1 : kHurriedLooks);
  for (int look = 0;; ++look) {
    if (stopped_.load(std::memory_order_relaxed)) {
      throw Stopped{};
    }
    {
      const std::lock_guard lock(mutex_);
      if (is_so(transport_)) {
        return true;
      }
      if (look % looks_between_notes == looks_between_notes - 1) {
        take_in();
      }
    }
    if (deadline && Clock::now() > *deadline) {
      return false;
    }
    pause();
  }
}

bool Post::wait_until(const std::function<bool(Transport&)>& is_so,
                      std::optional<Clock::time_point> deadline) {
  return look_until(is_so, 1, deadline);
}

void Post::wait_for_data(const std::function<bool(Transport&)>& is_so) {
  look_until(is_so, kLooksBetweenNotes, std::nullopt);
}

void Post::wait(Request request) {
  wait_for_data([&](Transport& transport) { return transport.test(request).has_value(); });
}

void Post::poll() {
  const std::lock_guard lock(mutex_);
  take_in();
}

}  // namespace twinrun::exec
