#include "report/memory_data.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/trace/memory_levels.h"
#include "core/trace/trace_rows.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kStretches = 200;
constexpr std::size_t kMostCurves = 8;
constexpr std::size_t kParts = kMemoryPartNames.size();

struct MemoryPoint {
  Time at{};
  std::array<std::int64_t, kParts> parts{};
  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t part : parts) {
      sum += part;
    }
    return sum;
  }
  bool operator==(const MemoryPoint&) const = default;
};

struct MemoryCurve {
  std::vector<std::string> devices;
  std::int64_t capacity = 0;  // 0: not known
  std::vector<MemoryPoint> points;
  [[nodiscard]] std::int64_t peak() const {
    std::int64_t most = 0;
    for (const MemoryPoint& point : points) {
      most = std::max(most, point.total());
    }
    return most;
  }
};

// Keeps the fullest instant of each stretch.
class StretchMaxima {
 public:
  explicit StretchMaxima(Time makespan)
      : stretch_(std::max<std::int64_t>(1, makespan.ps / kStretches)) {}

  void add(const MemoryPoint& point) {
    const std::int64_t number = point.at.ps / stretch_;
    if (points_.empty() || number != number_) {
      points_.push_back(point);
      number_ = number;
    } else if (point.total() > points_.back().total()) {
      points_.back() = point;
    }
  }
  std::vector<MemoryPoint> take() { return std::move(points_); }

 private:
  std::int64_t stretch_;
  std::int64_t number_ = 0;
  std::vector<MemoryPoint> points_;
};

std::vector<MemoryPoint> points_of(const Plan& plan, const Trace& trace, DeviceId device) {
  const std::vector<TraceRow> rows = trace_rows(plan, trace, std::array{device});
  TraceTimeline timeline(plan, trace, rows);
  MemoryLevels levels;
  StretchMaxima maxima(trace.makespan);
  MemoryPoint now;
  while (const auto point = timeline.next()) {
    const auto changed = levels.apply(plan.memory_effects(point->op),
                                      point->is_start ? MemoryWhen::kStart : MemoryWhen::kEnd);
    if (changed == 0) {
      continue;
    }
    now.at = point->at;
    for (std::size_t part = 0; part < kParts; ++part) {
      now.parts[part] = levels.bytes(part);
    }
    maxima.add(now);
  }
  std::vector<MemoryPoint> points = maxima.take();
  if (!points.empty() && now.at < trace.makespan) {
    now.at = trace.makespan;
    points.push_back(now);
  }
  return points;
}

std::int64_t capacity_of(const Plan& plan, const Topology* topology, DeviceId device) {
  if (topology == nullptr) {
    return 0;
  }
  const auto vertex = topology->find(plan.device_name(device));
  const DeviceSpec* const spec = vertex ? topology->device(*vertex) : nullptr;
  return spec == nullptr ? 0 : spec->memory.count;
}

std::vector<MemoryCurve> curves_of(const Plan& plan, const Topology* topology, const Trace& trace) {
  std::vector<MemoryCurve> curves;
  for (std::size_t i = 0; i < plan.device_count(); ++i) {
    const auto device = id_at<DeviceId>(i);
    MemoryCurve curve{{std::string(plan.device_name(device))},
                      capacity_of(plan, topology, device),
                      points_of(plan, trace, device)};
    if (curve.points.empty()) {
      continue;
    }
    const auto same = std::find_if(curves.begin(), curves.end(), [&](const MemoryCurve& other) {
      return other.capacity == curve.capacity && other.points == curve.points;
    });
    if (same != curves.end()) {
      same->devices.push_back(curve.devices.front());
    } else {
      curves.push_back(std::move(curve));
    }
  }
  // The fullest first: as a share of what it has, where that is known.
  const auto fullness = [](const MemoryCurve& curve) {
    const auto peak = static_cast<double>(curve.peak());
    return std::pair(curve.capacity > 0 ? peak / static_cast<double>(curve.capacity) : 0, peak);
  };
  std::stable_sort(curves.begin(), curves.end(), [&](const MemoryCurve& a, const MemoryCurve& b) {
    return fullness(a) > fullness(b);
  });
  return curves;
}

Json curve_json(const MemoryCurve& curve) {
  Json times = Json::array();
  Json parts = Json::object();
  for (std::size_t part = 0; part < kParts; ++part) {
    Json bytes = Json::array();
    bool is_used = false;
    for (const MemoryPoint& point : curve.points) {
      bytes.push_back(point.parts[part]);
      is_used = is_used || point.parts[part] != 0;
    }
    if (is_used) {
      parts[std::string(kMemoryPartNames[part])] = std::move(bytes);
    }
  }
  for (const MemoryPoint& point : curve.points) {
    times.push_back(to_nanoseconds(point.at));
  }
  return {{"devices", curve.devices},
          {"capacity_bytes", curve.capacity > 0 ? Json(curve.capacity) : Json(nullptr)},
          {"peak_bytes", curve.peak()},
          {"times_ns", std::move(times)},
          {"parts", std::move(parts)}};
}

}  // namespace

Json memory_data(const Plan& plan, const Topology* topology, const Trace& trace) {
  const std::vector<MemoryCurve> curves = curves_of(plan, topology, trace);
  const std::size_t shown = std::min(curves.size(), kMostCurves);
  Json json;
  json["makespan_ns"] = to_nanoseconds(trace.makespan);
  json["curves"] = Json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    json["curves"].push_back(curve_json(curves[i]));
  }
  json["left_out"] =
      shown < curves.size()
          ? fmt::format("The {} fullest of {} different curves are here.", shown, curves.size())
          : "";
  return json;
}

}  // namespace twinrun::report
