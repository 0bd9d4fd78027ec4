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
constexpr std::int64_t kSkipped = 4;  // messages, while threads wake and memory is touched first

std::int64_t messages_for(std::int64_t bytes, const MessageSizes& sizes) {
  const double each = sizes.latency_s + static_cast<double>(bytes) / sizes.bytes_per_s;
  return kSkipped + std::clamp<std::int64_t>(std::llround(sizes.seconds_a_size / each),
                                             kFewestMessages, kMostMessages);
}

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

// To and fro between the first two. Returns the first device's ops.
std::vector<OpId> add_ping_pong(PlanBuilder& builder,
                                const Talkers& talkers,
                                Bytes bytes,
                                std::int64_t count) {
  std::vector<OpId> of_first;
  OpId last_received = no_id<OpId>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>(i % 2);
    const OpId send = builder.add_send(fmt::format("message{}x{}/send", bytes.count, i),
                                       talkers.streams[from], {talkers.devices[1 - from], bytes});
    const OpId receive =
        builder.add_recv(fmt::format("message{}x{}/receive", bytes.count, i),
                         talkers.streams[1 - from], {talkers.devices[from], bytes});
    if (last_received != no_id<OpId>()) {
      builder.depend(send, last_received);  // an answer
    }
    last_received = receive;
    of_first.push_back(from == 0 ? send : receive);
  }
  return of_first;
}

// Returns the first device's ops.
std::vector<OpId> add_sums(PlanBuilder& builder,
                           const Talkers& talkers,
                           Bytes bytes,
                           std::int64_t count) {
  std::vector<OpId> of_first;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t rank = 0; rank < talkers.names.size(); ++rank) {
      const OpId op = builder.add_collective(
          fmt::format("sum{}x{}@{}", bytes.count, i, talkers.names[rank]), talkers.streams[rank],
          {.kind = CollectiveKind::kAllReduce,
           .group = talkers.all,
           .bytes = bytes,
           .algorithm = "ring"});
      if (rank == 0) {
        of_first.push_back(op);
      }
    }
  }
  return of_first;
}

// From the end of the first few to the end of the last.
double seconds_each(const std::vector<OpId>& ops, const Trace& trace) {
  const Time first = trace.ops[index_of(ops[kSkipped - 1])].end;
  const Time last = trace.ops[index_of(ops.back())].end;
  return to_seconds(last - first) / static_cast<double>(ops.size() - kSkipped);
}

struct Row {
  std::int64_t bytes = 0;
  std::vector<OpId> ops;
  double messages_an_op = 1;
};

void add_round(const RunPlan& run,
               const std::vector<std::string>& names,
               const MessageSizes& sizes,
               std::vector<MessageTime>& out) {
  PlanBuilder builder("calibration: messages");
  const Talkers talkers(builder, names);
  std::vector<Row> rows;
  for (const std::int64_t bytes : sizes.bytes) {
    const std::int64_t count = messages_for(bytes, sizes);
    rows.push_back({bytes, add_ping_pong(builder, talkers, {bytes}, count), 1});
    // A ring of two sends a half of the array, and then another.
    rows.push_back({bytes, add_sums(builder, talkers, {2 * bytes}, count), 2});
  }
  const Plan plan = std::move(builder).finish();
  const Trace trace = run(plan);
  for (const Row& row : rows) {
    out.push_back(
        {static_cast<double>(row.bytes), seconds_each(row.ops, trace) / row.messages_an_op});
  }
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
