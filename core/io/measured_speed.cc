#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/io/device_speed.h"

// The part of a device that calibrate writes.

namespace twinrun {
namespace {

void complain(JsonValue where, const std::string& what, Diagnostics& diagnostics) {
  diagnostics.error("E0337", where.place(), what, "`twinrun calibrate` writes such grids");
}

// Whole numbers, ascending.
std::vector<std::uint32_t> read_axis(JsonObject& grid, std::string_view key) {
  std::vector<std::uint32_t> axis;
  grid.require(key);
  const JsonValue list = grid.array(key);
  for (JsonValue item = list ? list.first() : list; item; item = item.next()) {
    const bool is_size = item.is_integer() && item.integer() > 0 &&
                         item.integer() <= std::numeric_limits<std::uint32_t>::max();
    if (!is_size) {
      grid.wrong_type(item, "a whole number of at least 1");
      return {};
    }
    axis.push_back(static_cast<std::uint32_t>(item.integer()));
    if (axis.size() > 1 && axis[axis.size() - 2] >= axis.back()) {
      complain(item, fmt::format("\"{}\" does not ascend", key), grid.diagnostics());
      return {};
    }
  }
  if (list && axis.empty()) {
    complain(list, fmt::format("\"{}\" is empty", key), grid.diagnostics());
  }
  return axis;
}

std::vector<double> read_times(JsonObject& grid) {
  std::vector<double> times;
  grid.require("us");
  const JsonValue list = grid.array("us");
  for (JsonValue item = list ? list.first() : list; item; item = item.next()) {
    if (!item.is_number() || !(item.number() > 0)) {
      grid.wrong_type(item, "a number of microseconds greater than 0");
      return {};
    }
    times.push_back(item.number());
  }
  return times;
}

std::optional<ProductGrid> read_grid(JsonValue value, Diagnostics& diagnostics) {
  JsonObject object(value, "grid of products", diagnostics);
  ProductGrid grid;
  if (const auto pass = object.one_of("pass", kProductPassWords)) {
    grid.pass = kProductPassWords[*pass];
  }
  grid.dtype = static_cast<Dtype>(
      object.one_of("dtype", kDtypeNames).value_or(static_cast<std::size_t>(Dtype::kFp32)));
  grid.m = read_axis(object, "m");
  grid.n = read_axis(object, "n");
  grid.k = read_axis(object, "k");
  grid.us = read_times(object);
  grid.spread_pct = object.number("spread_pct").value_or(0);
  object.finish();
  if (grid.m.empty() || grid.n.empty() || grid.k.empty() || grid.us.empty()) {
    return std::nullopt;
  }
  if (grid.us.size() != grid.m.size() * grid.n.size() * grid.k.size()) {
    complain(value,
             fmt::format("{} times for a grid of {} x {} x {} shapes", grid.us.size(),
                         grid.m.size(), grid.n.size(), grid.k.size()),
             diagnostics);
    return std::nullopt;
  }
  return grid;
}

}  // namespace

std::vector<ProductGrid> read_products(JsonObject& device) {
  std::vector<ProductGrid> grids;
  const JsonValue list = device.array("products");
  for (JsonValue item = list ? list.first() : list; item; item = item.next()) {
    const auto grid = read_grid(item, device.diagnostics());
    const bool is_second = grid && std::any_of(grids.begin(), grids.end(), [&](const auto& other) {
                             return other.pass == grid->pass && other.dtype == grid->dtype;
                           });
    if (is_second) {
      complain(item, "two grids for the same pass and dtype", device.diagnostics());
    } else if (grid) {
      grids.push_back(*grid);
    }
  }
  return grids;
}

std::vector<StreamingPoint> read_streaming(JsonObject& device) {
  std::vector<StreamingPoint> points;
  const JsonValue list = device.array("streaming");
  for (JsonValue item = list ? list.first() : list; item; item = item.next()) {
    JsonObject object(item, "point of a streaming curve", device.diagnostics());
    StreamingPoint point;
    if (const auto kind = object.one_of("kind", kStreamingKindWords)) {
      point.kind = kStreamingKindWords[*kind];
    }
    object.require("bytes");
    object.require("rate");
    point.bytes = static_cast<double>(object.bytes("bytes").value_or(Bytes{1}).count);
    point.rate = object.bandwidth("rate").value_or(Bandwidth{1});
    object.finish();
    const bool is_possible = point.bytes > 0 && point.rate.bytes_per_s > 0;
    const bool is_second = std::any_of(points.begin(), points.end(), [&](const auto& other) {
      return other.kind == point.kind && other.bytes == point.bytes;
    });
    if (!is_possible || is_second) {
      device.diagnostics().error("E0333", item.place(),
                                 is_second ? "the streaming curve has two points at the same bytes"
                                           : "a point of a streaming curve must be greater than 0",
                                 "keep one of them");
    }
    points.push_back(point);
  }
  return points;
}

std::vector<FootprintPoint> read_footprint(JsonObject& cores) {
  std::vector<FootprintPoint> points;
  const JsonValue list = cores.array("footprint");
  for (JsonValue item = list ? list.first() : list; item; item = item.next()) {
    JsonObject object(item, "point of a footprint", cores.diagnostics());
    object.require("bytes");
    const FootprintPoint point{object.bytes("bytes").value_or(Bytes{1}),
                               object.number("product_ps_per_byte").value_or(0),
                               object.number("pass_ps_per_byte").value_or(0)};
    object.finish();
    const bool is_second = std::any_of(points.begin(), points.end(), [&](const auto& other) {
      return other.bytes == point.bytes;
    });
    if (point.bytes.count <= 0 || is_second) {
      cores.diagnostics().error("E0333", item.place(),
                                is_second ? "the footprint has two points at the same bytes"
                                          : "the bytes of a footprint must be greater than 0",
                                "keep one of them");
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace twinrun
