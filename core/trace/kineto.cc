#include "core/trace/kineto.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/trace/capped_output.h"
#include "core/trace/intervals.h"
#include "core/trace/memory_levels.h"
#include "core/trace/slice_text.h"
#include "core/trace/trace_rows.h"

namespace twinrun {
namespace {

constexpr std::int64_t kHostTid = 0;
// The tail that says what was left out is written even when the file is full.
constexpr std::size_t kTailBytes = 300;
constexpr std::size_t kMostRanksShown = 30;  // of a group, in every slice; as PyTorch cuts them

class KinetoWriter {
 public:
  KinetoWriter(const Plan& plan,
               const Trace& trace,
               DeviceId rank,
               const TraceWriteOptions& options,
               const TraceSink& sink)
      : plan_(plan),
        trace_(trace),
        rank_(rank),
        options_(options),
        rows_(trace_rows(plan, trace, std::span(&rank_, 1))),
        out_(sink, options.most_bytes) {}

  TraceWriteCounts run() {
    find_steps();
    write_head();
    write_metadata();
    write_steps();
    write_slices();
    write_tail();
    out_.flush();
    counts_.bytes = out_.bytes();
    return counts_;
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, const Args&... args) {
    fmt::vformat_to(std::back_inserter(event_), format, fmt::make_format_args(args...));
  }
  void quote(std::string_view text);
  void number(double value);
  void microseconds_of(std::int64_t ns);
  void times_of(std::int64_t start_ns, std::int64_t end_ns);
  bool finish_event();

  [[nodiscard]] std::string_view model() const;
  void find_steps();
  void write_head();
  void write_groups();
  void write_metadata();
  void write_label(std::string_view kind, std::int64_t tid, std::string_view name);
  void write_sort_index(std::string_view kind, std::int64_t tid, std::int64_t index);
  void write_steps();
  void write_slices();
  void write_tail();

  void write_slice(OpId op, const TraceRow& row);
  void write_arguments(OpId op, const TraceRow& row);
  void write_communication(OpId op);
  void write_own(OpId op);
  void write_bandwidths(OpId op);
  void write_flow(OpId op, const TraceRow& row);
  void write_memory(const TraceTimeline::Point& point);

  const Plan& plan_;
  const Trace& trace_;
  DeviceId rank_;
  const TraceWriteOptions& options_;
  std::vector<TraceRow> rows_;
  CappedOutput out_;
  TraceWriteCounts counts_;
  std::map<std::int64_t, Interval> steps_;
  MemoryLevels memory_;
  std::string event_;
  std::string_view separator_ = "\n";
  bool is_full_ = false;
};

// Control characters and whatever is not plain ASCII go out as \u escapes: a raw control character
// makes Perfetto refuse the whole file (pytorch/pytorch#130622).
void KinetoWriter::quote(std::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  });
  if (is_plain) {
    add("\"{}\"", text);
  } else {
    event_ += nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
}

void KinetoWriter::number(double value) {
  add("{}", std::isfinite(value) ? value : 0.0);  // JSON has no infinity
}

void KinetoWriter::microseconds_of(std::int64_t ns) {
  add("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns / 1000), std::abs(ns % 1000));
}

void KinetoWriter::times_of(std::int64_t start_ns, std::int64_t end_ns) {
  event_ += "\"ts\":";
  microseconds_of(start_ns);
  event_ += ",\"dur\":";
  microseconds_of(end_ns - start_ns);
}

// Whether it still had room; the first that has none closes the file for all later ones.
bool KinetoWriter::finish_event() {
  is_full_ = is_full_ || !out_.fits(separator_.size() + event_.size() + kTailBytes);
  if (!is_full_) {
    out_.append(separator_);
    out_.append(event_);
    separator_ = ",\n";
  }
  event_.clear();
  return !is_full_;
}

std::string_view KinetoWriter::model() const {
  const std::size_t index = index_of(rank_);
  return index < options_.device_models.size() ? options_.device_models[index] : std::string_view();
}

// From the first start to the last end of each step's ops. HTA wants steps one after the other, so
// one that begins early (a prefetch) begins when the one before ends.
void KinetoWriter::find_steps() {
  Interval whole{};
  bool any = false;
  for (const TraceRow& row : rows_) {
    for (const OpId op : ops_of(plan_, row)) {
      const OpTimes& times = trace_.ops[index_of(op)];
      if (!has_run(times)) {
        continue;
      }
      whole = any ? Interval{std::min(whole.begin, times.start), std::max(whole.end, times.end)}
                  : Interval{times.start, times.end};
      any = true;
      if (const auto step = step_of(plan_.id(op))) {
        const auto [at, is_new] = steps_.try_emplace(*step, Interval{times.start, times.end});
        at->second.begin = std::min(at->second.begin, times.start);
        at->second.end = std::max(at->second.end, times.end);
      }
    }
  }
  if (steps_.empty() && any) {
    steps_.emplace(0, whole);  // a plan of one step that does not say so
  }
  Time end{};
  for (auto& [step, span] : steps_) {
    span.begin = std::max(span.begin, end);
    span.end = std::max(span.end, span.begin);
    end = span.end;
  }
}

// HTA finds the rank of a file by searching lines for "rank": with a space behind, so this comes
// first and pretty-printed.
void KinetoWriter::write_head() {
  add("{{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {{\n    \"backend\": \"nccl\",\n");
  add("    \"rank\": {},\n    \"world_size\": {},\n", index_of(rank_), plan_.device_count());
  write_groups();
  add("  }},\n  \"deviceProperties\": [\n    {{\"id\": {}, \"name\": ", index_of(rank_));
  quote(model().empty() ? plan_.device_name(rank_) : model());
  add("}}\n  ],\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 0,\n");
  add("  \"traceName\": ");
  quote(plan_.text().name);
  add(",\n  \"traceEvents\": [");
  out_.append(event_);
  event_.clear();
}

void KinetoWriter::write_groups() {
  std::vector<GroupId> mine;
  for (std::size_t i = 0; i < plan_.group_count(); ++i) {
    const auto devices = plan_.group_devices(id_at<GroupId>(i));
    if (std::find(devices.begin(), devices.end(), rank_) != devices.end()) {
      mine.push_back(id_at<GroupId>(i));
    }
  }
  add("    \"pg_count\": {},\n    \"pg_config\": [", mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto devices = plan_.group_devices(mine[i]);
    const bool is_world = devices.size() == plan_.device_count();
    add("{}      {{\"pg_name\": ", i == 0 ? "\n" : ",\n");
    quote(plan_.group_name(mine[i]));
    add(", \"pg_desc\": ");
    quote(is_world ? "default_pg" : plan_.group_name(mine[i]));
    add(", \"backend_config\": \"cuda:nccl\", \"pg_size\": {}, \"ranks\": [", devices.size());
    for (std::size_t d = 0; d < devices.size(); ++d) {
      add("{}{}", d == 0 ? "" : ", ", index_of(devices[d]));
    }
    event_ += "]}";
  }
  event_ += mine.empty() ? "]\n" : "\n    ]\n";
}

void KinetoWriter::write_label(std::string_view kind, std::int64_t tid, std::string_view name) {
  add("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0.000,\"args\":{{\"name\":",
      kind, index_of(rank_), tid);
  quote(name);
  event_ += "}}";
  finish_event();
}

void KinetoWriter::write_sort_index(std::string_view kind, std::int64_t tid, std::int64_t index) {
  add("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0.000,"
      "\"args\":{{\"sort_index\":{}}}}}",
      kind, index_of(rank_), tid, index);
  finish_event();
}

void KinetoWriter::write_metadata() {
  write_label("process_name", 0, process_name(plan_, rank_, model()));
  write_sort_index("process_sort_index", 0, static_cast<std::int64_t>(index_of(rank_)));
  write_label("thread_name", kHostTid, "host");
  write_sort_index("thread_sort_index", kHostTid, kHostTid);
  for (const TraceRow& row : rows_) {
    write_label("thread_name", row.tid, row.name);
    write_sort_index("thread_sort_index", row.tid, row.tid);
  }
}

void KinetoWriter::write_steps() {
  for (const auto& [step, span] : steps_) {
    if (wants_step(options_, step)) {
      add("{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#{}\",\"pid\":{},"
          "\"tid\":{},",
          step, index_of(rank_), kHostTid);
      times_of(to_nanoseconds(span.begin), to_nanoseconds(span.end));
      event_ += ",\"args\":{\"stream\":-1}}";
      finish_event();
    }
  }
}

void KinetoWriter::write_slices() {
  std::int64_t ops = 0;
  for (const TraceRow& row : rows_) {
    ops += row.lane == 0 ? static_cast<std::int64_t>(plan_.stream_ops(row.stream).size()) : 0;
  }
  std::int64_t met = 0;
  TraceTimeline timeline(plan_, trace_, rows_);
  while (const auto point = timeline.next()) {
    met += point->is_start ? 1 : 0;
    const bool is_wanted = wants_step(options_, step_of(plan_.id(point->op)));
    if (point->is_start && is_wanted) {
      write_slice(point->op, rows_[point->row]);
    } else if (point->is_start) {
      ++counts_.not_chosen;
    }
    const auto when = point->is_start ? MemoryWhen::kStart : MemoryWhen::kEnd;
    if (memory_.apply(plan_.memory_effects(point->op), when) != 0 && is_wanted) {
      write_memory(*point);
    }
  }
  counts_.not_run = ops - met;
}

void KinetoWriter::write_slice(OpId op, const TraceRow& row) {
  const OpTimes& times = trace_.ops[index_of(op)];
  if (!is_full_) {
    add("{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":", slice_category(plan_.kind(op)));
    quote(slice_name(plan_, trace_, op));
    add(",\"pid\":{},\"tid\":{},", index_of(rank_), row.tid);
    times_of(to_nanoseconds(times.start), to_nanoseconds(times.end));
    event_ += ",\"args\":{";
    write_arguments(op, row);
    event_ += "}}";
  }
  ++(finish_event() ? counts_.written : counts_.beyond_cap);
  write_flow(op, row);
}

void KinetoWriter::write_arguments(OpId op, const TraceRow& row) {
  const OpKind kind = plan_.kind(op);
  const bool is_on_host = kind == OpKind::kHost || kind == OpKind::kMarker;
  const std::size_t correlation = index_of(op) + 1;
  add("\"External id\":{}", correlation);
  if (is_on_host) {
    event_ += ",\"stream\":-1";  // HTA takes everything with a stream for a kernel
  } else {
    add(",\"queued\":0,\"device\":{},\"context\":1,\"stream\":{},\"correlation\":{}",
        index_of(rank_), row.tid, correlation);
  }
  if (kind == OpKind::kCopy) {
    const OpTimes& times = trace_.ops[index_of(op)];
    const double seconds = to_seconds(times.end - times.start);
    const auto bytes = plan_.copy(op).bytes.count;
    add(",\"bytes\":{},\"memory bandwidth (GB/s)\":", bytes);
    number(seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0);
  }
  if (communicates(kind)) {
    write_communication(op);
  }
  write_own(op);
}

// The keys of PyTorch's record_param_comms, which it writes only when it knows all of the first
// five.
void KinetoWriter::write_communication(OpId op) {
  const auto facts = communication_facts(plan_, op, Time{});
  add(",\"Collective name\":\"{}\",\"In msg nelems\":{},\"Out msg nelems\":{},\"Group size\":{},"
      "\"dtype\":\"{}\",\"In split size\":\"[]\",\"Out split size\":\"[]\"",
      facts.name, facts.in_elements, facts.out_elements, facts.group_size, facts.dtype);
  if (plan_.kind(op) != OpKind::kCollective) {
    const bool is_send = plan_.kind(op) == OpKind::kSend;
    const DeviceId peer = plan_.message(op).peer;
    add(",\"Src Rank\":{},\"Dst Rank\":{}", index_of(is_send ? rank_ : peer),
        index_of(is_send ? peer : rank_));
    return;
  }
  const GroupId group = plan_.shape(op).group;
  const auto devices = plan_.group_devices(group);
  event_ += ",\"Process Group Name\":";
  quote(plan_.group_name(group));
  event_ += ",\"Process Group Description\":";
  quote(devices.size() == plan_.device_count() ? "default_pg" : plan_.group_name(group));
  event_ += ",\"Process Group Ranks\":\"[";
  const std::size_t shown = std::min(devices.size(), kMostRanksShown);
  for (std::size_t i = 0; i < shown; ++i) {
    add("{}{}", i == 0 ? "" : ", ", index_of(devices[i]));
  }
  event_ += shown < devices.size() ? ", ...]\"" : "]\"";
}

// What only we know, under one key that foreign tools pass over.
void KinetoWriter::write_own(OpId op) {
  event_ += ",\"twinrun\":{\"op\":";
  quote(plan_.id(op));
  const OpTimes& times = trace_.ops[index_of(op)];
  if (times.start > times.ready) {
    event_ += ",\"waited_us\":";
    microseconds_of(to_nanoseconds(times.start) - to_nanoseconds(times.ready));
  }
  if (plan_.kind(op) == OpKind::kCompute) {
    event_ += ",\"flops\":";
    number(plan_.compute(op).flops);
    add(",\"bytes\":{}", plan_.compute(op).bytes.count);
  }
  if (communicates(plan_.kind(op))) {
    write_bandwidths(op);
  }
  event_ += '}';
}

void KinetoWriter::write_bandwidths(OpId op) {
  const OpTimes& times = trace_.ops[index_of(op)];
  const auto facts = communication_facts(plan_, op, times.end - times.start);
  add(",\"bytes\":{},\"algbw_GBps\":", facts.bytes.count);
  number(facts.algbw_gbps);
  event_ += ",\"busbw_GBps\":";
  number(facts.busbw_gbps);
  const CollectiveRun* run = run_of(plan_, trace_, op);
  if (run == nullptr) {
    return;
  }
  event_ += ",\"algorithm\":";
  quote(run->algorithm);
  event_ += ",\"protocol\":";
  quote(run->protocol);
  add(",\"channels\":{},\"bottleneck\":", run->channels);
  quote(run->bottleneck);
}

// An arrow from send to recv; the other end is in the other rank's file, with the same id.
void KinetoWriter::write_flow(OpId op, const TraceRow& row) {
  const OpKind kind = plan_.kind(op);
  const bool is_send = kind == OpKind::kSend;
  if (is_full_ || (!is_send && kind != OpKind::kRecv) ||
      plan_.message(op).partner == no_id<OpId>()) {
    return;
  }
  const OpId send = is_send ? op : plan_.message(op).partner;
  add("{{\"ph\":\"{}\",\"id\":{},\"cat\":\"pp\",\"name\":\"pp\",\"pid\":{},\"tid\":{},\"ts\":",
      is_send ? "s" : "f", index_of(send) + 1, index_of(rank_), row.tid);
  microseconds_of(to_nanoseconds(trace_.ops[index_of(op)].start));
  event_ += is_send ? "}" : ",\"bp\":\"e\"}";
  finish_event();
}

// All parts met so far in each event: chrome://tracing takes a missing one for zero.
void KinetoWriter::write_memory(const TraceTimeline::Point& point) {
  if (is_full_) {
    return;
  }
  add("{{\"ph\":\"C\",\"name\":\"memory\",\"pid\":{},\"tid\":{},\"ts\":", index_of(rank_),
      kHostTid);
  microseconds_of(to_nanoseconds(point.at));
  event_ += ",\"args\":{";
  std::string_view comma;
  for (std::size_t part = 0; part < kMemoryPartNames.size(); ++part) {
    if ((memory_.seen() >> part & 1U) != 0) {
      add("{}\"{}\":{}", comma, kMemoryPartNames[part], memory_.bytes(part));
      comma = ",";
    }
  }
  event_ += "}}";
  finish_event();
}

void KinetoWriter::write_tail() {
  add("\n  ],\n  \"twinrun\": {{\"source\": ");
  quote(trace_.source == "executed" ? "executed" : "simulated");
  if (!trace_.failure.empty()) {
    add(", \"failure\": ");
    quote(trace_.failure);
  }
  add(", \"slices\": {}, \"beyond_cap\": {}, \"not_chosen\": {}, \"not_run\": {}}}\n}}\n",
      counts_.written, counts_.beyond_cap, counts_.not_chosen, counts_.not_run);
  out_.append(event_);
}

}  // namespace

TraceWriteCounts write_kineto(const Plan& plan,
                              const Trace& trace,
                              DeviceId rank,
                              const TraceWriteOptions& options,
                              const TraceSink& sink) {
  return KinetoWriter(plan, trace, rank, options, sink).run();
}

}  // namespace twinrun
