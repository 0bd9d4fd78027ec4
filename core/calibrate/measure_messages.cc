#include "core/calibrate/measure_messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/calibrate/robust.h"
#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

constexpr std::int64_t kFewestMessages = 10;
constexpr std::int64_t kMostMessages = 1000;
constexpr std::int64_t kSkipped = 3;  // messages, while threads wake and memory is touched first

// What a device passes over before each message, half read and half written: then what the message
// carries is where training leaves it, in no near cache, and whoever comes first sleeps.
constexpr Bytes kWorked{16 << 20};

// Devices with a stream each, on which they talk to all others.
struct Talkers {
  Talkers(PlanBuilder& builder, const std::vector<std::string>& of) : names(of) {
    for (const std::string& name : names) {
      devices.push_back(builder.add_device(name));
      streams.push_back(builder.stream(devices.back(), "communication"));
    }
    all = builder.add_group("all", devices);
  }

  const std::vector<std::string>& names;
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
  GroupId all{};
};

// Ops that meet: a send and its receive, or those of a collective.
using Meeting = std::vector<OpId>;

// By rank.
std::vector<OpId> add_work(PlanBuilder& builder, const Talkers& talkers, const std::string& name) {
  std::vector<OpId> out;
  for (std::size_t rank = 0; rank < talkers.names.size(); ++rank) {
    out.push_back(builder.add_compute(fmt::format("{}/work@{}", name, talkers.names[rank]),
                                      talkers.streams[rank], {.bytes = kWorked}));
  }
  return out;
}

Meeting add_message(PlanBuilder& builder,
                    const Talkers& talkers,
                    Bytes bytes,
                    const std::string& name,
                    std::size_t from) {
  return {
      builder.add_send(name + "/send", talkers.streams[from], {talkers.devices[1 - from], bytes}),
      builder.add_recv(name + "/receive", talkers.streams[1 - from],
                       {talkers.devices[from], bytes})};
}

Meeting add_sum(PlanBuilder& builder,
                const Talkers& talkers,
                Bytes bytes,
                const std::string& name) {
  Meeting out;
  for (std::size_t rank = 0; rank < talkers.names.size(); ++rank) {
    out.push_back(builder.add_collective(fmt::format("{}@{}", name, talkers.names[rank]),
                                         talkers.streams[rank],
                                         {.kind = CollectiveKind::kAllReduce,
                                          .group = talkers.all,
                                          .bytes = bytes,
                                          .algorithm = "ring"}));
  }
  return out;
}

// Returns the first device's ops.
std::vector<OpId> add_sums(PlanBuilder& builder,
                           const Talkers& talkers,
                           Bytes bytes,
                           std::int64_t count) {
  std::vector<OpId> of_first;
  for (std::int64_t i = 0; i < count; ++i) {
    of_first.push_back(
        add_sum(builder, talkers, bytes, fmt::format("sum{}x{}", bytes.count, i)).front());
  }
  return of_first;
}

// From when the last of them was ready to when the last had ended.
double seconds_of(const Meeting& meeting, const Trace& trace) {
  Time ready{};
  Time end{};
  for (const OpId op : meeting) {
    ready = std::max(ready, trace.ops[index_of(op)].ready);
    end = std::max(end, trace.ops[index_of(op)].end);
  }
  return to_seconds(end - ready);
}

// Until the receiver of a message has it. What its sender takes to wake afterwards is another
// thing.
double taking_s(const Meeting& message, const Trace& trace) {
  const OpTimes& receive = trace.ops[index_of(message.back())];
  return to_seconds(receive.end -
                    std::max(receive.ready, trace.ops[index_of(message.front())].ready));
}

struct Row {
  std::int64_t bytes = 0;
  double messages = 1;
  std::vector<Meeting> meetings;
};

// Messages in turn to and fro, whose receivers come last: then none has to wake.
void add_taken_messages(PlanBuilder& builder,
                        const Talkers& talkers,
                        std::int64_t bytes,
                        std::vector<Row>& rows) {
  Row messages{bytes, 1, {}};
  for (std::int64_t i = 0; i < kSkipped + kFewestMessages; ++i) {
    const std::string name = fmt::format("message{}x{}", bytes, i);
    const auto from = static_cast<std::size_t>(i % 2);
    const std::vector<OpId> work = add_work(builder, talkers, name);
    builder.add_compute(fmt::format("{}/more work@{}", name, talkers.names[1 - from]),
                        talkers.streams[1 - from], {.bytes = kWorked});
    messages.meetings.push_back(add_message(builder, talkers, {bytes}, name, from));
    builder.depend(messages.meetings.back().front(), work[from]);  // what it sends is new
  }
  rows.push_back(std::move(messages));
}

// Messages in turn to and fro, and sums over a ring of two: each sends a half, and then another.
void add_rows(PlanBuilder& builder,
              const Talkers& talkers,
              std::int64_t bytes,
              std::vector<Row>& rows) {
  Row messages{bytes, 1, {}};
  Row sums{bytes, 2, {}};
  for (std::int64_t i = 0; i < kSkipped + kFewestMessages; ++i) {
    const std::string name = fmt::format("message{}x{}", bytes, i);
    const std::vector<OpId> work = add_work(builder, talkers, name);
    const auto from = static_cast<std::size_t>(i % 2);
    messages.meetings.push_back(add_message(builder, talkers, {bytes}, name, from));
    builder.depend(messages.meetings.back().front(), work[from]);  // what it sends is new
    const std::string sum = fmt::format("sum{}x{}", bytes, i);
    add_work(builder, talkers, sum);
    sums.meetings.push_back(add_sum(builder, talkers, {2 * bytes}, sum));
  }
  rows.push_back(std::move(messages));
  rows.push_back(std::move(sums));
}

void add_round(const RunPlan& run,
               const std::vector<std::string>& names,
               const MessageSizes& sizes,
               std::vector<MessageTime>& out) {
  PlanBuilder builder("calibration: messages");
  const Talkers talkers(builder, names);
  add_sum(builder, talkers, {kWorked.count / 2}, "write");  // so that no page is one of zeros
  std::vector<Row> rows;
  for (const std::int64_t bytes : sizes.bytes) {
    (sizes.between_threads ? add_taken_messages : add_rows)(builder, talkers, bytes, rows);
  }
  const Plan plan = std::move(builder).finish();
  const Trace trace = run(plan);
  for (const Row& row : rows) {
    std::vector<double> seconds;
    for (std::size_t i = kSkipped; i < row.meetings.size(); ++i) {
      seconds.push_back((sizes.between_threads ? taking_s : seconds_of)(row.meetings[i], trace));
    }
    out.push_back({static_cast<double>(row.bytes), median(std::move(seconds)) / row.messages});
  }
}

// ---- waking

constexpr std::uint32_t kWakeSide = 128;  // of a product: tens of microseconds, so others sleep
constexpr int kWakes = 100;

// One after the other on two devices, each waiting for the other's last.
std::vector<OpId> add_turns(PlanBuilder& builder, const std::vector<std::string>& names) {
  const Kernel kernel{KernelKind::kGemm, kWakeSide, kWakeSide, kWakeSide, {}, {}};
  std::vector<OpId> turns;
  for (std::size_t i = 0; i < kWakes; ++i) {
    const std::string& name = names[i % 2];
    const OpId op = builder.add_compute(
        fmt::format("turn{}@{}", i, name), builder.stream(builder.add_device(name), "compute"),
        {.flops = 2.0 * kWakeSide * kWakeSide * kWakeSide, .kernel = kernel});
    if (!turns.empty()) {
      builder.depend(op, turns.back());
    }
    turns.push_back(op);
  }
  return turns;
}

// ---- compute beside communication

constexpr std::uint32_t kSide = 256;
constexpr int kProducts = 60;
constexpr Bytes kSummed{1 << 20};
constexpr int kRounds = 5;
constexpr double kVisibleSlowdown = 1.02;

void add_products(PlanBuilder& builder, const std::vector<std::string>& names) {
  const Kernel kernel{KernelKind::kGemm, kSide, kSide, kSide, {}, {}};
  for (const std::string& name : names) {
    const StreamId stream = builder.stream(builder.add_device(name), "compute");
    for (int i = 0; i < kProducts; ++i) {
      builder.add_compute(fmt::format("product{}@{}", i, name), stream,
                          {.flops = 2.0 * kSide * kSide * kSide, .kernel = kernel});
    }
  }
}

// When the last product of all devices had ended, and when the first had begun.
struct Span {
  Time begin{};
  Time end{};
  [[nodiscard]] double seconds() const { return to_seconds(end - begin); }
};

Span span_of_products(const Plan& plan, const Trace& trace) {
  Span span{Time{std::numeric_limits<std::int64_t>::max()}, Time{}};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan.kind(id_at<OpId>(i)) == OpKind::kCompute) {
      span.begin = std::min(span.begin, trace.ops[i].start);
      span.end = std::max(span.end, trace.ops[i].end);
    }
  }
  return span;
}

// Bytes that a rank received in sums meanwhile: a ring of n receives 2 (n − 1) / n of the array.
double received_during(const Plan& plan,
                       const Trace& trace,
                       const std::vector<OpId>& sums,
                       const Span& span) {
  double bytes = 0;
  for (const OpId op : sums) {
    const OpTimes& times = trace.ops[index_of(op)];
    if (times.start >= span.begin && times.end <= span.end) {
      const auto ranks = static_cast<double>(plan.group_devices(plan.shape(op).group).size());
      bytes += 2 * (ranks - 1) / ranks * static_cast<double>(plan.collective(op).bytes.count);
    }
  }
  return bytes;
}

struct Overlap {
  double slowdown = 1;
  double moved_per_core_s = 0;
};

Overlap overlap_once(const RunPlan& run,
                     const std::vector<std::string>& names,
                     const MessageCost& message) {
  PlanBuilder alone("calibration: products");
  add_products(alone, names);
  const Plan products = std::move(alone).finish();
  const double without = span_of_products(products, run(products)).seconds();
  PlanBuilder both("calibration: products beside sums");
  const Talkers talkers(both, names);
  // Enough to last as long as the products, should those take twice as long.
  const auto summed = static_cast<double>(kSummed.count);
  const double each = message.latency_s + summed / std::max(message.bytes_per_s, 1e6);
  const auto count =
      std::clamp<std::int64_t>(std::llround(3 * without / each), kFewestMessages, kMostMessages);
  const std::vector<OpId> sums = add_sums(both, talkers, kSummed, count);
  add_products(both, names);
  const Plan plan = std::move(both).finish();
  const Trace trace = run(plan);
  const Span span = span_of_products(plan, trace);
  const double lost = std::max(span.seconds() - without, 1e-12);
  return {span.seconds() / without, received_during(plan, trace, sums, span) / lost};
}

}  // namespace

double measure_wake(const RunPlan& run, const std::vector<std::string>& devices) {
  PlanBuilder builder("calibration: turns");
  const std::vector<OpId> turns = add_turns(builder, devices);
  const Trace trace = run(std::move(builder).finish());
  std::vector<double> gaps;
  for (std::size_t i = 1; i < turns.size(); ++i) {
    gaps.push_back(
        to_seconds(trace.ops[index_of(turns[i])].start - trace.ops[index_of(turns[i - 1])].end));
  }
  return std::max(median(std::move(gaps)), 0.0);
}

std::vector<MessageTime> measure_messages(const RunPlan& run,
                                          const std::vector<std::string>& devices,
                                          const MessageSizes& sizes,
                                          const MeasureProgress& progress) {
  std::vector<MessageTime> out;
  for (int round = 0; round < sizes.rounds; ++round) {
    if (progress) {
      progress("messages and sums", static_cast<std::size_t>(round),
               static_cast<std::size_t>(sizes.rounds));
    }
    add_round(run, devices, sizes, out);
  }
  return out;
}

OverlapCost measure_overlap(const RunPlan& run,
                            const std::vector<std::string>& devices,
                            const MessageCost& message,
                            const MeasureProgress& progress) {
  std::vector<double> slowdowns;
  std::vector<double> moved;
  for (int round = 0; round < kRounds; ++round) {
    if (progress) {
      progress("compute beside messages", static_cast<std::size_t>(round), kRounds);
    }
    const Overlap once = overlap_once(run, devices, message);
    slowdowns.push_back(once.slowdown);
    moved.push_back(once.moved_per_core_s);
  }
  OverlapCost cost;
  cost.slowdown = median(std::move(slowdowns));
  cost.moved_per_core_s = cost.slowdown > kVisibleSlowdown ? median(std::move(moved)) : 0;
  return cost;
}

}  // namespace twinrun
