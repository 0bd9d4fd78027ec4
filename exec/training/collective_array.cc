#include "exec/training/collective_array.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/collective/schedule.h"
#include "exec/gate.h"
#include "exec/left_behind.h"

namespace twinrun::exec {
namespace {

using Ranges = std::span<const std::span<float>>;

std::size_t total(Ranges ranges) {
  std::size_t sum = 0;
  for (const std::span<float> range : ranges) {
    sum += range.size();
  }
  return sum;
}

// An array of its own for one exchange. When the run is stopped in the middle, others may still
// read it and messages arrive in it: then it stays.
class ExchangedArray {
 public:
  explicit ExchangedArray(std::vector<float> elements)
      : elements_(std::make_unique<std::vector<float>>(std::move(elements))) {}

  [[nodiscard]] std::vector<float>& operator*() const { return *elements_; }
  void leave() { leave_behind(std::move(elements_)); }

 private:
  std::unique_ptr<std::vector<float>> elements_;
};

void exchange_between(ExchangedArray& array, ExchangedArray& into, const ExchangeArray& exchange) {
  try {
    exchange(*array, *into);
  } catch (const Stopped&) {
    array.leave();
    if (&array != &into) {
      into.leave();
    }
    throw;
  }
}

void with_divided_array(const Plan& plan,
                        OpId op,
                        const MovedData& data,
                        const ExchangeArray& exchange) {
  const std::uint32_t ranks = ranks_of_group(plan, op);
  const std::uint32_t rank = rank_in_group(plan, op);
  const DividedArray divided(data.ranges, ranks);
  if (data.is_exclusive && divided.is_one_range()) {
    return exchange(data.ranges.front(), data.ranges.front());
  }
  const bool gathers = plan.shape(op).kind == CollectiveKind::kAllGather;
  ExchangedArray array{std::vector<float>(divided.size())};
  const auto put = [&](std::span<float> share, std::size_t at) {
    std::copy(share.begin(), share.end(), (*array).begin() + static_cast<std::ptrdiff_t>(at));
  };
  // What is there already is not written again: weights may be gathered for backward while the
  // block still computes its forward pass with them.
  const auto get = [&](std::span<float> share, std::size_t at) {
    const auto from = (*array).begin() + static_cast<std::ptrdiff_t>(at);
    if (!std::equal(share.begin(), share.end(), from)) {
      std::copy_n(from, share.size(), share.begin());
    }
  };
  for (std::uint32_t other = gathers ? rank : 0; other < (gathers ? rank + 1 : ranks); ++other) {
    divided.for_each_share(other, put);
  }
  exchange_between(array, array, exchange);
  for (std::uint32_t other = gathers ? 0 : rank; other < (gathers ? ranks : rank + 1); ++other) {
    divided.for_each_share(other, get);
  }
}

// Every rank sends each other its share of what it has, and keeps the shares apart that come.
void with_exchanged_shares(const Plan& plan,
                           OpId op,
                           const MovedData& data,
                           const ExchangeArray& exchange) {
  const std::uint32_t ranks = ranks_of_group(plan, op);
  const DividedArray divided(data.ranges, ranks);
  if (data.is_exclusive && divided.is_one_range()) {
    const std::uint32_t rank = rank_in_group(plan, op);
    divided.for_each_share(rank, [&](std::span<float> share, std::size_t) {
      std::copy(share.begin(), share.end(), data.from_each[rank].front().begin());
    });
    return exchange(data.ranges.front(),
                    {data.from_each.front().front().data(), data.ranges.front().size()});
  }
  ExchangedArray sent{std::vector<float>(divided.size())};
  for (std::uint32_t other = 0; other < ranks; ++other) {
    divided.for_each_share(other, [&](std::span<float> share, std::size_t at) {
      std::copy(share.begin(), share.end(), (*sent).begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  ExchangedArray arrived(*sent);  // a rank's own share stays where it is
  exchange_between(sent, arrived, exchange);
  for (std::uint32_t other = 0; other < data.from_each.size(); ++other) {
    std::size_t range = 0;
    divided.for_each_share(other, [&](std::span<float>, std::size_t at) {
      const std::span<float> into = data.from_each[other][range++];
      std::copy_n((*arrived).begin() + static_cast<std::ptrdiff_t>(at), into.size(), into.begin());
    });
  }
}

}  // namespace

DividedArray::DividedArray(Ranges ranges, std::uint32_t ranks) : ranges_(ranges), ranks_(ranks) {
  for (const std::span<float> range : ranges) {
    per_rank_ += largest_share(range);
  }
}

std::span<float> DividedArray::share_of(std::span<float> range, std::uint32_t rank) const {
  const ByteRange share =
      chunk_of(ByteRange{0, static_cast<std::int64_t>(range.size())}, 1, ranks_, rank);
  return range.subspan(static_cast<std::size_t>(share.begin),
                       static_cast<std::size_t>(share.size()));
}

std::uint32_t ranks_of_group(const Plan& plan, OpId op) {
  return static_cast<std::uint32_t>(plan.group_devices(plan.shape(op).group).size());
}

std::uint32_t rank_in_group(const Plan& plan, OpId op) {
  const auto devices = plan.group_devices(plan.shape(op).group);
  const auto found = std::find(devices.begin(), devices.end(), plan.device(op));
  TWINRUN_CHECK(found != devices.end());
  return static_cast<std::uint32_t>(found - devices.begin());
}

std::int64_t array_elements(const Plan& plan, OpId op, const MovedData& data) {
  return static_cast<std::int64_t>(divides_ranges(plan.shape(op).kind)
                                       ? DividedArray(data.ranges, ranks_of_group(plan, op)).size()
                                       : total(data.ranges));
}

void with_collective_array(const Plan& plan,
                           OpId op,
                           const MovedData& data,
                           const ExchangeArray& exchange) {
  if (plan.shape(op).kind == CollectiveKind::kAllToAll) {
    return with_exchanged_shares(plan, op, data, exchange);
  }
  if (divides_ranges(plan.shape(op).kind)) {
    return with_divided_array(plan, op, data, exchange);
  }
  if (data.ranges.size() == 1) {
    return exchange(data.ranges.front(), data.ranges.front());
  }
  ExchangedArray array(packed(data.ranges));
  exchange_between(array, array, exchange);
  unpack(*array, data.ranges);
}

std::vector<float> packed(Ranges ranges) {
  std::vector<float> out;
  out.reserve(total(ranges));
  for (const std::span<float> range : ranges) {
    out.insert(out.end(), range.begin(), range.end());
  }
  return out;
}

void unpack(std::span<const float> from, Ranges ranges) {
  TWINRUN_CHECK(from.size() == total(ranges));
  for (const std::span<float> range : ranges) {
    std::copy_n(from.begin(), range.size(), range.begin());
    from = from.subspan(range.size());
  }
}

}  // namespace twinrun::exec
