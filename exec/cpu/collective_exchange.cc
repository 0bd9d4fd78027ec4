#include "exec/cpu/collective_exchange.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"

namespace twinrun::exec {
namespace {

void add(const float* from, std::size_t count, float* into) {
  for (std::size_t i = 0; i < count; ++i) {
    into[i] += from[i];
  }
}

bool is_sent(const StepTransfers& step, ByteRange range) {
  return std::any_of(step.sends.begin(), step.sends.end(), [&](const Transfer& send) {
    return send.from.begin < range.end && range.begin < send.from.end;
  });
}

float* at_byte(float* array, std::int64_t byte) {
  return array + byte / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

CollectiveExchange::CollectiveExchange(const CollectiveSchedule& schedule)
    : schedule_(schedule), parties_(schedule.participants()) {
  TWINRUN_CHECK(schedule.participants() == schedule.spec().ranks);
}

void CollectiveExchange::run(std::uint32_t rank, std::span<float> array, std::span<float> into) {
  TWINRUN_CHECK(array.size() >= element_count());
  Party& self = parties_[rank];
  self.array = array.data();
  std::uint32_t sent = 0;
  StepTransfers step;
  std::vector<Staged> staged;
  for (std::uint32_t number = 0; number < schedule_.steps(); ++number) {
    schedule_.transfers(rank, number, step);
    self.begun.raise_to(number + 1);
    for (const Transfer& transfer : step.receives) {
      receive(step, transfer, number, into.data(), staged);
    }
    sent += static_cast<std::uint32_t>(step.sends.size());
    self.taken.wait_for(sent);
    for (const Staged& one : staged) {
      add(one.elements.data(), one.elements.size(), one.into);
    }
    staged.clear();
  }
}

void CollectiveExchange::receive(const StepTransfers& step,
                                 const Transfer& transfer,
                                 std::uint32_t number,
                                 float* array,
                                 std::vector<Staged>& staged) {
  Party& peer = parties_[transfer.peer];
  peer.begun.wait_for(number + 1);
  const float* const from = at_byte(peer.array, transfer.from.begin);
  float* const into = at_byte(array, transfer.into);
  const auto bytes = static_cast<std::size_t>(transfer.from.size());
  const std::size_t count = bytes / sizeof(float);
  const ByteRange place{transfer.into, transfer.into + transfer.from.size()};
  if (transfer.action == Action::kCopy) {
    std::memcpy(into, from, bytes);
  } else if (is_sent(step, place)) {
    staged.push_back({std::vector<float>(from, from + count), into});
  } else {
    add(from, count, into);
  }
  peer.taken.raise();
}

void CollectiveExchange::stop() {
  for (Party& party : parties_) {
    party.begun.stop();
    party.taken.stop();
  }
}

}  // namespace twinrun::exec
