#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/job_result.h"
#include "core/trace/intervals.h"
#include "core/trace/steps.h"

namespace twinrun::cli {
namespace {

constexpr std::size_t kMostCollectives = 12;

// What one collective was for the device, or all of a kind together.
struct CollectiveRow {
  std::string name;
  std::int64_t count = 1;
  std::int64_t bytes = 0;
  double bus_bytes = 0;
  Time ready{};
  Time start{};
  Time end{};
  Time busy{};
  Time exposed{};
};

// The last step of the device's ops: collectives in order, and when it computed.
struct LastStep {
  std::vector<OpId> collectives;
  Intervals compute;
  Time begin{};  // of its first op
};

LastStep last_step_of(const RunFacts& facts, DeviceId device) {
  const Plan& plan = facts.plan;
  const std::int64_t last = facts.index.steps.last();
  LastStep out;
  std::optional<Time> begin;
  std::vector<Interval> compute;
  for (const OpId op : facts.index.ops_by_start[device]) {
    if (step_of(plan.id(op)) != last) {
      continue;
    }
    const OpTimes& times = facts.trace.ops[index_of(op)];
    begin = begin.value_or(times.start);
    if (plan.kind(op) == OpKind::kCollective) {
      out.collectives.push_back(op);
    } else if (plan.kind(op) == OpKind::kCompute) {
      compute.push_back({times.start, times.end});
    }
  }
  out.begin = begin.value_or(Time{});
  out.compute = united(std::move(compute));
  return out;
}

CollectiveRow row_of(const RunFacts& facts, const LastStep& step, OpId op) {
  const OpTimes& times = facts.trace.ops[index_of(op)];
  const CollectiveShape& shape = facts.plan.shape(op);
  const std::size_t ranks = facts.plan.group_devices(shape.group).size();
  CollectiveRow row;
  row.name = name_within_step(facts.plan.id(op));
  row.bytes = facts.plan.collective(op).bytes.count;
  row.bus_bytes = static_cast<double>(row.bytes) * bus_factor(shape.kind, ranks);
  row.ready = times.ready - step.begin;
  row.start = times.start - step.begin;
  row.end = times.end - step.begin;
  row.busy = times.end - times.start;
  row.exposed = length(difference({{times.start, times.end}}, step.compute));
  return row;
}

Cell time_in_ms(Time time) {
  return {to_seconds(time), fmt::format("{:.2f}", to_seconds(time) * 1e3)};
}

Cell bus_rate(const CollectiveRow& row) {
  const double seconds = to_seconds(row.busy);
  return seconds > 0 ? Cell(row.bus_bytes / seconds / 1e9,
                            fmt::format("{:.1f}", row.bus_bytes / seconds / 1e9))
                     : Cell();
}

Table table_of_each(const std::vector<CollectiveRow>& rows) {
  Table table;
  table.columns = {{"op", "collective"},
                   {"bytes", "size", Align::kRight},
                   {"ready_s", "ready ms", Align::kRight},
                   {"start_s", "start", Align::kRight},
                   {"end_s", "end", Align::kRight},
                   {"busbw_GBps", "busbw GB/s", Align::kRight},
                   {"exposed_s", "exposed ms", Align::kRight}};
  for (const CollectiveRow& row : rows) {
    table.rows.push_back({row.name, Cell(row.bytes, to_text(Bytes{row.bytes})),
                          time_in_ms(row.ready), time_in_ms(row.start), time_in_ms(row.end),
                          bus_rate(row), time_in_ms(row.exposed)});
  }
  return table;
}

// The word before the first slash, or all: all_reduce of all_reduce/bucket3.
Table table_of_kinds(const RunFacts& facts,
                     const std::vector<CollectiveRow>& rows,
                     const std::vector<OpId>& ops) {
  std::map<std::string, CollectiveRow> by_kind;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CollectiveShape& shape = facts.plan.shape(ops[i]);
    const std::string kind = fmt::format("{} over {}", name_of(shape.kind),
                                         facts.plan.group_devices(shape.group).size());
    CollectiveRow& sum = by_kind.try_emplace(kind, CollectiveRow{kind, 0}).first->second;
    ++sum.count;
    sum.bytes += rows[i].bytes;
    sum.bus_bytes += rows[i].bus_bytes;
    sum.busy = sum.busy + rows[i].busy;
    sum.exposed = sum.exposed + rows[i].exposed;
  }
  Table table;
  table.columns = {{"kind", "collectives"},
                   {"count", "", Align::kRight},
                   {"bytes", "size", Align::kRight},
                   {"time_s", "time ms", Align::kRight},
                   {"busbw_GBps", "busbw GB/s", Align::kRight},
                   {"exposed_s", "exposed ms", Align::kRight}};
  for (const auto& [kind, sum] : by_kind) {
    table.rows.push_back({kind, sum.count, Cell(sum.bytes, to_text(Bytes{sum.bytes})),
                          time_in_ms(sum.busy), bus_rate(sum), time_in_ms(sum.exposed)});
  }
  return table;
}

}  // namespace

Table collective_table(const RunFacts& facts) {
  const DeviceId device = id_at<DeviceId>(0);
  const LastStep step = last_step_of(facts, device);
  std::vector<CollectiveRow> rows;
  rows.reserve(step.collectives.size());
  for (const OpId op : step.collectives) {
    rows.push_back(row_of(facts, step, op));
  }
  Table table = rows.size() <= kMostCollectives ? table_of_each(rows)
                                                : table_of_kinds(facts, rows, step.collectives);
  table.title = fmt::format("the last step on {}", facts.plan.device_name(device));
  return table;
}

}  // namespace twinrun::cli
