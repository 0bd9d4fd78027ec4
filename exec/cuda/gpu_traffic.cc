#include "exec/cuda/gpu_traffic.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>

#include "core/base/check.h"
#include "exec/training/collective_array.h"

namespace twinrun::exec {
namespace {

std::size_t total(std::span<const std::span<float>> ranges) {
  return std::accumulate(
      ranges.begin(), ranges.end(), std::size_t{0},
      [](std::size_t sum, std::span<float> range) { return sum + range.size(); });
}

// The same sizes, one behind the other, from there on.
std::vector<std::span<float>> behind_each_other(std::span<const std::span<float>> ranges,
                                                float* at) {
  std::vector<std::span<float>> out;
  for (const std::span<float> range : ranges) {
    out.emplace_back(at, range.size());
    at += range.size();
  }
  return out;
}

GpuTransferKind kind_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kReduceScatter:
      return GpuTransferKind::kReduceScatter;
    case CollectiveKind::kAllGather:
      return GpuTransferKind::kAllGather;
    case CollectiveKind::kBroadcast:
      return GpuTransferKind::kBroadcast;
    case CollectiveKind::kReduce:
      return GpuTransferKind::kReduce;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllToAll:  // made of messages, see exchanged()
      break;
  }
  return GpuTransferKind::kAllReduce;
}

}  // namespace

float* GpuTraffic::scratch(OpId op, Scratch kind, std::size_t elements) {
  return static_cast<float*>(machine_.scratch(plan_.stream(op), kind, elements * sizeof(float)));
}

void GpuTraffic::copy(OpId op, std::span<const float> from, float* into) {
  if (!is_measured() && !from.empty()) {
    runtime_.copy(machine_.stream_of(op), into, from.data(), from.size_bytes());
  }
}

GpuTransfer GpuTraffic::transfer(OpId op, GpuTransferKind kind, int peer) const {
  GpuTransfer out;
  out.kind = kind;
  out.peer = peer;
  if (!is_measured()) {
    out.stream = machine_.stream_of(op);
    out.communicator = *communicators_.of(op);
  }
  return out;
}

void GpuTraffic::measure(OpId op) {
  if (plan_.kind(op) != OpKind::kCollective && is_copied_message(plan_, machine_, op)) {
    if (plan_.kind(op) == OpKind::kSend) {
      readable(op, work_.moved(op));
    }
    return;
  }
  Transfers transfers;
  before_group(op, transfers);
  after_group(op);
}

void GpuTraffic::enqueue(std::span<const OpId> ops, bool is_known_to_receiver) {
  const OpId first = ops.front();
  if (plan_.kind(first) != OpKind::kCollective && is_copied_message(plan_, machine_, first)) {
    const OpId partner = plan_.message(first).partner;
    const bool sends = plan_.kind(first) == OpKind::kSend;
    return copy_message(sends ? first : partner, sends ? partner : first, is_known_to_receiver);
  }
  Transfers transfers;
  for (const OpId op : ops) {
    before_group(op, transfers);
  }
  if (!transfers.empty()) {
    runtime_.begin_group();
    for (const GpuTransfer& one : transfers) {
      runtime_.communicate(one);
    }
    runtime_.end_group();
  }
  for (const OpId op : ops) {
    after_group(op);
  }
}

double GpuTraffic::estimate_s(std::span<const OpId> ops) {
  Transfers transfers;
  for (const OpId op : ops) {
    before_group(op, transfers);
  }
  if (transfers.empty()) {
    return 0;
  }
  runtime_.begin_group();
  for (const GpuTransfer& one : transfers) {
    runtime_.communicate(one);
  }
  return runtime_.estimate_group_s();
}

void GpuTraffic::before_group(OpId op, Transfers& transfers) {
  switch (plan_.kind(op)) {
    case OpKind::kSend:
      return send(op, transfers);
    case OpKind::kRecv:
      return receive(op, transfers);
    default:
      return collective(op, transfers);
  }
}

// ---- messages

// What others may write meanwhile, or what is taken, leaves as a copy.
GpuTraffic::Ranges GpuTraffic::readable(OpId send, const MovedData& data) {
  if (!data.is_shared && !data.is_taken) {
    return data.ranges;
  }
  const bool is_host = machine_.place_of(send).is_host;
  Ranges copies = behind_each_other(
      data.ranges,
      scratch(send, is_host ? Scratch::kPinned : Scratch::kDevice, total(data.ranges)));
  if (is_measured()) {
    return copies;
  }
  const GpuStream& stream = machine_.stream_of(send);
  if (is_host) {
    machine_.call(stream, [machine = &machine_, data, copies] {
      const auto lock = data.locked();
      for (std::size_t i = 0; i < copies.size(); ++i) {
        machine->host_kernels().copy(data.ranges[i], copies[i], data.is_taken);
      }
    });
    return copies;
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    runtime_.take(stream, data.ranges[i], copies[i], data.is_taken,
                  machine_.locks_for(data.ranges[i].data()));
  }
  return copies;
}

// By a GPU: what a host has is brought to the one that its streams are on.
GpuTraffic::Ranges GpuTraffic::readable_by_nccl(OpId send, const MovedData& data) {
  Ranges from = readable(send, data);
  if (!machine_.place_of(send).is_host) {
    return from;
  }
  Ranges there = behind_each_other(from, scratch(send, Scratch::kDevice, total(from)));
  for (std::size_t i = 0; i < from.size(); ++i) {
    copy(send, from[i], there[i].data());
  }
  return there;
}

// Both start when both have come: the receiver's stream waits for the sender's and copies; the
// sender's goes on when its memory has been read.
void GpuTraffic::copy_message(OpId send, OpId recv, bool is_known_to_receiver) {
  const GpuStream& sender = machine_.stream_of(send);
  const GpuStream& receiver = machine_.stream_of(recv);
  const MovedData data = work_.moved(send);
  const Ranges from = readable(send, data);
  const Ranges into = work_.moved(recv).ranges;
  TWINRUN_CHECK(from.size() == into.size());
  if (!is_known_to_receiver || data.is_shared || data.is_taken) {
    const GpuEvent can_be_read = events_.record(sender);
    runtime_.wait(receiver, can_be_read);
    events_.give_back(can_be_read);
  }
  if (machine_.place_of(send).is_host && machine_.place_of(recv).is_host) {
    machine_.call(receiver, [machine = &machine_, from, into] {
      for (std::size_t i = 0; i < from.size(); ++i) {
        machine->host_kernels().copy(from[i], into[i], false);
      }
    });
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) {
      copy(recv, from[i], into[i].data());
    }
  }
  const GpuEvent has_been_read = events_.record(receiver);
  runtime_.wait(sender, has_been_read);
  events_.give_back(has_been_read);
}

// One transfer for each range, as the other end has it; of nothing at all, one element: those who
// send nothing meet as well.
void GpuTraffic::send(OpId op, Transfers& transfers) {
  Ranges from = readable_by_nccl(op, work_.moved(op));
  if (total(from) == 0) {
    from = {{scratch(op, Scratch::kDevice, 1), 1}};
  }
  for (const std::span<float> range : from) {
    if (!range.empty()) {
      GpuTransfer& one = transfers.emplace_back(transfer(op, GpuTransferKind::kSend, 1));
      one.from = range.data();
      one.count = static_cast<std::int64_t>(range.size());
    }
  }
}

void GpuTraffic::receive(OpId op, Transfers& transfers) {
  Ranges into = work_.moved(op).ranges;
  const std::size_t elements = total(into);
  if (elements == 0) {
    into = {{scratch(op, Scratch::kDevice, 1), 1}};
  } else if (machine_.place_of(op).is_host) {
    into = behind_each_other(into, scratch(op, Scratch::kDevice, elements));
  }
  for (const std::span<float> range : into) {
    if (!range.empty()) {
      GpuTransfer& one = transfers.emplace_back(transfer(op, GpuTransferKind::kReceive, 0));
      one.into = range.data();
      one.count = static_cast<std::int64_t>(range.size());
    }
  }
}

// ---- collectives

// Nothing happens to the array of a rank that is alone, but that it arrives elsewhere.
bool GpuTraffic::is_idle(OpId op) const {
  return ranks_of_group(plan_, op) == 1 && plan_.shape(op).kind != CollectiveKind::kAllToAll;
}

void GpuTraffic::collective(OpId op, Transfers& transfers) {
  if (is_idle(op)) {
    return;
  }
  const CollectiveShape& shape = plan_.shape(op);
  const MovedData data = work_.moved(op);
  const bool has_nothing = shape.kind == CollectiveKind::kBarrier || total(data.ranges) == 0;
  if (has_nothing && ranks_of_group(plan_, op) > 1) {
    GpuTransfer& one = transfers.emplace_back(transfer(op, GpuTransferKind::kAllReduce, 0));
    one.into = scratch(op, Scratch::kDevice, 1);
    one.from = one.into;
    one.count = 1;
    return;
  }
  if (shape.kind == CollectiveKind::kAllToAll) {
    return exchanged(op, data, transfers);
  }
  if (divides_ranges(shape.kind)) {
    return divided(op, data, transfers);
  }
  const auto devices = plan_.group_devices(shape.group);
  const auto root = std::find(devices.begin(), devices.end(), shape.root);
  const int root_rank = root == devices.end() ? 0 : static_cast<int>(root - devices.begin());
  for (const std::span<float> range : data.ranges) {
    if (!range.empty()) {
      GpuTransfer& one = transfers.emplace_back(transfer(op, kind_of(shape.kind), root_rank));
      one.from = range.data();
      one.into = range.data();
      one.count = static_cast<std::int64_t>(range.size());
    }
  }
}

void GpuTraffic::divided(OpId op, const MovedData& data, Transfers& transfers) {
  const std::uint32_t ranks = ranks_of_group(plan_, op);
  const std::uint32_t rank = rank_in_group(plan_, op);
  const DividedArray layout(data.ranges, ranks);
  float* const array = scratch(op, Scratch::kDevice, layout.size());
  const bool gathers = plan_.shape(op).kind == CollectiveKind::kAllGather;
  for (std::uint32_t other = gathers ? rank : 0; other < (gathers ? rank + 1 : ranks); ++other) {
    layout.for_each_share(
        other, [&](std::span<float> share, std::size_t at) { copy(op, share, array + at); });
  }
  GpuTransfer& one = transfers.emplace_back(transfer(op, kind_of(plan_.shape(op).kind), 0));
  float* const own = array + rank * layout.per_rank();
  one.from = gathers ? own : array;
  one.into = gathers ? array : own;
  one.count = static_cast<std::int64_t>(layout.per_rank());
}

// What is there already is not written again: weights may be gathered for backward while the block
// still computes its forward pass with them.
void GpuTraffic::after_divided(OpId op, const MovedData& data) {
  const std::uint32_t ranks = ranks_of_group(plan_, op);
  const std::uint32_t rank = rank_in_group(plan_, op);
  const DividedArray layout(data.ranges, ranks);
  const float* const array = scratch(op, Scratch::kDevice, layout.size());
  const bool gathers = plan_.shape(op).kind == CollectiveKind::kAllGather;
  for (std::uint32_t other = gathers ? 0 : rank; other < (gathers ? ranks : rank + 1); ++other) {
    layout.for_each_share(other, [&](std::span<float> share, std::size_t at) {
      if (!is_measured()) {
        runtime_.replace(machine_.stream_of(op), {array + at, share.size()}, share);
      }
    });
  }
}

// Every rank sends each other its share of what it has, and keeps the shares apart that come.
void GpuTraffic::exchanged(OpId op, const MovedData& data, Transfers& transfers) {
  const std::uint32_t ranks = ranks_of_group(plan_, op);
  const DividedArray layout(data.ranges, ranks);
  float* const sent = scratch(op, Scratch::kDevice, 2 * layout.size());
  float* const arrived = sent + layout.size();
  const std::uint32_t rank = rank_in_group(plan_, op);
  for (std::uint32_t other = 0; other < ranks; ++other) {
    layout.for_each_share(other, [&](std::span<float> share, std::size_t at) {
      copy(op, share, (other == rank ? arrived : sent) + at);
    });
  }
  const auto count = static_cast<std::int64_t>(layout.per_rank());
  for (std::uint32_t other = 0; other < ranks; ++other) {
    if (other == rank) {
      continue;
    }
    GpuTransfer& there =
        transfers.emplace_back(transfer(op, GpuTransferKind::kSend, static_cast<int>(other)));
    there.from = sent + other * layout.per_rank();
    there.count = count;
    GpuTransfer& back =
        transfers.emplace_back(transfer(op, GpuTransferKind::kReceive, static_cast<int>(other)));
    back.into = arrived + other * layout.per_rank();
    back.count = count;
  }
}

void GpuTraffic::after_exchanged(OpId op, const MovedData& data) {
  const DividedArray layout(data.ranges, ranks_of_group(plan_, op));
  const float* const arrived = scratch(op, Scratch::kDevice, 2 * layout.size()) + layout.size();
  for (std::uint32_t other = 0; other < data.from_each.size(); ++other) {
    std::size_t range = 0;
    layout.for_each_share(other, [&](std::span<float>, std::size_t at) {
      const std::span<float> into = data.from_each[other][range++];
      copy(op, {arrived + at, into.size()}, into.data());
    });
  }
}

void GpuTraffic::after_group(OpId op) {
  const OpKind kind = plan_.kind(op);
  if (kind == OpKind::kSend || (kind == OpKind::kCollective && is_idle(op))) {
    return;
  }
  const MovedData data = work_.moved(op);
  if (kind == OpKind::kRecv) {
    const bool lands_on_gpu = machine_.place_of(op).is_host;
    const Ranges there =
        lands_on_gpu
            ? behind_each_other(data.ranges, scratch(op, Scratch::kDevice, total(data.ranges)))
            : Ranges();
    for (std::size_t i = 0; i < there.size(); ++i) {
      copy(op, there[i], data.ranges[i].data());
    }
    return;
  }
  const CollectiveKind collective = plan_.shape(op).kind;
  if (total(data.ranges) > 0 && collective == CollectiveKind::kAllToAll) {
    after_exchanged(op, data);
  } else if (total(data.ranges) > 0 && divides_ranges(collective)) {
    after_divided(op, data);
  }
}

}  // namespace twinrun::exec
