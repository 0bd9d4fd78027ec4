#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace twinrun {

// Quantities carry their unit in the type. Time is whole picoseconds (range ±106 days), because
// whole nanoseconds lose small messages and doubles lose ties. GB is 10^9 bytes, GiB is 2^30.
struct Time {
  std::int64_t ps = 0;
  auto operator<=>(const Time&) const = default;
  friend constexpr Time operator+(Time a, Time b) { return {a.ps + b.ps}; }
  friend constexpr Time operator-(Time a, Time b) { return {a.ps - b.ps}; }
};

struct Bytes {
  std::int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

struct Bandwidth {
  double bytes_per_s = 0;
  auto operator<=>(const Bandwidth&) const = default;
};

struct FlopRate {
  double flop_per_s = 0;
  auto operator<=>(const FlopRate&) const = default;
};

constexpr Bandwidth gigabytes_per_second(double gb) { return {gb * 1e9}; }
constexpr double to_gigabytes_per_second(Bandwidth b) { return b.bytes_per_s / 1e9; }
constexpr Time microseconds(
    double us) {  // to the nearest picosecond; std::llround is not constexpr
  return {static_cast<std::int64_t>(us * 1e6 + (us < 0 ? -0.5 : 0.5))};
}
constexpr double to_seconds(Time t) { return static_cast<double>(t.ps) / 1e12; }
constexpr double to_microseconds(Time t) { return static_cast<double>(t.ps) / 1e6; }

// Text to quantity: "1.5us", "80GiB", "25GB/s" or "200Gb/s", "312TFLOP/s". Nothing when the text is
// not a finite number >= 0 with a unit of that quantity, or is out of range.
std::optional<Time> parse_time(std::string_view text);
std::optional<Bytes> parse_bytes(std::string_view text);
std::optional<Bandwidth> parse_bandwidth(std::string_view text);
std::optional<FlopRate> parse_flop_rate(std::string_view text);

// The accepted forms in words, for error messages. A plain number is read in the unit named last.
inline constexpr std::string_view kTimeForms =
    "\"1.5us\", \"200ns\", \"3ms\", \"2s\" or a number of microseconds";
inline constexpr std::string_view kBytesForms =
    "\"80GiB\", \"25MB\", \"4096B\" or a number of bytes";
inline constexpr std::string_view kBandwidthForms = "\"25GB/s\", \"200Gb/s\" or a number of GB/s";
inline constexpr std::string_view kFlopRateForms = "\"312TFLOP/s\" or a number of TFLOP/s";

// Quantity to text for people: three significant figures and the unit that keeps them short.
std::string to_text(Time time);
std::string to_text(Bytes bytes);
std::string to_text(Bandwidth bandwidth);
std::string to_text(FlopRate rate);

// Bytes over a rate, rounded up to a whole picosecond: a transfer never ends early.
Time transfer_time(Bytes bytes, Bandwidth bandwidth);

}  // namespace twinrun
