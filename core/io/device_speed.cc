#include "core/io/device_speed.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "core/plan/op.h"

namespace twinrun {
namespace {

// Clocks above the nominal one and algorithms that save FLOPs (Winograd) do reach more than the
// peak on paper; more than twice that is a mistake in a unit.
constexpr double kLargestFraction = 2;

bool is_possible(JsonValue value, Diagnostics& diagnostics) {
  const double fraction = value.number();
  if (!(fraction > 0) || fraction > kLargestFraction) {
    diagnostics.error(
        "E0331", value.place(),
        fmt::format("a share of the peak must lie in 0 … {}, is {}", kLargestFraction, fraction),
        "0.75 means three quarters of \"peak\"");
    return false;
  }
  if (fraction > 1) {
    diagnostics.warning("W0331", value.place(),
                        fmt::format("a share of the peak above 1: {}", fraction),
                        "check \"peak\": it should be that of the clock the device runs at");
  }
  return true;
}

std::optional<Dtype> read_dtype(JsonObject& object) {
  const auto dtype = object.one_of("dtype", kDtypeNames);
  return dtype ? std::optional(static_cast<Dtype>(*dtype)) : std::nullopt;
}

std::optional<EfficiencyPoint> read_point(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "point of an efficiency curve", diagnostics);
  EfficiencyPoint point;
  if (const auto kind = object.one_of("kind", kKernelKindNames)) {
    point.kind = kKernelKindNames[*kind];
  }
  point.dtype = read_dtype(object);
  object.require("flops");
  object.require("fraction");
  const auto flops = object.number("flops", 1);
  const auto fraction = object.number("fraction", -std::numeric_limits<double>::max());
  object.finish();
  if (!flops || !fraction || !is_possible(value.find("fraction"), diagnostics)) {
    return std::nullopt;
  }
  point.flops = *flops;
  point.fraction = *fraction;
  return point;
}

// False, with a complaint, when the list says nothing.
bool says_something(JsonValue list, std::string_view key, Diagnostics& diagnostics) {
  if (list.size() == 0) {
    diagnostics.error("E0332", list.place(), fmt::format("\"{}\" is an empty list", key),
                      "leave the key out to use the built-in model");
  }
  return list.size() > 0;
}

}  // namespace

std::vector<EfficiencyPoint> read_efficiency(JsonObject& device) {
  const JsonValue value = device.find("efficiency");
  std::vector<EfficiencyPoint> points;
  if (!value) {
    return points;
  }
  if (value.is_number()) {
    if (is_possible(value, device.diagnostics())) {
      points.push_back({"", std::nullopt, 0, value.number()});
    }
    return points;
  }
  if (!value.is_array()) {
    device.wrong_type(value, "a share of the peak or a list of points");
    return points;
  }
  says_something(value, "efficiency", device.diagnostics());
  std::set<std::tuple<std::string, int, double>> seen;
  for (JsonValue item = value.first(); item; item = item.next()) {
    const auto point = read_point(item, device.diagnostics());
    if (!point) {
      continue;
    }
    const int dtype = point->dtype ? static_cast<int>(*point->dtype) : -1;
    if (!seen.emplace(point->kind, dtype, point->flops).second) {
      device.diagnostics().error(
          "E0333", item.place(),
          fmt::format("the curve has two points at {} FLOPs for the same kind and dtype",
                      point->flops),
          "keep one of them");
    }
    points.push_back(*point);
  }
  return points;
}

std::vector<MeasuredKernel> read_measured_kernels(JsonObject& device) {
  constexpr std::int64_t kLargestDim = std::numeric_limits<std::uint32_t>::max();
  std::vector<MeasuredKernel> kernels;
  const JsonValue list = device.array("kernels");
  if (!list || !says_something(list, "kernels", device.diagnostics())) {
    return kernels;
  }
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Dtype>> seen;
  for (JsonValue item = list.first(); item; item = item.next()) {
    JsonObject object(item, "measured kernel", device.diagnostics());
    for (const char* key : {"m", "n", "k", "time"}) {
      object.require(key);
    }
    const auto dim = [&](std::string_view key) {
      return static_cast<std::uint32_t>(object.integer(key, 1, kLargestDim).value_or(1));
    };
    MeasuredKernel kernel{
        dim("m"), dim("n"), dim("k"), read_dtype(object).value_or(Dtype::kFp32), {}};
    const auto time = object.time("time");
    object.finish();
    if (time && time->ps <= 0) {
      device.diagnostics().error("E0203", object.place_of("time"),
                                 "\"time\" must be greater than 0");
    }
    kernel.time = time.value_or(Time{});
    if (!seen.emplace(kernel.m, kernel.n, kernel.k, kernel.dtype).second) {
      device.diagnostics().error("E0334", item.place(),
                                 fmt::format("the GEMM {} x {} x {} in {} has two times", kernel.m,
                                             kernel.n, kernel.k, name_of(kernel.dtype)),
                                 "keep one of them");
    }
    kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace twinrun
