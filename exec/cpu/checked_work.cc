#include "exec/cpu/checked_work.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/diagnostics.h"
#include "core/collective/schedule.h"
#include "exec/training/collective_array.h"

namespace twinrun::exec {
namespace {

bool is_barrier(const Plan& plan, OpId op) {
  return plan.kind(op) == OpKind::kCollective && plan.shape(op).kind == CollectiveKind::kBarrier;
}

bool moves_numbers(const Plan& plan, OpId op) {
  const OpKind kind = plan.kind(op);
  const bool moves = kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
  return moves && !is_barrier(plan, op);
}

bool is_all_to_all(const Plan& plan, OpId op) {
  return plan.kind(op) == OpKind::kCollective && plan.shape(op).kind == CollectiveKind::kAllToAll;
}

std::size_t elements_of(const Plan& plan, OpId op) {
  const Bytes bytes =
      plan.kind(op) == OpKind::kCollective ? plan.collective(op).bytes : plan.message(op).bytes;
  return static_cast<std::size_t>(bytes.count) / sizeof(float);
}

// The same on all ranks of an exchange, and another one for each.
std::uint32_t number_of(const Plan& plan, OpId op) {
  if (plan.kind(op) == OpKind::kCollective) {
    return static_cast<std::uint32_t>(plan.collective(op).instance);
  }
  return static_cast<std::uint32_t>(plan.kind(op) == OpKind::kSend ? plan.message(op).partner : op);
}

std::uint32_t group_size(const Plan& plan, OpId op) {
  return static_cast<std::uint32_t>(plan.group_devices(plan.shape(op).group).size());
}

void refuse_unknown(const Plan& plan, OpId op) {
  const OpKind kind = plan.kind(op);
  if (kind == OpKind::kCompute || kind == OpKind::kCopy) {
    throw CannotRun(
        fmt::format("{} is no exchange, and only data of exchanges is checked", plan.id(op)));
  }
  if (kind == OpKind::kCollective && plan.shape(op).dtype != Dtype::kFp32) {
    throw CannotRun(fmt::format("what is measured here is fp32, not {}: --type fp32",
                                name_of(plan.shape(op).dtype)));
  }
  if (kind == OpKind::kCollective && group_size(plan, op) > KnownNumbers::kMostRanks) {
    throw CannotRun(fmt::format("sums over {} ranks are not exact in fp32", group_size(plan, op)));
  }
}

// Rather than to be killed by the system.
void refuse_more_than_there_is(std::size_t elements) {
  const double wanted = static_cast<double>(elements) * sizeof(float);
  const double there =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (wanted > there) {
    throw CannotRun(fmt::format("the arrays take {:.1f} GB, and this machine has {:.1f} GB",
                                wanted / 1e9, there / 1e9));
  }
}

std::span<float> share_of(std::span<float> array, std::uint32_t ranks, std::uint32_t rank) {
  const ByteRange share =
      chunk_of(ByteRange{0, static_cast<std::int64_t>(array.size())}, 1, ranks, rank);
  return array.subspan(static_cast<std::size_t>(share.begin),
                       static_cast<std::size_t>(share.size()));
}

}  // namespace

CheckedWork::CheckedWork(const Plan& plan, const LocalDevices& here, const Allocate& allocate)
    : plan_(plan),
      arrays_(plan.stream_count()),
      next_(plan.size(), no_id<OpId>()),
      last_(plan.size(), no_id<OpId>()) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    refuse_unknown(plan, id_at<OpId>(i));
  }
  for (std::size_t i = 0; i < plan.group_count(); ++i) {
    const std::size_t ranks = plan.group_devices(id_at<GroupId>(i)).size();
    numbers_.emplace_back(static_cast<std::uint32_t>(ranks));
  }
  numbers_.emplace_back(1);
  provide_arrays(
      here, allocate ? allocate : [this](StreamId, std::size_t elements) {
        return std::span(own_.emplace_back(elements));
      });
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    find_exchanges(id_at<StreamId>(i));
  }
}

void CheckedWork::provide_arrays(const LocalDevices& here, const Allocate& allocate) {
  std::vector<std::size_t> sent(arrays_.size());
  std::vector<std::size_t> arrived(arrays_.size());
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (moves_numbers(plan_, op) && here.has(plan_.device(op))) {
      const std::size_t stream = index_of(plan_.stream(op));
      const std::size_t elements = elements_of(plan_, op);
      sent[stream] = std::max(sent[stream], elements);
      if (is_all_to_all(plan_, op)) {
        arrived[stream] = std::max(arrived[stream], elements + group_size(plan_, op));
      }
    }
  }
  std::size_t all = 0;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    all += sent[i] + arrived[i];
  }
  refuse_more_than_there_is(all);
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (sent[i] > 0) {
      arrays_[i].array = allocate(id_at<StreamId>(i), sent[i]);
    }
    if (arrived[i] > 0) {
      arrays_[i].arrived = allocate(id_at<StreamId>(i), arrived[i]);
    }
  }
}

void CheckedWork::find_exchanges(StreamId stream) {
  OpId host = no_id<OpId>();
  OpId before = no_id<OpId>();
  for (const OpId op : plan_.stream_ops(stream)) {
    if (plan_.kind(op) == OpKind::kHost) {
      host = op;
      last_[index_of(op)] = before;
    } else if (moves_numbers(plan_, op) && host != no_id<OpId>()) {
      next_[index_of(host)] = op;
      host = no_id<OpId>();
    }
    before = moves_numbers(plan_, op) ? op : no_id<OpId>();
  }
}

std::span<float> CheckedWork::array_of(OpId op) {
  return arrays_[index_of(plan_.stream(op))].array.first(elements_of(plan_, op));
}

const KnownNumbers& CheckedWork::numbers_of(OpId op) const {
  return plan_.kind(op) == OpKind::kCollective ? numbers_[index_of(plan_.shape(op).group)]
                                               : numbers_.back();
}

MovedData CheckedWork::moved(OpId op) {
  Arrays& arrays = arrays_[index_of(plan_.stream(op))];
  if (is_barrier(plan_, op)) {
    return {{std::span(&arrays.barrier, 1)}};
  }
  MovedData out{{array_of(op)}};
  out.is_exclusive = true;
  if (is_all_to_all(plan_, op)) {
    const std::uint32_t ranks = group_size(plan_, op);
    const std::size_t each = share_of(array_of(op), ranks, rank_in_group(plan_, op)).size();
    for (std::uint32_t other = 0; other < ranks; ++other) {
      out.from_each.push_back({arrays.arrived.subspan(other * each, each)});
    }
  }
  return out;
}

void CheckedWork::compute(OpId op) {
  if (const OpId last = last_[index_of(op)]; last != no_id<OpId>()) {
    wrong_ += count_wrong(last);
  }
  if (const OpId next = next_[index_of(op)]; next != no_id<OpId>()) {
    put_numbers(next);
  }
}

void CheckedWork::put_numbers(OpId op) {
  const bool is_collective = plan_.kind(op) == OpKind::kCollective;
  const std::uint32_t rank = is_collective ? rank_in_group(plan_, op)
                                           : static_cast<std::uint32_t>(index_of(plan_.device(op)));
  if (plan_.kind(op) != OpKind::kRecv) {
    numbers_of(op).put(rank, {number_of(plan_, op), 0}, array_of(op));
  }
}

std::int64_t CheckedWork::count_wrong(OpId op) {
  if (plan_.kind(op) == OpKind::kCollective) {
    return count_wrong_of_collective(op);
  }
  if (plan_.kind(op) == OpKind::kSend) {
    return 0;
  }
  const DeviceId sender = plan_.device(plan_.message(op).partner);
  return numbers_of(op).wrong(static_cast<std::uint32_t>(index_of(sender)),
                              {number_of(plan_, op), 0}, array_of(op));
}

std::int64_t CheckedWork::count_wrong_of_collective(OpId op) {
  const KnownNumbers& numbers = numbers_of(op);
  const std::uint32_t exchange = number_of(plan_, op);
  const std::uint32_t ranks = group_size(plan_, op);
  const std::uint32_t rank = rank_in_group(plan_, op);
  const std::span<float> array = array_of(op);
  const auto first_of = [&](std::span<float> share, std::span<float> whole) {
    return static_cast<std::size_t>(share.data() - whole.data());
  };
  std::int64_t wrong = 0;
  switch (plan_.shape(op).kind) {
    case CollectiveKind::kAllReduce:
      return numbers.wrong_sums({exchange, 0}, array);
    case CollectiveKind::kReduce:
      return plan_.shape(op).root == plan_.device(op) ? numbers.wrong_sums({exchange, 0}, array)
                                                      : 0;
    case CollectiveKind::kReduceScatter: {
      const std::span<float> own = share_of(array, ranks, rank);
      return numbers.wrong_sums({exchange, first_of(own, array)}, own);
    }
    case CollectiveKind::kBroadcast: {
      const auto devices = plan_.group_devices(plan_.shape(op).group);
      const auto root = std::find(devices.begin(), devices.end(), plan_.shape(op).root);
      return numbers.wrong(static_cast<std::uint32_t>(root - devices.begin()), {exchange, 0},
                           array);
    }
    case CollectiveKind::kAllGather:
      for (std::uint32_t other = 0; other < ranks; ++other) {
        const std::span<float> share = share_of(array, ranks, other);
        wrong += numbers.wrong(other, {exchange, first_of(share, array)}, share);
      }
      return wrong;
    case CollectiveKind::kAllToAll: {
      const MovedData data = moved(op);
      const std::span<float> sent = share_of(array, ranks, rank);
      for (std::uint32_t other = 0; other < ranks; ++other) {
        wrong +=
            numbers.wrong(other, {exchange, first_of(sent, array)}, data.from_each[other].front());
      }
      return wrong;
    }
    case CollectiveKind::kBarrier:
      break;
  }
  return 0;
}

}  // namespace twinrun::exec
