#include "core/calibrate/measure_footprint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/calibrate/robust.h"
#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

// A batch so small that a product is bound by reading its weights, as in training that shares a
// machine; weights that no core keeps to itself, and all of which a few devices' caches hold.
constexpr std::uint32_t kSamples = 16;
constexpr std::uint32_t kWidth = 1280;
constexpr std::int64_t kOperands =
    std::int64_t{sizeof(float)} * (kWidth * kWidth + 2 * kSamples * kWidth);
constexpr int kOpsEach = 120;
constexpr int kFirstOps = 30;  // while threads start and memory is touched first

// What nobody wrote is one page of zeros, which every cache holds: a sum writes it. It needs two.
std::vector<StreamId> add_written_streams(PlanBuilder& builder, int devices) {
  std::vector<DeviceId> all;
  std::vector<StreamId> streams;
  for (int i = 0; i < std::max(devices, 2); ++i) {
    all.push_back(builder.add_device(fmt::format("cpu{}", i)));
    streams.push_back(builder.stream(all.back(), "compute"));
  }
  const GroupId group = builder.add_group("all", all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    builder.add_collective(fmt::format("write@cpu{}", i), streams[i],
                           {.group = group, .bytes = {kOperands}, .algorithm = "ring"});
  }
  streams.resize(static_cast<std::size_t>(devices));
  return streams;
}

enum class Work : std::uint8_t { kProduct, kPass };

ComputeSpec compute_of(Work work) {
  const Kernel kernel{KernelKind::kGemm, kSamples, kWidth, kWidth, {}, {}};
  return work == Work::kProduct
             ? ComputeSpec{.flops = 2.0 * kSamples * kWidth * kWidth, .kernel = kernel}
             : ComputeSpec{.bytes = {kOperands}};
}

// In rounds, as the steps of a training job are: before a device comes back to its memory, all
// others have been at theirs.
Plan rounds_on(int devices, Work work) {
  PlanBuilder builder("calibration: compute beside each other");
  const std::vector<StreamId> streams = add_written_streams(builder, devices);
  std::vector<OpId> last_round;
  for (int i = 0; i < kOpsEach; ++i) {
    std::vector<OpId> round;
    for (std::size_t device = 0; device < streams.size(); ++device) {
      round.push_back(builder.add_compute(fmt::format("round{}@cpu{}", i, device), streams[device],
                                          compute_of(work)));
      for (const OpId before : last_round) {
        builder.depend(round.back(), before);
      }
    }
    last_round = std::move(round);
  }
  return std::move(builder).finish();
}

// The median, which knows nothing of those that were interrupted: they take longer by far.
double op_s(const RunPlan& run, int devices, Work work) {
  const Plan plan = rounds_on(devices, work);
  const Trace trace = run(plan);
  std::vector<double> seconds;
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    const auto ops = plan.stream_ops(id_at<StreamId>(s));
    for (std::size_t i = kFirstOps; i < ops.size(); ++i) {  // the first of all is a sum
      const OpTimes& times = trace.ops[index_of(ops[i])];
      seconds.push_back(to_seconds(times.end - times.start));
    }
  }
  return median(std::move(seconds));
}

// One, all cores, and up to four devices on each.
std::set<int> device_counts(int cores) {
  std::set<int> out = {1, 2};
  for (const double times : {1.0, 1.5, 2.0, 3.0, 4.0}) {
    out.insert(static_cast<int>(std::lround(times * cores)));
  }
  return out;
}

// Than one device alone, which is asked for first. More memory never helps: a point below the one
// before it is the machine's noise.
class Longer {
 public:
  Longer(Work work, int rounds) : work_(work), rounds_(rounds) {}

  double ps_per_byte(const RunPlan& run, int devices) {
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(rounds_));
    for (int i = 0; i < rounds_; ++i) {
      times.push_back(op_s(run, devices, work_));
    }
    const double seconds = median(std::move(times));
    alone_s_ = devices == 1 ? seconds : alone_s_;
    const double ps = (seconds - alone_s_) * 1e12 / static_cast<double>(kOperands);
    most_ps_ = std::max(most_ps_, std::round(ps * 10) / 10);
    return most_ps_;
  }

 private:
  Work work_;
  int rounds_;
  double alone_s_ = 0;
  double most_ps_ = 0;
};

}  // namespace

std::vector<FootprintPoint> measure_footprint(const RunPlan& run,
                                              int cores,
                                              int rounds,
                                              const MeasureProgress& progress) {
  const std::set<int> counts = device_counts(cores);
  std::vector<FootprintPoint> out;
  Longer products(Work::kProduct, rounds);
  Longer passes(Work::kPass, rounds);
  for (const int devices : counts) {
    if (progress) {
      progress("compute beside each other", out.size(), counts.size());
    }
    out.push_back({{devices * kOperands},
                   products.ps_per_byte(run, devices),
                   passes.ps_per_byte(run, devices)});
  }
  return out;
}

}  // namespace twinrun
