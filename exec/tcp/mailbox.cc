#include "exec/tcp/mailbox.h"

#include <algorithm>

namespace twinrun::exec {

void Mailbox::drop_if_empty(Boxes::iterator box) {
  if (box->second.wanted.empty() && box->second.arrived.empty()) {
    boxes_.erase(box);
  }
}

std::optional<Arrived> Mailbox::want(const Address& from, std::uint64_t taker) {
  const auto box = boxes_.try_emplace({from.communicator, from.tag}).first;
  std::deque<Arrived>& arrived = box->second.arrived;
  const auto found = std::find_if(arrived.begin(), arrived.end(), [&](const Arrived& message) {
    return from.process == Transport::kAnybody || message.from == from.process;
  });
  if (found == arrived.end()) {
    box->second.wanted.push_back({from.process, taker});
    return std::nullopt;
  }
  std::optional<Arrived> out = std::move(*found);
  arrived.erase(found);
  drop_if_empty(box);
  return out;
}

std::optional<std::uint64_t> Mailbox::taker_of(const Address& from) {
  const auto box = boxes_.find({from.communicator, from.tag});
  if (box == boxes_.end()) {
    return std::nullopt;
  }
  std::deque<Wanted>& wanted = box->second.wanted;
  const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& one) {
    return one.from == Transport::kAnybody || one.from == from.process;
  });
  if (found == wanted.end()) {
    return std::nullopt;
  }
  const std::uint64_t out = found->taker;
  wanted.erase(found);
  drop_if_empty(box);
  return out;
}

void Mailbox::keep(const Address& from, Arrived message) {
  boxes_[{from.communicator, from.tag}].arrived.push_back(std::move(message));
}

}  // namespace twinrun::exec
