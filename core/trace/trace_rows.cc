#include "core/trace/trace_rows.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr std::int64_t kFirstOtherTid = 40;
constexpr std::int64_t kFirstLaneTid = 100;

struct KnownStream {
  std::string_view stream;
  std::int64_t tid;
  std::string_view shown;
};
constexpr std::array kKnownStreams = {
    KnownStream{"host", 1, "host stream"},  KnownStream{"compute", 7, "compute stream"},
    KnownStream{"comm", 20, "nccl (comm)"}, KnownStream{"nccl", 20, "nccl"},
    KnownStream{"dp", 20, "nccl (dp)"},     KnownStream{"tp", 21, "nccl (tp)"},
    KnownStream{"pp", 22, "nccl (pp)"},     KnownStream{"copy", 30, "h2d / d2h"},
};

bool is_orderly(std::span<const OpId> ops, const Trace& trace) {
  std::optional<Time> end;
  for (const OpId op : ops) {
    const OpTimes& times = trace.ops[index_of(op)];
    if (!has_run(times)) {
      continue;
    }
    if (end && times.start < *end) {
      return false;
    }
    end = times.end;
  }
  return true;
}

// Each op, by start, into the first lane that is free: as many lanes as ops overlap.
std::vector<std::vector<OpId>> split_into_lanes(std::span<const OpId> ops, const Trace& trace) {
  std::vector<OpId> by_start;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(by_start),
               [&](OpId op) { return has_run(trace.ops[index_of(op)]); });
  std::stable_sort(by_start.begin(), by_start.end(), [&](OpId a, OpId b) {
    return trace.ops[index_of(a)].start < trace.ops[index_of(b)].start;
  });
  std::vector<std::vector<OpId>> lanes;
  for (const OpId op : by_start) {
    const auto free = std::find_if(lanes.begin(), lanes.end(), [&](const auto& lane) {
      return trace.ops[index_of(lane.back())].end <= trace.ops[index_of(op)].start;
    });
    if (free != lanes.end()) {
      free->push_back(op);
    } else {
      lanes.push_back({op});
    }
  }
  return lanes;
}

bool is_later(const TraceTimeline::Point& a, const TraceTimeline::Point& b) {
  return std::tie(a.at, a.is_start, a.row) > std::tie(b.at, b.is_start, b.row);
}

class RowMaker {
 public:
  RowMaker(const Plan& plan, const Trace& trace) : plan_(plan), trace_(trace) {}

  void add_device(std::span<const StreamId> streams) {
    taken_.clear();
    for (const StreamId stream : streams) {
      add_stream(stream);
    }
  }
  std::vector<TraceRow> take() && { return std::move(rows_); }

 private:
  void add_stream(StreamId stream) {
    const std::string_view name = plan_.stream_name(stream);
    const auto* known = std::find_if(kKnownStreams.begin(), kKnownStreams.end(),
                                     [&](const KnownStream& one) { return one.stream == name; });
    const bool is_known = known != kKnownStreams.end();
    TraceRow row{plan_.stream_device(stream), stream, 0, 0, {}, {}};
    row.tid = take_tid(is_known ? known->tid : kFirstOtherTid);
    row.name = is_known ? known->shown : name;
    if (is_orderly(plan_.stream_ops(stream), trace_)) {
      rows_.push_back(std::move(row));
      return;
    }
    const std::string shown = row.name;
    for (auto& lane : split_into_lanes(plan_.stream_ops(stream), trace_)) {
      row.split = std::move(lane);
      rows_.push_back(row);
      ++row.lane;
      row.tid = take_tid(kFirstLaneTid);
      row.name = fmt::format("{} (overlap {})", shown, row.lane);
    }
  }

  // The wanted number, or when another stream has it the next free one from 40 on.
  std::int64_t take_tid(std::int64_t wanted) {
    std::int64_t tid = wanted;
    while (!taken_.insert(tid).second) {
      tid = std::max(tid + 1, kFirstOtherTid);
    }
    return tid;
  }

  const Plan& plan_;
  const Trace& trace_;
  std::set<std::int64_t> taken_;
  std::vector<TraceRow> rows_;
};

}  // namespace

std::int64_t to_nanoseconds(Time time) {
  const std::int64_t rest = time.ps % 1000;
  return time.ps / 1000 + (rest >= 500 ? 1 : 0) - (rest < -500 ? 1 : 0);
}

bool has_run(const OpTimes& times) { return times.end >= times.start; }

std::vector<TraceRow> trace_rows(const Plan& plan,
                                 const Trace& trace,
                                 std::span<const DeviceId> devices) {
  TWINRUN_CHECK(trace.ops.size() == plan.size());
  std::vector<DeviceId> owners(plan.stream_count());
  std::vector<StreamId> streams(plan.stream_count());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i] = id_at<StreamId>(i);
    owners[i] = plan.stream_device(streams[i]);
  }
  const auto by_device = Csr<DeviceId, StreamId>::from_pairs(plan.device_count(), owners, streams);
  RowMaker maker(plan, trace);
  for (const DeviceId device : devices) {
    maker.add_device(by_device[device]);
  }
  return std::move(maker).take();
}

TraceTimeline::TraceTimeline(const Plan& plan, const Trace& trace, std::span<const TraceRow> rows)
    : trace_(trace) {
  cursors_.reserve(rows.size());
  for (const TraceRow& row : rows) {
    cursors_.push_back({ops_of(plan, row)});
    push_start(static_cast<std::uint32_t>(cursors_.size() - 1));
  }
}

std::optional<TraceTimeline::Point> TraceTimeline::next() {
  if (heap_.empty()) {
    return std::nullopt;
  }
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const Point point = heap_.back();
  heap_.pop_back();
  if (point.is_start) {
    push({trace_.ops[index_of(point.op)].end, false, point.row, point.op});
  } else {
    push_start(point.row);
  }
  return point;
}

void TraceTimeline::push_start(std::uint32_t row) {
  Cursor& cursor = cursors_[row];
  while (cursor.next < cursor.ops.size()) {
    const OpId op = cursor.ops[cursor.next++];
    const OpTimes& times = trace_.ops[index_of(op)];
    if (has_run(times)) {
      push({times.start, true, row, op});
      return;
    }
  }
}

void TraceTimeline::push(const Point& point) {
  heap_.push_back(point);
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

}  // namespace twinrun
