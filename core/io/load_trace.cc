#include "core/io/load_trace.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/json_document.h"
#include "core/io/json_object.h"
#include "core/io/save_trace.h"
#include "core/io/streamed_object.h"

namespace twinrun {
namespace {

constexpr std::array<std::string_view, 10> kTraceKeys = {
    "schema",          "plan",        "source", "failure", "ops_left_out", "makespan_ps",
    "collective_ways", "collectives", "links",  "ops"};
constexpr std::int64_t kLatest = std::int64_t{1} << 61;  // 26 days, in picoseconds
constexpr OpTimes kNotRun{Time{}, Time{0}, Time{-1}};

class TraceLoader {
 public:
  TraceLoader(const Source& source, const Plan& plan, Diagnostics& diagnostics)
      : file_(source.name()),
        plan_(plan),
        diagnostics_(diagnostics),
        top_(source, "a trace", kTraceKeys, diagnostics),
        tokens_(top_.tokens()),
        document_(file_) {}

  std::optional<Trace> run();

 private:
  void read_member(std::string_view key, JsonToken token);
  void read_plan(JsonToken token);
  void read_whole(JsonToken token, std::string_view key, std::int64_t& out);
  template <class ReadEntry>
  void read_entries(JsonToken token, std::string_view key, const ReadEntry& read_entry);
  void read_way(JsonToken token, const std::string& pointer);
  void read_collective(JsonToken token, const std::string& pointer);
  void read_link(JsonToken token, const std::string& pointer);
  void read_ops(JsonToken token);
  bool read_op(JsonToken token, OpTimes& out);
  void check_complete();
  void put_collectives();

  std::string file_;
  const Plan& plan_;
  Diagnostics& diagnostics_;
  StreamedObject top_;
  JsonTokens& tokens_;
  JsonDocument document_;
  Trace trace_;
  std::int64_t left_out_ = 0;
  std::size_t listed_ = 0;  // ops of the file
  std::vector<CollectiveRun> ways_;
  std::vector<std::int64_t> way_of_;  // by instance
};

void TraceLoader::read_member(std::string_view key, JsonToken token) {
  if (key == "schema") {
    top_.read_schema(token, kTraceSchema);
  } else if (key == "plan") {
    read_plan(token);
  } else if (key == "source") {
    top_.read_text(token, key, trace_.source);
  } else if (key == "failure") {
    top_.read_text(token, key, trace_.failure);
  } else if (key == "ops_left_out") {
    read_whole(token, key, left_out_);
  } else if (key == "makespan_ps") {
    read_whole(token, key, trace_.makespan.ps);
  } else if (key == "collective_ways") {
    read_entries(token, key, [&](JsonToken first, const std::string& at) { read_way(first, at); });
  } else if (key == "collectives") {
    read_entries(token, key,
                 [&](JsonToken first, const std::string& at) { read_collective(first, at); });
  } else if (key == "links") {
    read_entries(token, key, [&](JsonToken first, const std::string& at) { read_link(first, at); });
  } else {
    read_ops(token);
  }
}

void TraceLoader::read_plan(JsonToken token) {
  document_.fill(tokens_, token, "/plan", diagnostics_);
  JsonObject plan(document_.root(), "plan of a trace", diagnostics_);
  plan.string("name");
  const auto ops = plan.integer("ops");
  const auto ids = plan.string("ids");
  plan.require("ops");
  plan.require("ids");
  plan.finish();
  const auto size = static_cast<std::int64_t>(plan_.size());
  if (ops && *ops != size) {
    diagnostics_.error(
        "E0801", plan.place_of("ops"),
        fmt::format("the trace is of a plan of {} ops, and this one has {}", *ops, size),
        "give the plan that was run; a run folder has it beside the trace");
  } else if (ids && *ids != plan_fingerprint(plan_)) {
    diagnostics_.error("E0801", plan.place_of("ids"),
                       "the trace is of another plan: the ids of its ops differ",
                       "give the plan that was run; a run folder has it beside the trace");
  }
}

void TraceLoader::read_whole(JsonToken token, std::string_view key, std::int64_t& out) {
  if (token == JsonToken::kInteger && tokens_.integer() >= 0 && tokens_.integer() <= kLatest) {
    out = tokens_.integer();
  } else {
    top_.wrong_type(token, fmt::format("/{}", key), "a whole number between 0 and 2^61");
  }
}

template <class ReadEntry>
void TraceLoader::read_entries(JsonToken token, std::string_view key, const ReadEntry& read_entry) {
  if (token != JsonToken::kBeginArray) {
    top_.wrong_type(token, fmt::format("/{}", key), "an array");
    return;
  }
  std::size_t position = 0;
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    read_entry(token, fmt::format("/{}/{}", key, position++));
  }
}

void TraceLoader::read_way(JsonToken token, const std::string& pointer) {
  constexpr std::int64_t kMostChannels = 1'000'000;
  document_.fill(tokens_, token, pointer, diagnostics_);
  JsonObject way(document_.root(), "way of a collective", diagnostics_);
  way.require("algorithm");
  CollectiveRun run;
  run.algorithm = way.string("algorithm").value_or("");
  run.protocol = way.string("protocol").value_or("");
  run.channels = static_cast<int>(way.integer("channels", 0, kMostChannels).value_or(0));
  run.bottleneck = way.string("bottleneck").value_or("");
  way.finish();
  ways_.push_back(std::move(run));
}

void TraceLoader::read_collective(JsonToken token, const std::string& pointer) {
  if (token == JsonToken::kInteger) {
    way_of_.push_back(tokens_.integer());
  } else {
    top_.wrong_type(token, pointer, "the position of a way in \"collective_ways\"");
  }
}

void TraceLoader::read_link(JsonToken token, const std::string& pointer) {
  document_.fill(tokens_, token, pointer, diagnostics_);
  JsonObject link(document_.root(), "link of a trace", diagnostics_);
  link.require("link");
  LinkUse use;
  use.link = link.string("link").value_or("");
  use.bytes = link.number("bytes").value_or(0);
  use.busy_pct = link.number("busy_pct").value_or(0);
  link.finish();
  trace_.links.push_back(std::move(use));
}

void TraceLoader::read_ops(JsonToken token) {
  if (token != JsonToken::kBeginArray) {
    top_.wrong_type(token, "/ops", "an array with [ready, start, end] of each op");
    return;
  }
  trace_.ops.assign(plan_.size(), kNotRun);
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    OpTimes beyond;  // of an op that the plan does not have; counted and complained about
    OpTimes& times = listed_ < trace_.ops.size() ? trace_.ops[listed_] : beyond;
    if (token != JsonToken::kBeginArray) {
      top_.wrong_type(token, fmt::format("/ops/{}", listed_), "[ready, start, end]");
    } else if (!read_op(token, times)) {
      diagnostics_.error("E0802", top_.here(fmt::format("/ops/{}", listed_)),
                         "the times of an op are three whole numbers between 0 and 2^61, or -1 for "
                         "the end of one that never ran",
                         "[ready, start, end] in picoseconds; [0, 0, -1] did not run");
    }
    ++listed_;
  }
}

// Takes the whole array; false when it is not three times in order.
bool TraceLoader::read_op(JsonToken token, OpTimes& out) {
  std::array<std::int64_t, 3> ps{};
  std::size_t count = 0;
  bool all_whole = true;
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    if (token == JsonToken::kInteger && count < ps.size()) {
      ps[count] = tokens_.integer();
    } else {
      all_whole = false;
      top_.skip(token);
    }
    ++count;
  }
  out = {Time{ps[0]}, Time{ps[1]}, Time{ps[2]}};
  const bool in_range = std::all_of(
      ps.begin(), ps.end(), [](std::int64_t time) { return time >= -1 && time <= kLatest; });
  return all_whole && count == ps.size() && in_range && ps[0] >= 0 && ps[1] >= 0;
}

void TraceLoader::check_complete() {
  top_.require("schema", fmt::format("add \"schema\": \"{}\"", kTraceSchema));
  for (const std::string_view key : {"plan", "source", "makespan_ps", "ops"}) {
    top_.require(key, "twinrun schema trace prints the format");
  }
  const std::size_t expected =
      plan_.size() - std::min(plan_.size(), static_cast<std::size_t>(left_out_));
  if (top_.has("ops") && listed_ != expected) {
    diagnostics_.error("E0803", {file_, "/ops", -1, false},
                       fmt::format("the trace lists {} ops, and should have {}", listed_, expected),
                       "the file was cut or changed: write it again");
  } else if (left_out_ > 0) {
    diagnostics_.warning("W0801", {file_, "/ops_left_out", -1, false},
                         fmt::format("the trace was written without its last {} ops", left_out_),
                         "they count as not run");
  }
}

void TraceLoader::put_collectives() {
  for (std::size_t i = 0; i < way_of_.size(); ++i) {
    if (way_of_[i] < 0 || static_cast<std::size_t>(way_of_[i]) >= ways_.size()) {
      diagnostics_.error("E0804", {file_, fmt::format("/collectives/{}", i), -1, false},
                         fmt::format("there is no way {} in \"collective_ways\"", way_of_[i]),
                         fmt::format("it has {}, counted from 0", ways_.size()));
      continue;
    }
    CollectiveRun run = ways_[static_cast<std::size_t>(way_of_[i])];
    run.instance = id_at<InstanceId>(i);
    trace_.collectives.push_back(std::move(run));
  }
  if (way_of_.size() > plan_.instance_count()) {
    diagnostics_.error("E0803", {file_, "/collectives", -1, false},
                       fmt::format("the trace lists {} collectives, and the plan has {}",
                                   way_of_.size(), plan_.instance_count()),
                       "the file was cut or changed: write it again");
  }
}

std::optional<Trace> TraceLoader::run() {
  const std::size_t before = diagnostics_.error_count();
  if (!top_.read([&](std::string_view key, JsonToken first) { read_member(key, first); })) {
    return std::nullopt;
  }
  if (top_.is_object()) {
    check_complete();
    put_collectives();
  }
  return diagnostics_.error_count() == before ? std::optional(std::move(trace_)) : std::nullopt;
}

}  // namespace

bool is_trace(const Source& source) {
  JsonTokens tokens(source);
  try {
    return tokens.next() == JsonToken::kBeginObject && tokens.next() == JsonToken::kKey &&
           tokens.text() == "schema" && tokens.next() == JsonToken::kString &&
           tokens.text() == kTraceSchema;
  } catch (const JsonSyntaxError&) {
    return false;
  }
}

std::optional<Trace> load_trace(const Source& source, const Plan& plan, Diagnostics& diagnostics) {
  return TraceLoader(source, plan, diagnostics).run();
}

}  // namespace twinrun
