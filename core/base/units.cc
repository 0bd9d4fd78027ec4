#include "core/base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "core/base/check.h"

namespace twinrun {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTimeUnits = {Unit{"ps", 1},      Unit{"ns", 1e3},   Unit{"us", 1e6},
                                   Unit{"µs", 1e6},    Unit{"ms", 1e9},   Unit{"s", 1e12},
                                   Unit{"min", 60e12}, Unit{"h", 3600e12}};
constexpr std::array kByteUnits = {Unit{"B", 1},
                                   Unit{"kB", 1e3},
                                   Unit{"KB", 1e3},
                                   Unit{"MB", 1e6},
                                   Unit{"GB", 1e9},
                                   Unit{"TB", 1e12},
                                   Unit{"KiB", 1024.0},
                                   Unit{"MiB", 1048576.0},
                                   Unit{"GiB", 1073741824.0},
                                   Unit{"TiB", 1099511627776.0}};
constexpr std::array kBandwidthUnits = {Unit{"B/s", 1},           Unit{"kB/s", 1e3},
                                        Unit{"KB/s", 1e3},        Unit{"MB/s", 1e6},
                                        Unit{"GB/s", 1e9},        Unit{"TB/s", 1e12},
                                        Unit{"GBps", 1e9},        Unit{"MBps", 1e6},
                                        Unit{"MiB/s", 1048576.0}, Unit{"GiB/s", 1073741824.0},
                                        Unit{"b/s", 0.125},       Unit{"kb/s", 125},
                                        Unit{"Kb/s", 125},        Unit{"Mb/s", 125e3},
                                        Unit{"Gb/s", 125e6},      Unit{"Tb/s", 125e9},
                                        Unit{"Mbps", 125e3},      Unit{"Gbps", 125e6},
                                        Unit{"Mbit/s", 125e3},    Unit{"Gbit/s", 125e6}};
constexpr std::array kFlopUnits = {
    Unit{"FLOP/s", 1},   Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15},
    Unit{"GFLOPS", 1e9}, Unit{"TFLOPS", 1e12}, Unit{"PFLOPS", 1e15}};

// The number scaled by its unit, or nothing.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) {
    return std::nullopt;
  }
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  if (unit.empty() && number == 0) {
    return 0;  // "0" needs no unit
  }
  for (const Unit& candidate : units) {
    if (candidate.name == unit) {
      const double scaled = number * candidate.factor;
      return std::isfinite(scaled) ? std::optional(scaled) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> to_whole(std::optional<double> value) {
  constexpr double kLargest = 9.2e18;  // just below 2^63
  if (!value || *value > kLargest) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(std::llround(*value));
}

std::string scaled(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value >= unit.factor * 0.9995) {
      best = &unit;
    }
  }
  const double shown = value / best->factor;
  // 9.999 is shown as 10.0, not as 10.00: the limits are where rounding gains a figure.
  const int decimals = shown == std::floor(shown) ? 0 : shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", shown, decimals, best->name);
}

}  // namespace

std::optional<Time> parse_time(std::string_view text) {
  const auto ps = to_whole(parse_quantity(text, kTimeUnits));
  return ps ? std::optional(Time{*ps}) : std::nullopt;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto count = to_whole(parse_quantity(text, kByteUnits));
  return count ? std::optional(Bytes{*count}) : std::nullopt;
}

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto rate = parse_quantity(text, kBandwidthUnits);
  return rate ? std::optional(Bandwidth{*rate}) : std::nullopt;
}

std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  const auto rate = parse_quantity(text, kFlopUnits);
  return rate ? std::optional(FlopRate{*rate}) : std::nullopt;
}

std::string to_text(Time time) {
  constexpr std::array kShown = {Unit{"ps", 1}, Unit{"ns", 1e3}, Unit{"us", 1e6}, Unit{"ms", 1e9},
                                 Unit{"s", 1e12}};
  if (time.ps == 0) {
    return "0 us";
  }
  const std::string size = scaled(std::abs(static_cast<double>(time.ps)), kShown);
  return time.ps < 0 ? "-" + size : size;
}

std::string to_text(Bytes bytes) {
  constexpr std::array kShown = {Unit{"B", 1}, Unit{"KiB", 1024.0}, Unit{"MiB", 1048576.0},
                                 Unit{"GiB", 1073741824.0}, Unit{"TiB", 1099511627776.0}};
  return scaled(static_cast<double>(bytes.count), kShown);
}

std::string to_text(Bandwidth bandwidth) {
  constexpr std::array kShown = {Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9}, Unit{"TB/s", 1e12}};
  return scaled(bandwidth.bytes_per_s, kShown);
}

std::string to_text(FlopRate rate) {
  constexpr std::array kShown = {Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12},
                                 Unit{"PFLOP/s", 1e15}};
  return scaled(rate.flop_per_s, kShown);
}

Time transfer_time(Bytes bytes, Bandwidth bandwidth) {
  TWINRUN_CHECK(bandwidth.bytes_per_s > 0);
  // Multiplied first, and in 64-bit mantissas: 3 bytes at 3 GB/s are exactly 1000 ps, while 3 / 3e9
  // is already rounded and would come out as 1001.
  const long double ps =
      std::ceil(static_cast<long double>(bytes.count) * 1e12L / bandwidth.bytes_per_s);
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return {ps < static_cast<long double>(kLargest) ? static_cast<std::int64_t>(ps) : kLargest};
}

}  // namespace twinrun
