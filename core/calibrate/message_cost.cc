#include "core/calibrate/message_cost.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/calibrate/linear_fit.h"
#include "core/calibrate/robust.h"

namespace twinrun {
namespace {

// A part of the time that never makes up more than this share of a message cannot be told from the
// noise of the rest.
constexpr double kVisible = 0.2;

double fitted_s(const MessageCost& cost, double bytes) {
  return cost.latency_s + (cost.bytes_per_s > 0 ? bytes / cost.bytes_per_s : 0);
}

MessageCost level(std::span<const MessageTime> times) {
  std::vector<double> seconds;
  for (const MessageTime& time : times) {
    seconds.push_back(time.seconds);
  }
  return {median(std::move(seconds)), 0, 0, true, false};
}

MessageCost through_zero(std::span<const MessageTime> times) {
  std::vector<double> rates;
  for (const MessageTime& time : times) {
    rates.push_back(time.bytes / time.seconds);
  }
  return {0, median(std::move(rates)), 0, false, true};
}

// Of the two parts together, divided by the measured time: 1 = latency / time + (bytes / time) /
// bandwidth.
MessageCost both(std::span<const MessageTime> times) {
  double largest = 0;
  for (const MessageTime& time : times) {
    largest = std::max(largest, time.bytes);
  }
  LinearRows rows{2, {}, {}};
  for (const MessageTime& time : times) {
    rows.design.push_back(1e-6 / time.seconds);  // in units that make both columns alike in size
    rows.design.push_back(time.bytes / largest / time.seconds);
    rows.observed.push_back(1);
  }
  const LinearFit fit = fit_robustly(rows);
  const double latency = fit.values[0] * 1e-6;
  const double per_byte = fit.values[1] / largest;
  if (!fit.is_determined[0] || !fit.is_determined[1] || latency < 0 || per_byte <= 0) {
    return latency < 0 ? through_zero(times) : level(times);
  }
  return {latency, 1 / per_byte, 0, true, true};
}

}  // namespace

MessageCost fit_message_cost(std::span<const MessageTime> times) {
  std::vector<MessageTime> good;
  std::copy_if(times.begin(), times.end(), std::back_inserter(good),
               [](const MessageTime& time) { return time.seconds > 0 && time.bytes >= 0; });
  if (good.empty()) {
    return {};
  }
  MessageCost cost = both(good);
  const auto [least, most] = std::minmax_element(
      good.begin(), good.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (cost.knows_latency && cost.knows_bandwidth) {
    cost.knows_latency = cost.latency_s > kVisible * fitted_s(cost, least->bytes);
    cost.knows_bandwidth =
        fitted_s(cost, most->bytes) - cost.latency_s > kVisible * fitted_s(cost, most->bytes);
  }
  std::vector<double> shares;
  shares.reserve(good.size());
  for (const MessageTime& time : good) {
    shares.push_back(time.seconds / std::max(fitted_s(cost, time.bytes), 1e-300));
  }
  cost.spread_pct = middle_half_pct(std::move(shares));
  return cost;
}

}  // namespace twinrun
