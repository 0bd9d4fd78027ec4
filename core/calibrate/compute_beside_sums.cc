#include "core/calibrate/compute_beside_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/calibrate/robust.h"
#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

constexpr int kWarmUpProducts = 2;
constexpr std::int64_t kFewestSums = 4;
constexpr std::int64_t kMostSums = 2000;
constexpr double kLongerThanProducts = 3;  // should those be so much slower beside the sums

using OpsOfDevice = std::vector<OpId>;

std::vector<OpsOfDevice> add_products_of_all(PlanBuilder& builder,
                                             const std::vector<std::string>& devices,
                                             const BesideSums& what) {
  const Kernel kernel{KernelKind::kGemm, what.side, what.side, what.side, {}, {}};
  const double flops = 2.0 * what.side * what.side * what.side;
  std::vector<OpsOfDevice> out(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const StreamId stream = builder.stream(builder.add_device(devices[d]), "compute");
    for (int i = 0; i < kWarmUpProducts + what.products; ++i) {
      out[d].push_back(builder.add_compute(fmt::format("product{}@{}", i, devices[d]), stream,
                                           {.flops = flops, .kernel = kernel}));
    }
  }
  return out;
}

void add_sums_of_all(PlanBuilder& builder,
                     const std::vector<std::string>& devices,
                     Bytes bytes,
                     std::int64_t count) {
  std::vector<DeviceId> ids;
  ids.reserve(devices.size());
  for (const std::string& device : devices) {
    ids.push_back(builder.add_device(device));
  }
  const GroupId all = builder.add_group("all", ids);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      builder.add_collective(fmt::format("sum{}@{}", i, devices[d]),
                             builder.stream(ids[d], "communication"),
                             {.group = all, .bytes = bytes});
    }
  }
}

// Of the slowest device, without the first products.
double seconds_of_products(const std::vector<OpsOfDevice>& products, const Trace& trace) {
  double slowest = 0;
  for (const OpsOfDevice& ops : products) {
    const Time begin = trace.ops[index_of(ops[kWarmUpProducts])].start;
    slowest = std::max(slowest, to_seconds(trace.ops[index_of(ops.back())].end - begin));
  }
  return slowest;
}

double slowdown_once(const RunPlan& run,
                     const std::vector<std::string>& devices,
                     const BesideSums& what) {
  PlanBuilder alone("calibration: products");
  const std::vector<OpsOfDevice> products = add_products_of_all(alone, devices, what);
  const double without = seconds_of_products(products, run(std::move(alone).finish()));
  if (without <= 0) {
    return 1;
  }
  PlanBuilder both("calibration: products beside sums");
  const double sums = kLongerThanProducts * without / std::max(what.sum_s, 1e-7);
  // In front of the products: whoever enqueues both would else come to the sums too late.
  add_sums_of_all(both, devices, what.summed,
                  std::clamp<std::int64_t>(std::llround(sums), kFewestSums, kMostSums));
  const std::vector<OpsOfDevice> beside = add_products_of_all(both, devices, what);
  return seconds_of_products(beside, run(std::move(both).finish())) / without;
}

}  // namespace

double measure_compute_beside_sums(const RunPlan& run,
                                   const std::vector<std::string>& devices,
                                   const BesideSums& what,
                                   const MeasureProgress& progress) {
  std::vector<double> slowdowns;
  for (int round = 0; round < what.rounds; ++round) {
    if (progress) {
      progress("compute beside sums", static_cast<std::size_t>(round),
               static_cast<std::size_t>(what.rounds));
    }
    slowdowns.push_back(slowdown_once(run, devices, what));
  }
  return std::max(median(std::move(slowdowns)), 1.0);
}

}  // namespace twinrun
