#include "cli/comparison_cells.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

// What is farther apart is louder.
Tone tone_of(double pct) {
  return std::abs(pct) > 25 ? Tone::kBad : std::abs(pct) > 10 ? Tone::kWarning : Tone::kPlain;
}

// As it is shown with one decimal: no "-0.0".
double without_minus_zero(double value) { return std::abs(value) < 0.05 ? 0 : value; }

}  // namespace

std::string time_shown(double seconds) {
  const Time time{std::llround(std::abs(seconds) * 1e12)};
  return (seconds < 0 && time.ps > 0 ? "-" : "") + to_text(time);
}
Cell time_cell(double seconds) { return {seconds, time_shown(seconds)}; }

Cell difference_cell(double seconds) {
  return {seconds, (seconds > 0 ? "+" : "") + time_shown(seconds)};
}
Cell percent_cell(std::optional<double> percent) {
  return percent ? Cell(*percent, fmt::format("{:+.1f} %", without_minus_zero(*percent)),
                        tone_of(*percent))
                 : Cell();
}
Cell share_cell(std::optional<double> percent) {
  return percent ? Cell(*percent, fmt::format("{:.1f} %", without_minus_zero(*percent))) : Cell();
}
std::optional<double> change_pct(double a, double b) {
  return a != 0 ? std::optional(100 * (b - a) / a) : b == 0 ? std::optional(0.0) : std::nullopt;
}

Column number_column(std::string name, std::string title) {
  return {std::move(name), std::move(title), Align::kRight};
}

std::string rest_text(std::size_t shown, std::size_t all, std::string_view what) {
  return shown < all ? fmt::format("{} more {}", all - shown, what) : "";
}

std::size_t most_rows(bool is_whole) {
  constexpr std::size_t kFew = 8;
  return is_whole ? std::numeric_limits<std::size_t>::max() : kFew;
}

}  // namespace twinrun::cli
