#include "exec/mpi/schedule_run.h"

#include <algorithm>

namespace twinrun::exec {
namespace {

constexpr auto kElement = static_cast<std::int64_t>(sizeof(float));

bool overlap(std::size_t begin, std::size_t end, std::size_t other_begin, std::size_t other_end) {
  return begin < other_end && other_begin < end;
}

// Of that peer, and so nothing else gets between its pieces.
bool is_only(const std::vector<Transfer>& transfers, std::size_t index) {
  return std::count_if(transfers.begin(), transfers.end(), [&](const Transfer& other) {
           return other.peer == transfers[index].peer;
         }) == 1;
}

void add(std::span<const float> from, std::span<float> into) {
  std::transform(from.begin(), from.end(), into.begin(), into.begin(), std::plus<>());
}

}  // namespace

void ScheduleRun::run(const CollectiveSchedule& schedule,
                      std::uint32_t rank,
                      std::span<float> array,
                      std::span<float> into,
                      const Group& group) {
  array_ = array;
  into_ = into;
  StepTransfers transfers;
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    schedule.transfers(rank, step, transfers);
    begin_step(transfers, group);
    while (const Message* const open = first_open()) {
      group.awaits(open->peer);
      post_.wait_for_data([this](Transport& transport) { return make_progress(transport); });
      add_what_may_be();
    }
  }
}

void ScheduleRun::begin_message(const std::vector<Transfer>& transfers,
                                std::size_t index,
                                std::int64_t first_byte,
                                Message& message) {
  const Transfer& transfer = transfers[index];
  message.peer = transfer.peer;
  const auto first = static_cast<std::size_t>(first_byte / kElement);
  const auto size = static_cast<std::size_t>(transfer.from.size() / kElement);
  message.place = {first, first + size};
  message.is_added = transfer.action == Action::kReduce;
  message.piece = message.is_added && is_only(transfers, index) ? std::min(size, kPiece) : size;
  message.begun = message.settled = first;
  message.window.clear();
}

void ScheduleRun::begin_step(const StepTransfers& transfers, const Group& group) {
  send_count_ = transfers.sends.size();
  receive_count_ = transfers.receives.size();
  sends_.resize(std::max(sends_.size(), send_count_));
  receives_.resize(std::max(receives_.size(), receive_count_));
  for (std::size_t i = 0; i < receive_count_; ++i) {
    Message& message = receives_[i];
    begin_message(transfers.receives, i, transfers.receives[i].into, message);
    message.address = group.from(message.peer);
    if (message.is_added) {
      const std::size_t wanted =
          std::min(kUnderWay * message.piece, message.place.end - message.place.begin);
      message.staged.resize(std::max(message.staged.size(), wanted));
    }
  }
  for (std::size_t i = 0; i < send_count_; ++i) {
    begin_message(transfers.sends, i, transfers.sends[i].from.begin, sends_[i]);
    sends_[i].address = group.to(sends_[i].peer);
  }
}

const ScheduleRun::Message* ScheduleRun::first_open() const {
  for (std::size_t i = 0; i < receive_count_; ++i) {
    if (!receives_[i].is_done()) {
      return &receives_[i];
    }
  }
  for (std::size_t i = 0; i < send_count_; ++i) {
    if (!sends_[i].is_done()) {
      return &sends_[i];
    }
  }
  return nullptr;
}

// ---- with the transport

bool ScheduleRun::make_progress(Transport& transport) {
  post_more(transport);
  const bool has_received = settle_receives(transport);
  return settle_sends(transport) || has_received;
}

void ScheduleRun::post_more(Transport& transport) {
  for (std::size_t i = 0; i < receive_count_; ++i) {
    Message& message = receives_[i];
    while (message.begun < message.place.end && !message.window.is_full()) {
      const std::size_t size = std::min(message.piece, message.place.end - message.begun);
      const std::span<float> where =
          message.is_added
              ? std::span(message.staged).subspan(message.window.next_place() * message.piece, size)
              : into_.subspan(message.begun, size);
      message.window.push({transport.receive(where, message.address), size});
      message.begun += size;
    }
  }
  for (std::size_t i = 0; i < send_count_; ++i) {
    Message& message = sends_[i];
    while (message.begun < message.place.end && !message.window.is_full()) {
      const std::size_t size = std::min(message.piece, message.place.end - message.begun);
      message.window.push(
          {transport.send(array_.subspan(message.begun, size), message.address), size});
      message.begun += size;
    }
  }
}

bool ScheduleRun::settle_sends(Transport& transport) {
  bool has_any = false;
  for (std::size_t i = 0; i < send_count_; ++i) {
    Message& message = sends_[i];
    while (!message.window.is_empty() && transport.test(message.window.oldest().request)) {
      message.settled += message.window.oldest().size;
      message.window.pop();
      has_any = true;
    }
  }
  return has_any;
}

// Those that are added stay in the window until they are.
bool ScheduleRun::settle_receives(Transport& transport) {
  bool has_any = false;
  for (std::size_t i = 0; i < receive_count_; ++i) {
    Message& message = receives_[i];
    for (std::size_t k = 0; k < message.window.count(); ++k) {
      Piece& piece = message.window.at(k);
      if (!piece.has_arrived && !transport.test(piece.request)) {
        break;
      }
      has_any = has_any || !piece.has_arrived;
      piece.has_arrived = true;
    }
    while (!message.is_added && !message.window.is_empty() && message.window.oldest().has_arrived) {
      message.settled += message.window.oldest().size;
      message.window.pop();
    }
  }
  return has_any;
}

// ---- without it

bool ScheduleRun::may_be_added(std::size_t receive, Extent where) const {
  const auto is_free_of = [&](const Message& message) {
    return !overlap(where.begin, where.end, message.settled, message.place.end);
  };
  return std::all_of(sends_.begin(), sends_.begin() + static_cast<std::ptrdiff_t>(send_count_),
                     is_free_of) &&
         std::all_of(receives_.begin(), receives_.begin() + static_cast<std::ptrdiff_t>(receive),
                     is_free_of);
}

void ScheduleRun::add_what_may_be() {
  for (std::size_t i = 0; i < receive_count_; ++i) {
    Message& message = receives_[i];
    while (message.is_added && !message.window.is_empty() && message.window.oldest().has_arrived) {
      const std::size_t size = message.window.oldest().size;
      const Extent where{message.settled, message.settled + size};
      if (!may_be_added(i, where)) {
        break;
      }
      add(std::span(message.staged).subspan(message.window.oldest_place() * message.piece, size),
          into_.subspan(where.begin, size));
      message.settled += size;
      message.window.pop();
    }
  }
}

}  // namespace twinrun::exec
