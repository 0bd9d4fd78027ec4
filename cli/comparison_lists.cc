#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/comparison_cells.h"

// The tables of a comparison that list ops, collectives, links and devices.

namespace twinrun::cli {
namespace {

std::vector<Column> op_columns(const std::string& title, const CompareNames& names) {
  return {{"op", title},
          number_column("a_s", names.a_title),
          number_column("b_s", names.b_title),
          number_column("difference_s", "difference"),
          number_column("on_path_s", "on the path"),
          number_column("share_of_error_pct", "share")};
}

std::string way_text(const CollectiveTimes& run) {
  return run.protocol.empty() ? run.algorithm : fmt::format("{} {}", run.algorithm, run.protocol);
}

std::vector<Cell> collective_row(const CollectiveDifference& collective) {
  const auto& a = collective.a;
  const auto& b = collective.b;
  const auto of = [](const std::optional<CollectiveTimes>& run, double CollectiveTimes::*time) {
    return run ? time_cell((*run).*time) : Cell();
  };
  return {a ? a->name : b->name,
          Cell(collective.bytes, to_text(Bytes{collective.bytes})),
          of(a, &CollectiveTimes::start_s),
          of(b, &CollectiveTimes::start_s),
          of(a, &CollectiveTimes::time_s),
          of(b, &CollectiveTimes::time_s),
          a && b ? percent_cell(change_pct(a->time_s, b->time_s)) : Cell(),
          of(a, &CollectiveTimes::waiting_s),
          of(b, &CollectiveTimes::waiting_s),
          a ? Cell(way_text(*a)) : Cell(),
          b ? Cell(way_text(*b)) : Cell()};
}

// For people the ones that are farthest apart, in the order in which they start.
std::vector<std::size_t> worth_showing(const std::vector<CollectiveDifference>& all,
                                       std::size_t most) {
  const auto apart = [&](std::size_t i) {
    return all[i].a && all[i].b ? std::abs(all[i].b->time_s - all[i].a->time_s) : 0.0;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return apart(x) > apart(y); });
  order.resize(std::min(order.size(), most));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

Table ops_table(const Comparison& comparison, const CompareNames& names, bool is_whole) {
  Table table;
  table.columns = op_columns("op", names);
  for (std::size_t i = 0; i < std::min(most_rows(is_whole), comparison.ops.size()); ++i) {
    const OpDifference& op = comparison.ops[i];
    const bool both = op.joined_by != JoinedBy::kNothing;
    table.rows.push_back({op.name, both || op.a_s != 0 ? time_cell(op.a_s) : Cell(),
                          both || op.b_s != 0 ? time_cell(op.b_s) : Cell(),
                          difference_cell(op.b_s - op.a_s), difference_cell(op.on_path_s),
                          share_cell(op.share_pct)});
  }
  table.note = rest_text(table.rows.size(), comparison.ops.size() + comparison.ops_left_out, "ops");
  return table;
}

Table layers_table(const Comparison& comparison, const CompareNames& names, bool is_whole) {
  Table table;
  table.columns = op_columns("what explains most of it", names);
  table.columns.push_back({"ranks", "ranks", Align::kRight});
  table.columns.push_back({"most_on", "mostly"});
  for (const NameDifference& name : comparison.names) {
    if (table.rows.size() == most_rows(is_whole) || (!is_whole && name.on_path_s == 0)) {
      break;
    }
    const auto there = [&](double time) {
      return name.is_in_both || time != 0 ? time_cell(time) : Cell();
    };
    const std::string rank = name.most_on.substr(std::min(name.name.size(), name.most_on.size()));
    table.rows.push_back(
        {name.name, there(name.a_s), there(name.b_s), difference_cell(name.b_s - name.a_s),
         difference_cell(name.on_path_s), share_cell(name.share_pct), name.ranks,
         name.is_mostly_on_one && name.ranks > 1 ? Cell(name.most_on, rank) : Cell("")});
  }
  if (comparison.waiting_difference_s != 0) {
    table.rows.push_back({"waiting", Cell(""), Cell(""), Cell(""),
                          difference_cell(comparison.waiting_difference_s),
                          share_cell(comparison.waiting_share_pct)});
  }
  return table;
}

Table waits_table(const Comparison& comparison, const CompareNames& names, bool is_whole) {
  Table table;
  table.columns = {{"before", "waiting on the critical path, before"},
                   number_column("a_s", names.a_title),
                   number_column("b_s", names.b_title),
                   number_column("difference_s", "difference"),
                   number_column("share_of_error_pct", "share")};
  for (const WaitDifference& wait : comparison.waits) {
    if (table.rows.size() == most_rows(is_whole)) {
      break;
    }
    table.rows.push_back({wait.before.empty() ? "the end" : wait.before, time_cell(wait.a_s),
                          time_cell(wait.b_s), difference_cell(wait.on_path_s),
                          share_cell(wait.share_pct)});
  }
  table.note = rest_text(table.rows.size(), comparison.waits.size(), "waits");
  return table;
}

// ---- collectives, links, devices

Table collectives_table(const Comparison& comparison,
                        const CompareNames& /*names*/,
                        bool is_whole) {
  Table table;
  table.columns = {{"op", "collective"},
                   number_column("bytes", "size"),
                   number_column("a_start_s", "start A"),
                   number_column("b_start_s", "B"),
                   number_column("a_s", "time A"),
                   number_column("b_s", "B"),
                   number_column("time_pct", "difference"),
                   number_column("a_waiting_s", "waiting A"),
                   number_column("b_waiting_s", "B"),
                   {"a_way", "by A"},
                   {"b_way", "B"}};
  for (const std::size_t i : worth_showing(comparison.collectives, most_rows(is_whole))) {
    table.rows.push_back(collective_row(comparison.collectives[i]));
  }
  table.note = rest_text(table.rows.size(), comparison.collectives.size(), "collectives");
  return table;
}

Table links_table(const Comparison& comparison, const CompareNames& names, bool is_whole) {
  Table table;
  table.columns = {{"link", "collectives by the link that limits them"},
                   number_column("a_s", names.a_title),
                   number_column("b_s", names.b_title),
                   number_column("difference_s", "difference"),
                   number_column("a_busy_pct", "busy % A"),
                   number_column("b_busy_pct", "B")};
  for (const LinkDifference& link : comparison.links) {
    const bool limits_nothing = link.limited_a_s + link.limited_b_s == 0;
    if (table.rows.size() == most_rows(is_whole) || (!is_whole && limits_nothing)) {
      break;  // those come last
    }
    const auto busy = [](const std::optional<LinkUse>& use) {
      return use ? Cell(use->busy_pct, fmt::format("{:.1f}", use->busy_pct)) : Cell();
    };
    table.rows.push_back({link.link, time_cell(link.limited_a_s), time_cell(link.limited_b_s),
                          difference_cell(link.limited_b_s - link.limited_a_s), busy(link.a),
                          busy(link.b)});
  }
  return table;
}

Table devices_table(const Comparison& comparison, const CompareNames& /*names*/, bool is_whole) {
  Table table;
  table.columns = {{"device"},
                   number_column("a_compute_s", "compute A"),
                   number_column("b_compute_s", "B"),
                   number_column("a_exposed_s", "exposed A"),
                   number_column("b_exposed_s", "B"),
                   number_column("a_waiting_s", "waiting A"),
                   number_column("b_waiting_s", "B"),
                   number_column("a_idle_s", "idle A"),
                   number_column("b_idle_s", "B"),
                   number_column("on_path_s", "on the path")};
  for (const DeviceDifference& device : comparison.devices) {
    if (table.rows.size() == most_rows(is_whole)) {
      break;
    }
    std::vector<Cell> row = {device.device};
    for (double DeviceTimes::*const time : {&DeviceTimes::compute_s, &DeviceTimes::exposed_s,
                                            &DeviceTimes::waiting_s, &DeviceTimes::idle_s}) {
      row.push_back(device.a ? time_cell((*device.a).*time) : Cell());
      row.push_back(device.b ? time_cell((*device.b).*time) : Cell());
    }
    row.push_back(difference_cell(device.on_path_s));
    table.rows.push_back(std::move(row));
  }
  table.note = rest_text(table.rows.size(), comparison.devices.size(), "devices");
  return table;
}

Table lonely_table(const Comparison& comparison, const CompareNames& names, bool is_whole) {
  Table table;
  table.columns = {{"only_in", "only in"}, {"op"}};
  const auto add = [&](const std::vector<std::string>& ops, const std::string& title) {
    for (std::size_t i = 0; i < std::min(most_rows(is_whole), ops.size()); ++i) {
      table.rows.push_back({title, ops[i]});
    }
  };
  add(comparison.only_in_a, names.a_title);
  add(comparison.only_in_b, names.b_title);
  const std::size_t all = comparison.only_in_a.size() + comparison.only_in_a_left_out +
                          comparison.only_in_b.size() + comparison.only_in_b_left_out;
  table.note = rest_text(table.rows.size(), all, "ops");
  return table;
}

}  // namespace twinrun::cli
