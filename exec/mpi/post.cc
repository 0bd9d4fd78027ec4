#include "exec/mpi/post.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "exec/gate.h"

namespace twinrun::exec {
namespace {

constexpr auto kEager = std::chrono::microseconds(50);  // polling without a nap
constexpr auto kFirstNap = std::chrono::microseconds(10);
constexpr auto kLongestNap = std::chrono::microseconds(200);

// Between two looks at something that is not there yet.
class Pause {
 public:
  void operator()() {
    if (Post::Clock::now() - begin_ < kEager) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(nap_);
    nap_ = std::min<std::chrono::microseconds>(2 * nap_, kLongestNap);
  }

 private:
  Post::Clock::time_point begin_ = Post::Clock::now();
  std::chrono::microseconds nap_ = kFirstNap;
};

}  // namespace

Post::Post(Transport& transport)
    : transport_(transport),
      rank_(transport.rank()),
      size_(transport.size()),
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

bool Post::wait_until(const std::function<bool(Transport&)>& is_so,
                      std::optional<Clock::time_point> deadline) {
  Pause pause;
  while (true) {
    if (stopped_.load(std::memory_order_relaxed)) {
      throw Stopped{};
    }
    {
      const std::lock_guard lock(mutex_);
      if (is_so(transport_)) {
        return true;
      }
      take_in();
    }
    if (deadline && Clock::now() > *deadline) {
      return false;
    }
    pause();
  }
}

void Post::wait(Request request) {
  wait_until([&](Transport& transport) { return transport.test(request).has_value(); });
}

void Post::poll() {
  const std::lock_guard lock(mutex_);
  take_in();
}

}  // namespace twinrun::exec
