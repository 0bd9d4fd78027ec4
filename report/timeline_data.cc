#include "report/timeline_data.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/trace/critical_path.h"
#include "core/trace/steps.h"
#include "core/trace/trace_rows.h"
#include "report/byte_text.h"
#include "report/timeline_labels.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

// What of a run is shown: the last steps, the first devices, ops that start before an instant.
struct Selection {
  std::int64_t first_step = 0;
  std::size_t devices = 0;
  Time until{std::numeric_limits<std::int64_t>::max()};
};

std::int64_t nanoseconds_after(Time start, Time time) { return to_nanoseconds(time - start); }

class TimelinePacker {
 public:
  TimelinePacker(const Plan& plan, const Trace& trace, const std::vector<bool>& on_path)
      : plan_(plan), trace_(trace), on_path_(on_path), labels_(plan, trace) {}

  void add(const Selection& selection) {
    std::vector<DeviceId> devices;
    for (std::size_t i = 0; i < selection.devices; ++i) {
      devices.push_back(id_at<DeviceId>(i));
    }
    for (const TraceRow& row : trace_rows(plan_, trace_, devices)) {
      add_row(row, selection);
    }
  }

  [[nodiscard]] std::size_t bytes() const { return labels_.bytes() + sequence_bytes_ + row_bytes_; }
  [[nodiscard]] std::int64_t ops() const { return ops_; }

  void write(Json& json) {
    json["labels"] = labels_.rows();
    json["sequences"] = std::move(sequences_);
    json["rows"] = std::move(rows_);
  }

 private:
  // The ops of one step, in a row; they stand together.
  struct Chunk {
    std::optional<std::int64_t> step;
    std::vector<OpId> ops;
  };

  void add_row(const TraceRow& row, const Selection& selection) {
    const std::string owner = owner_of(row);
    Json chunks = Json::array();
    Chunk chunk;
    const auto end_chunk = [&] {
      if (!chunk.ops.empty()) {
        chunks.push_back(packed(chunk, owner));
        row_bytes_ += 32;  // of text, about
      }
      chunk.ops.clear();
    };
    for (const OpId op : ops_of(plan_, row)) {
      const std::optional<std::int64_t> step = step_of(plan_.id(op));
      if (!is_shown(op, step, selection)) {
        continue;
      }
      if (step != chunk.step) {
        end_chunk();
        chunk.step = step;
      }
      chunk.ops.push_back(op);
    }
    end_chunk();
    if (!chunks.empty()) {
      row_bytes_ += 80;
      rows_.push_back({{"device", index_of(row.device)},
                       {"stream", plan_.stream_name(row.stream)},
                       {"lane", row.lane},
                       {"owner", owner},
                       {"chunks", std::move(chunks)}});
    }
  }

  [[nodiscard]] std::string owner_of(const TraceRow& row) const {
    const std::span<const OpId> ops = ops_of(plan_, row);
    const std::string_view id = ops.empty() ? std::string_view() : plan_.id(ops.front());
    const std::size_t at = id.rfind('@');
    return at == std::string_view::npos ? "" : std::string(id.substr(at));
  }

  [[nodiscard]] bool is_shown(OpId op,
                              std::optional<std::int64_t> step,
                              const Selection& selection) const {
    const OpTimes& times = trace_.ops[index_of(op)];
    const bool is_something = plan_.kind(op) != OpKind::kMarker || times.end > times.start;
    return is_something && has_run(times) && step.value_or(0) >= selection.first_step &&
           times.start < selection.until;
  }

  Json packed(const Chunk& chunk, const std::string& owner) {
    std::string labels;
    std::string times;
    std::string path;
    const Time start = trace_.ops[index_of(chunk.ops.front())].start;
    std::int64_t end = 0;
    std::int64_t label_before = -1;
    std::int64_t micro_before = 0;
    std::int64_t run = 0;  // of ops alike in being on the path, or not
    bool run_on_path = false;
    bool any_on_path = false;
    for (const OpId op : chunk.ops) {
      const auto [label, micro] = labels_.find(op, owner);
      append_signed(labels, static_cast<std::int64_t>(label) - label_before - 1);
      label_before = label;
      if (micro >= 0) {
        append_signed(labels, micro - micro_before);
        micro_before = micro;
      }
      end = append_times(times, start, end, trace_.ops[index_of(op)]);
      const bool is_on_path = on_path_[index_of(op)];
      any_on_path = any_on_path || is_on_path;
      if (is_on_path != run_on_path) {
        append_varint(path, static_cast<std::uint64_t>(run));
        run = 0;
        run_on_path = is_on_path;
      }
      ++run;
    }
    append_varint(path, static_cast<std::uint64_t>(run));
    ops_ += static_cast<std::int64_t>(chunk.ops.size());
    return {chunk.step ? Json(*chunk.step) : Json(nullptr), static_cast<double>(start.ps) / 1e3,
            sequence(labels), sequence(times), any_on_path ? sequence(path) : -1};
  }

  // Returns the end, in ns from the start of the chunk. Rounding both ends alike keeps ops apart
  // that do not overlap.
  static std::int64_t append_times(std::string& bytes,
                                   Time chunk_start,
                                   std::int64_t end_before,
                                   const OpTimes& times) {
    const std::int64_t start = nanoseconds_after(chunk_start, times.start);
    const std::int64_t end = nanoseconds_after(chunk_start, times.end);
    append_signed(bytes, start - end_before);
    append_varint(bytes, static_cast<std::uint64_t>(end - start));
    const Time wait = times.ready < times.start ? times.start - times.ready : Time{};
    append_varint(bytes, static_cast<std::uint64_t>(to_nanoseconds(wait)));
    return end;
  }

  int sequence(const std::string& bytes) {
    const auto [found, is_new] = known_.emplace(bytes, static_cast<int>(sequences_.size()));
    if (is_new) {
      sequences_.push_back(base64(bytes));
      sequence_bytes_ += (bytes.size() + 2) / 3 * 4 + 3;
    }
    return found->second;
  }

  const Plan& plan_;
  const Trace& trace_;
  const std::vector<bool>& on_path_;
  TimelineLabels labels_;
  std::unordered_map<std::string, int> known_;
  Json sequences_ = Json::array();
  Json rows_ = Json::array();
  std::size_t sequence_bytes_ = 0;
  std::size_t row_bytes_ = 0;
  std::int64_t ops_ = 0;
};

// Less by about this factor: fewer steps, else fewer devices, else less time.
Selection reduced(const Selection& from, const StepEnds& steps, Time makespan, double factor) {
  Selection to = from;
  const auto part = [&](std::int64_t count) {
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(static_cast<double>(count) * factor));
  };
  const std::int64_t shown = steps.last() + 1 - from.first_step;
  if (shown > 1) {
    to.first_step = steps.last() + 1 - std::min(part(shown), shown - 1);
  } else if (from.devices > 1) {
    to.devices = static_cast<std::size_t>(std::min(part(static_cast<std::int64_t>(from.devices)),
                                                   static_cast<std::int64_t>(from.devices) - 1));
  } else {
    const Time begin = steps.before(from.first_step);
    const Time end = std::min(from.until, makespan);
    to.until = Time{begin.ps + std::max<std::int64_t>(1, part((end - begin).ps))};
  }
  return to;
}

std::string left_out_sentence(const Selection& shown,
                              const StepEnds& steps,
                              std::size_t devices,
                              const Trace& trace) {
  std::vector<std::string> parts;
  if (shown.first_step > 0) {
    const std::int64_t count = steps.last() + 1 - shown.first_step;
    parts.push_back(count == 1 ? fmt::format("the last of {} steps", steps.last() + 1)
                               : fmt::format("the last {} of {} steps", count, steps.last() + 1));
  }
  if (shown.devices < devices) {
    parts.push_back(fmt::format("the first {} of {} devices", shown.devices, devices));
  }
  if (shown.until < trace.makespan) {
    parts.push_back(fmt::format("what started before {}", to_text(shown.until)));
  }
  if (parts.empty()) {
    return "";
  }
  return fmt::format(
      "To keep this page small, the timeline shows {}. The run's trace files have it all.",
      fmt::join(parts, ", of "));
}

Json steps_json(const StepEnds& steps, std::int64_t first, Time makespan) {
  Json out = Json::array();
  for (std::int64_t step = first; step <= steps.last(); ++step) {
    const Time end = step == steps.last() ? makespan : steps.before(step + 1);
    out.push_back({step, static_cast<double>(steps.before(step).ps) / 1e3,
                   static_cast<double>(end.ps) / 1e3});
  }
  return out;
}

std::vector<bool> ops_on_path(const Plan& plan, const Trace& trace) {
  std::vector<bool> on_path(plan.size(), false);
  for (const OpId op : critical_path(plan, trace).ops) {
    on_path[index_of(op)] = true;
  }
  return on_path;
}

}  // namespace

Json timeline_data(const Plan& plan, const Trace& trace, std::size_t most_bytes) {
  const StepEnds steps(plan, trace);
  const std::vector<bool> on_path = ops_on_path(plan, trace);
  Selection selection{0, plan.device_count(), {std::numeric_limits<std::int64_t>::max()}};
  std::optional<TimelinePacker> packer;
  for (;;) {
    packer.emplace(plan, trace, on_path);
    packer->add(selection);
    if (packer->bytes() <= most_bytes || packer->ops() <= 1) {
      break;
    }
    const double factor = static_cast<double>(most_bytes) / static_cast<double>(packer->bytes());
    selection = reduced(selection, steps, trace.makespan, factor);
  }
  Json json;
  json["categories"] = kOpCategoryWords;
  json["ops"] = packer->ops();
  json["left_out"] = left_out_sentence(selection, steps, plan.device_count(), trace);
  json["makespan_ns"] = static_cast<double>(trace.makespan.ps) / 1e3;
  json["steps"] = steps_json(steps, selection.first_step, trace.makespan);
  json["devices"] = Json::array();
  for (std::size_t i = 0; i < selection.devices; ++i) {
    json["devices"].push_back(plan.device_name(id_at<DeviceId>(i)));
  }
  packer->write(json);
  return json;
}

}  // namespace twinrun::report
