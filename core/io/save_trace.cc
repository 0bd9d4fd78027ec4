#include "core/io/save_trace.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/io/json_document.h"

namespace twinrun {
namespace {

// How collectives were done: few ways, many collectives.
using Way = std::tuple<std::string, std::string, int, std::string>;

class TraceWriter {
 public:
  TraceWriter(const Plan& plan,
              const Trace& trace,
              std::int64_t most_ops,
              const WriteChunk& write_chunk)
      : plan_(plan),
        trace_(trace),
        listed_(std::min(trace.ops.size(), static_cast<std::size_t>(most_ops))),
        write_(write_chunk) {
    TWINRUN_CHECK(trace.ops.size() == plan.size());
  }

  std::int64_t run() {
    const auto left_out = static_cast<std::int64_t>(trace_.ops.size() - listed_);
    add("{{\n  \"schema\": \"{}\",\n  \"plan\": {{\"name\": {}, \"ops\": {}, \"ids\": \"{}\"}},\n",
        kTraceSchema, json_quoted(plan_.text().name), plan_.size(), plan_fingerprint(plan_));
    add("  \"source\": {},\n", json_quoted(trace_.source));
    if (!trace_.failure.empty()) {
      add("  \"failure\": {},\n", json_quoted(trace_.failure));
    }
    if (left_out > 0) {
      add("  \"ops_left_out\": {},\n", left_out);
    }
    add("  \"makespan_ps\": {},\n", trace_.makespan.ps);
    write_collectives();
    write_links();
    write_ops();
    out_ += "\n}\n";
    flush(0);
    return left_out;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;

  template <class... Args>
  void add(fmt::format_string<Args...> format, const Args&... args) {
    fmt::vformat_to(std::back_inserter(out_), format, fmt::make_format_args(args...));
  }
  void flush(std::size_t when_larger_than) {
    if (out_.size() > when_larger_than) {
      write_(out_);
      out_.clear();
    }
  }
  void number(double value) {
    constexpr double kExactlyWhole = 9007199254740992.0;  // 2^53
    if (value == std::floor(value) && std::abs(value) < kExactlyWhole) {
      add("{}", static_cast<std::int64_t>(value));
    } else {
      add("{}", std::isfinite(value) ? value : 0.0);
    }
  }

  void write_collectives() {
    std::map<Way, std::size_t> known;
    std::vector<std::size_t> of_instance;
    out_ += "  \"collective_ways\": [";
    for (std::size_t i = 0; i < trace_.collectives.size(); ++i) {
      const CollectiveRun& run = trace_.collectives[i];
      TWINRUN_CHECK(index_of(run.instance) == i);
      const auto [way, is_new] = known.try_emplace(
          Way{run.algorithm, run.protocol, run.channels, run.bottleneck}, known.size());
      of_instance.push_back(way->second);
      if (is_new) {
        write_way(run, known.size() == 1);
      }
    }
    out_ += known.empty() ? "],\n" : "\n  ],\n";
    out_ += "  \"collectives\": [";
    for (std::size_t i = 0; i < of_instance.size(); ++i) {
      add("{}{}", i == 0 ? "" : i % 32 == 0 ? ",\n    " : ", ", of_instance[i]);
      flush(kChunk);
    }
    out_ += "],\n";
  }

  void write_way(const CollectiveRun& run, bool is_first) {
    add("{}\n    {{\"algorithm\": {}", is_first ? "" : ",", json_quoted(run.algorithm));
    if (!run.protocol.empty()) {
      add(", \"protocol\": {}", json_quoted(run.protocol));
    }
    if (run.channels != 0) {
      add(", \"channels\": {}", run.channels);
    }
    if (!run.bottleneck.empty()) {
      add(", \"bottleneck\": {}", json_quoted(run.bottleneck));
    }
    out_ += '}';
  }

  void write_links() {
    out_ += "  \"links\": [";
    for (std::size_t i = 0; i < trace_.links.size(); ++i) {
      const LinkUse& link = trace_.links[i];
      add("{}\n    {{\"link\": {}, \"bytes\": ", i == 0 ? "" : ",", json_quoted(link.link));
      number(link.bytes);
      out_ += ", \"busy_pct\": ";
      number(link.busy_pct);
      out_ += '}';
      flush(kChunk);
    }
    out_ += trace_.links.empty() ? "],\n" : "\n  ],\n";
  }

  void write_ops() {
    out_ += "  \"ops\": [";
    for (std::size_t i = 0; i < listed_; ++i) {
      const OpTimes& times = trace_.ops[i];
      add("{}\n    [{}, {}, {}]", i == 0 ? "" : ",", times.ready.ps, times.start.ps, times.end.ps);
      flush(kChunk);
    }
    out_ += listed_ == 0 ? "]" : "\n  ]";
  }

  const Plan& plan_;
  const Trace& trace_;
  std::size_t listed_;
  const WriteChunk& write_;
  std::string out_;
};

}  // namespace

// FNV-1a, 64 bits, with a zero behind each id.
std::string plan_fingerprint(const Plan& plan) {
  constexpr std::uint64_t kPrime = 0x100000001B3ULL;
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    for (const char c : plan.id(id_at<OpId>(i))) {
      hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    }
    hash *= kPrime;
  }
  return fmt::format("{:016x}", hash);
}

std::int64_t save_trace(const Plan& plan,
                        const Trace& trace,
                        std::int64_t most_ops,
                        const WriteChunk& write) {
  return TraceWriter(plan, trace, most_ops, write).run();
}

std::string trace_to_json(const Plan& plan, const Trace& trace) {
  std::string text;
  save_trace(plan, trace, std::numeric_limits<std::int64_t>::max(),
             [&](std::string_view chunk) { text += chunk; });
  return text;
}

}  // namespace twinrun
