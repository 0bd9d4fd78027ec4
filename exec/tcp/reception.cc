#include "exec/tcp/reception.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "exec/backend_missing.h"
#include "exec/not_all_came.h"

namespace twinrun::exec {
namespace {

constexpr std::size_t kMostStrangers = 64;  // that may be connected and say nothing
constexpr std::size_t kMostNamed = 8;
constexpr auto kToTell = std::chrono::seconds(1);  // a few bytes

}  // namespace

void throw_refusal(Verdict verdict, const std::string& reason) {
  if (verdict == Verdict::kTooLate) {
    throw NotAllCame(reason);
  }
  throw BackendMissing(reason);
}

Reception::Reception(Socket listener, const Hello& own, Answers answers)
    : listener_(std::move(listener)),
      own_(own),
      answers_(answers),
      guests_(static_cast<std::size_t>(own.size)),
      open_(own.size - 1 - own.rank) {}

std::vector<int> Reception::descriptors() const {
  std::vector<int> out = {listener_.descriptor()};
  for (const ArrivingHello& arrival : arrivals_) {
    out.push_back(arrival.socket.descriptor());
  }
  for (const Guest& guest : guests_) {
    if (guest.socket.is_open()) {
      out.push_back(guest.socket.descriptor());
    }
  }
  return out;
}

std::vector<Reception::Guest> Reception::receive(TcpClock::time_point deadline, double timeout_s) {
  while (open_ > 0) {
    if (TcpClock::now() >= deadline) {
      give_up(
          Verdict::kTooLate,
          fmt::format("{} not come to rank {} within {:.1f} s{}", missing(), own_.rank, timeout_s,
                      refused_.empty() ? "" : fmt::format(" ({})", fmt::join(refused_, "; "))));
    }
    wait_to_read(descriptors(), deadline);
    take_in();
    look_at_arrivals();
    look_at_guests();
  }
  return std::move(guests_);
}

void Reception::take_in() {
  while (true) {
    Socket socket = accept_from(listener_);
    if (!socket.is_open()) {
      return;
    }
    if (arrivals_.size() >= guests_.size() + kMostStrangers) {
      arrivals_.erase(arrivals_.begin());
    }
    arrivals_.emplace_back(std::move(socket));
  }
}

void Reception::look_at_arrivals() {
  for (ArrivingHello& arrival : arrivals_) {
    const auto judgement = arrival.look(own_);
    if (!judgement) {
      continue;
    }
    if (judgement->verdict == Verdict::kWelcome) {
      register_guest(arrival);
      continue;
    }
    write_answer(arrival.socket, {judgement->verdict, judgement->reason, {}},
                 TcpClock::now() + kToTell);
    arrival.socket.close();
    if (judgement->verdict == Verdict::kWrong) {
      give_up(judgement->verdict, judgement->reason);
    }
    if (refused_.size() < kMostNamed &&
        std::find(refused_.begin(), refused_.end(), judgement->reason) == refused_.end()) {
      refused_.push_back(judgement->reason);
    }
  }
  std::erase_if(arrivals_, [](const ArrivingHello& arrival) {
    return arrival.is_gone() || !arrival.socket.is_open();
  });
}

void Reception::register_guest(ArrivingHello& arrival) {
  const Hello& hello = arrival.hello();
  const bool is_asked_for = hello.rank > own_.rank && hello.rank < own_.size;
  if (!is_asked_for || guests_[static_cast<std::size_t>(hello.rank)].socket.is_open()) {
    const std::string reason =
        is_asked_for
            ? fmt::format("two processes have RANK={}", hello.rank)
            : fmt::format("a process with RANK={} has connected to rank {}", hello.rank, own_.rank);
    write_answer(arrival.socket, {Verdict::kWrong, reason, {}}, TcpClock::now() + kToTell);
    give_up(Verdict::kWrong, reason);
  }
  if (answers_ == Answers::kAtOnce) {
    write_answer(arrival.socket, {}, TcpClock::now() + kToTell);
  }
  guests_[static_cast<std::size_t>(hello.rank)] = {std::move(arrival.socket), hello.listens};
  --open_;
}

// Until all are there none of the first's guests has anything to say.
void Reception::look_at_guests() {
  for (std::size_t rank = 0; rank < guests_.size() && answers_ == Answers::kLater; ++rank) {
    Guest& guest = guests_[rank];
    if (guest.socket.is_open() && is_closed_by_peer(guest.socket)) {
      guest.socket.close();
      give_up(Verdict::kWrong, fmt::format("rank {} has ended while others were awaited", rank));
    }
  }
}

std::string Reception::missing() const {
  std::vector<int> ranks;
  for (int rank = own_.rank + 1; rank < own_.size; ++rank) {
    if (!guests_[static_cast<std::size_t>(rank)].socket.is_open()) {
      ranks.push_back(rank);
    }
  }
  const std::vector<int> named(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                  ranks.size(), kMostNamed)));
  return fmt::format(
      "rank{} {}{} ha{}", ranks.size() == 1 ? "" : "s", fmt::join(named, ", "),
      named.size() < ranks.size() ? fmt::format(" and {} more", ranks.size() - named.size()) : "",
      ranks.size() == 1 ? "s" : "ve");
}

void Reception::give_up(Verdict verdict, const std::string& reason) {
  for (const Guest& guest : guests_) {
    if (guest.socket.is_open() && answers_ == Answers::kLater) {
      write_answer(guest.socket, {verdict, reason, {}}, TcpClock::now() + kToTell);
    }
  }
  throw_refusal(verdict, reason);
}

}  // namespace twinrun::exec
