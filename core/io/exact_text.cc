#include <array>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/io/save_topology.h"

namespace twinrun {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// In the first unit that reads back exactly with few digits, else in the one that is shortest.
template <class Parse>
std::string in_unit(double value, std::span<const Unit> units, Parse reads_back) {
  constexpr std::size_t kFewDigits = 8;
  std::string best;
  for (const Unit& unit : units) {
    const double number = value / unit.factor;
    std::string text = fmt::format("{}{}", number, unit.name);
    if (!reads_back(text)) {
      continue;
    }
    if (number >= 0.1 && text.size() <= kFewDigits + unit.name.size()) {
      return text;
    }
    if (best.empty() || text.size() < best.size()) {
      best = std::move(text);
    }
  }
  return best;
}

}  // namespace

std::string bits_text(Bandwidth rate) {
  constexpr std::array kUnits = {Unit{"Gb/s", 125e6}, Unit{"Mb/s", 125e3}, Unit{"B/s", 1}};
  return in_unit(rate.bytes_per_s, kUnits,
                 [&](const std::string& text) { return parse_bandwidth(text) == rate; });
}

std::string exact_text(Bandwidth bandwidth) {
  constexpr std::array kUnits = {Unit{"GB/s", 1e9}, Unit{"Gb/s", 125e6}, Unit{"MB/s", 1e6},
                                 Unit{"B/s", 1}};
  return in_unit(bandwidth.bytes_per_s, kUnits,
                 [&](const std::string& text) { return parse_bandwidth(text) == bandwidth; });
}

std::string exact_text(Time time) {
  constexpr std::array kUnits = {Unit{"us", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}, Unit{"ns", 1e3},
                                 Unit{"ps", 1}};
  return in_unit(static_cast<double>(time.ps), kUnits,
                 [&](const std::string& text) { return parse_time(text) == time; });
}

std::string exact_text(Bytes bytes) {
  constexpr std::array kUnits = {Unit{"GiB", 1073741824.0}, Unit{"MiB", 1048576.0}, Unit{"GB", 1e9},
                                 Unit{"MB", 1e6}, Unit{"B", 1}};
  return in_unit(static_cast<double>(bytes.count), kUnits,
                 [&](const std::string& text) { return parse_bytes(text) == bytes; });
}

std::string exact_text(FlopRate rate) {
  constexpr std::array kUnits = {Unit{"TFLOP/s", 1e12}, Unit{"GFLOP/s", 1e9}, Unit{"FLOP/s", 1}};
  return in_unit(rate.flop_per_s, kUnits,
                 [&](const std::string& text) { return parse_flop_rate(text) == rate; });
}

}  // namespace twinrun
