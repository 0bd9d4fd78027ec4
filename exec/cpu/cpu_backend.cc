#include "exec/cpu/cpu_backend.h"

#include <algorithm>
#include <mutex>

#include "core/base/check.h"
#include "core/collective/schedule.h"
#include "exec/cpu/choose_schedule.h"

namespace twinrun::exec {
namespace {

using Ranges = std::vector<std::span<float>>;

std::int64_t total(const Ranges& ranges) {
  std::int64_t sum = 0;
  for (const std::span<float> range : ranges) {
    sum += static_cast<std::int64_t>(range.size());
  }
  return sum;
}

bool is_divided(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllToAll;
}

// Each range is divided among the ranks by itself; one rank's shares of all of them stand beside
// each other, padded to the size of the largest, so that every rank has equally many.
struct DividedArray {
  DividedArray(const Ranges& of, std::uint32_t count) : ranges(of), ranks(count) {
    for (const std::span<float> range : of) {
      per_rank += (range.size() + ranks - 1) / ranks;
    }
  }

  [[nodiscard]] std::size_t size() const { return per_rank * ranks; }

  // Calls with (a rank's share of a range, its place in the array).
  template <class Call>
  void for_each_share(std::uint32_t rank, const Call& call) const {
    std::size_t at = rank * per_rank;
    for (const std::span<float> range : ranges) {
      const ByteRange share =
          chunk_of(ByteRange{0, static_cast<std::int64_t>(range.size())}, 1, ranks, rank);
      call(range.subspan(static_cast<std::size_t>(share.begin),
                         static_cast<std::size_t>(share.size())),
           at);
      at += (range.size() + ranks - 1) / ranks;
    }
  }

  const Ranges& ranges;
  std::uint32_t ranks;
  std::size_t per_rank = 0;
};

std::vector<float> packed(const Ranges& ranges) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(total(ranges)));
  for (const std::span<float> range : ranges) {
    out.insert(out.end(), range.begin(), range.end());
  }
  return out;
}

void unpack(const std::vector<float>& from, const Ranges& ranges) {
  auto next = from.begin();
  for (const std::span<float> range : ranges) {
    const auto end = next + static_cast<std::ptrdiff_t>(range.size());
    std::copy(next, end, range.begin());
    next = end;
  }
}

std::uint32_t rank_in_group(const Plan& plan, OpId op) {
  const auto devices = plan.group_devices(plan.shape(op).group);
  const auto found = std::find(devices.begin(), devices.end(), plan.device(op));
  TWINRUN_CHECK(found != devices.end());
  return static_cast<std::uint32_t>(found - devices.begin());
}

}  // namespace

CpuBackend::CpuBackend(const Plan& plan, OpWork& work)
    : plan_(plan), work_(work), received_(plan.size()) {
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    const auto instance = id_at<InstanceId>(i);
    const OpId first = plan.instance_ops(instance).front();
    const Ranges ranges = work.moved(first).ranges;
    const auto ranks = static_cast<std::uint32_t>(plan.instance_ops(instance).size());
    const std::int64_t elements =
        is_divided(plan.shape(first).kind)
            ? static_cast<std::int64_t>(DividedArray(ranges, ranks).size())
            : total(ranges);
    const ChosenSchedule chosen = choose_schedule(plan, instance, elements);
    exchanges_.push_back(std::make_unique<CollectiveExchange>(chosen.schedule));
    algorithms_.push_back(chosen.algorithm);
  }
}

void CpuBackend::run(OpId op) {
  switch (plan_.kind(op)) {
    case OpKind::kSend:
      received_[index_of(plan_.message(op).partner)].wait_for(1);
      return;
    case OpKind::kRecv:
      return receive(op);
    case OpKind::kCollective:
      return collective(op);
    case OpKind::kCompute:
    case OpKind::kCopy:
    case OpKind::kHost:
    case OpKind::kMarker:
      return work_.compute(op);
  }
}

// The sender waits meanwhile, so its memory can be read.
void CpuBackend::receive(OpId op) {
  const MovedData from = work_.moved(plan_.message(op).partner);
  const MovedData into = work_.moved(op);
  TWINRUN_CHECK(from.ranges.size() == into.ranges.size());
  const auto lock = from.lock == nullptr ? std::unique_lock<std::mutex>()
                                         : std::unique_lock<std::mutex>(*from.lock);
  for (std::size_t i = 0; i < from.ranges.size(); ++i) {
    TWINRUN_CHECK(from.ranges[i].size() == into.ranges[i].size());
    std::copy(from.ranges[i].begin(), from.ranges[i].end(), into.ranges[i].begin());
    if (from.is_taken) {
      std::fill(from.ranges[i].begin(), from.ranges[i].end(), 0.0F);
    }
  }
  received_[index_of(op)].raise();
}

void CpuBackend::collective(OpId op) {
  CollectiveExchange& exchange = *exchanges_[index_of(plan_.collective(op).instance)];
  const std::uint32_t rank = rank_in_group(plan_, op);
  if (plan_.shape(op).kind == CollectiveKind::kAllToAll) {
    return exchange_shares(op, exchange, rank);
  }
  if (is_divided(plan_.shape(op).kind)) {
    return divided_collective(op, exchange, rank);
  }
  const MovedData data = work_.moved(op);
  if (data.ranges.size() == 1) {
    return exchange.run(rank, data.ranges.front());
  }
  std::vector<float> array = packed(data.ranges);
  exchange.run(rank, array);
  unpack(array, data.ranges);
}

void CpuBackend::divided_collective(OpId op, CollectiveExchange& exchange, std::uint32_t rank) {
  const MovedData data = work_.moved(op);
  const auto ranks = static_cast<std::uint32_t>(plan_.group_devices(plan_.shape(op).group).size());
  const DividedArray divided(data.ranges, ranks);
  const bool gathers = plan_.shape(op).kind == CollectiveKind::kAllGather;
  std::vector<float> array(divided.size());
  const auto put = [&](std::span<float> share, std::size_t at) {
    std::copy(share.begin(), share.end(), array.begin() + static_cast<std::ptrdiff_t>(at));
  };
  // What is there already is not written again: weights may be gathered for backward while the
  // block still computes its forward pass with them.
  const auto get = [&](std::span<float> share, std::size_t at) {
    const auto from = array.begin() + static_cast<std::ptrdiff_t>(at);
    if (!std::equal(share.begin(), share.end(), from)) {
      std::copy_n(from, share.size(), share.begin());
    }
  };
  for (std::uint32_t other = gathers ? rank : 0; other < (gathers ? rank + 1 : ranks); ++other) {
    divided.for_each_share(other, put);
  }
  exchange.run(rank, array);
  for (std::uint32_t other = gathers ? 0 : rank; other < (gathers ? ranks : rank + 1); ++other) {
    divided.for_each_share(other, get);
  }
}

// Every rank sends each other its share of what it has, and keeps the shares apart that come.
void CpuBackend::exchange_shares(OpId op, CollectiveExchange& exchange, std::uint32_t rank) {
  const MovedData data = work_.moved(op);
  const auto ranks = static_cast<std::uint32_t>(plan_.group_devices(plan_.shape(op).group).size());
  const DividedArray divided(data.ranges, ranks);
  std::vector<float> sent(divided.size());
  for (std::uint32_t other = 0; other < ranks; ++other) {
    divided.for_each_share(other, [&](std::span<float> share, std::size_t at) {
      std::copy(share.begin(), share.end(), sent.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  std::vector<float> arrived = sent;  // a rank's own share stays where it is
  exchange.run(rank, sent, arrived);
  for (std::uint32_t other = 0; other < data.from_each.size(); ++other) {
    std::size_t range = 0;
    divided.for_each_share(other, [&](std::span<float>, std::size_t at) {
      const std::span<float> into = data.from_each[other][range++];
      std::copy_n(arrived.begin() + static_cast<std::ptrdiff_t>(at), into.size(), into.begin());
    });
  }
}

void CpuBackend::stop() {
  for (Gate& gate : received_) {
    gate.stop();
  }
  for (const auto& exchange : exchanges_) {
    exchange->stop();
  }
}

std::string CpuBackend::algorithm(InstanceId instance) const {
  return algorithms_[index_of(instance)];
}

}  // namespace twinrun::exec
