#include "sim/engine/shared_device.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

// Communication never stops kernels altogether: NCCL leaves them at least some multiprocessors.
constexpr double kLeastShareLeft = 0.05;
// Work left that is nothing but the rounding of sums of doubles.
constexpr double kNothingPs = 1e-3;

}  // namespace

double SharedDevice::speed() const {
  const auto kernels = static_cast<double>(running_.size());
  const double each = kernels <= cores_ ? 1.0 : cores_ / kernels;
  return std::max(kLeastShareLeft, 1 - taken_) * each;
}

void SharedDevice::pass(Time now) {
  TWINRUN_CHECK(now >= since_);
  if (!running_.empty() && now > since_) {
    const double done = static_cast<double>((now - since_).ps) * speed();
    for (Running& kernel : running_) {
      kernel.left_ps -= done;
    }
  }
  since_ = now;
}

void SharedDevice::start(OpId op, Time work, Time now) {
  pass(now);
  running_.push_back({op, static_cast<double>(work.ps)});
  ++version_;
}

void SharedDevice::set_taken(double share, Time now) {
  pass(now);
  taken_ = share;
  ++version_;
}

std::optional<Time> SharedDevice::next_end() const {
  if (running_.empty()) {
    return std::nullopt;
  }
  double least = running_.front().left_ps;
  for (const Running& kernel : running_) {
    least = std::min(least, kernel.left_ps);
  }
  const Time after = whole_picoseconds(std::max(0.0, least) / speed() - kNothingPs);
  return later(since_, after);
}

void SharedDevice::advance_to(Time now, std::vector<OpId>& finished) {
  pass(now);
  const auto is_done = [](const Running& kernel) { return kernel.left_ps <= kNothingPs; };
  for (const Running& kernel : running_) {
    if (is_done(kernel)) {
      finished.push_back(kernel.op);
    }
  }
  std::erase_if(running_, is_done);
  ++version_;
}

}  // namespace twinrun::sim
