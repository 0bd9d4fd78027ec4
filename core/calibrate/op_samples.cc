#include "core/calibrate/op_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/calibrate/robust.h"
#include "core/compute/measured_speed.h"
#include "core/trace/steps.h"

namespace twinrun {
namespace {

constexpr double kPointsApart = 1.5;
constexpr std::string_view kLoss = "loss";
constexpr std::string_view kUpdate = "update";

// Three digits after the point are nanoseconds: more says nothing, and files stay readable.
double whole_ns(double us) { return std::max(std::round(us * 1e3) / 1e3, 1e-3); }

std::vector<std::uint32_t> sorted(const std::set<std::uint32_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void OpSamples::add(const Plan& plan, const Trace& trace, const Counted& counted) {
  const auto is_counted = [&](OpId op) {
    return plan.kind(op) == OpKind::kCompute &&
           step_of(plan.id(op)).value_or(-1) >= counted.from_step;
  };
  std::map<StreamingKey, std::vector<double>> streaming;
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    const OpTimes* before = nullptr;
    for (const OpId op : plan.stream_ops(id_at<StreamId>(s))) {
      const OpTimes& times = trace.ops[index_of(op)];
      if (!is_counted(op)) {
        continue;
      }
      if (before != nullptr) {
        gaps_us_.push_back(to_microseconds(times.start - before->end));
      }
      before = &times;
      const Kernel* const kernel = plan.kernel(op);
      const double us = to_microseconds(times.end - times.start);
      if (kernel != nullptr && kernel->m > 0) {
        products_[{std::string(product_pass(*kernel)), kernel->m, kernel->n, kernel->k}].push_back(
            us);
      } else if (kernel == nullptr || kernel->layer != kLoss) {
        streaming[{std::string(streaming_kind(kernel)), plan.compute(op).bytes.count}].push_back(
            us);
      }
    }
  }
  for (auto& [key, us] : streaming) {
    if (counted.updates || key.kind != kUpdate) {
      streaming_[key].push_back(median(std::move(us)));
    }
  }
}

Time OpSamples::op_overhead() const {
  return Time{std::llround(std::max(median(gaps_us_), 0.0) * 1e6)};
}

double OpSamples::spread_pct() const {
  std::vector<double> spreads;
  for (const auto& [key, us] : products_) {
    spreads.push_back(middle_half_pct(us));
  }
  return std::round(median(std::move(spreads)) * 10) / 10;
}

ProductGrid OpSamples::grid(const std::string& pass) const {
  std::array<std::set<std::uint32_t>, 3> axes;
  std::vector<double> spreads;
  for (const auto& [key, us] : products_) {
    if (key.pass == pass) {
      axes[0].insert(key.m);
      axes[1].insert(key.n);
      axes[2].insert(key.k);
      spreads.push_back(middle_half_pct(us));
    }
  }
  ProductGrid grid;
  grid.pass = pass;
  grid.m = sorted(axes[0]);
  grid.n = sorted(axes[1]);
  grid.k = sorted(axes[2]);
  grid.spread_pct = std::round(median(std::move(spreads)) * 10) / 10;
  const double overhead = to_microseconds(op_overhead());
  for (const std::uint32_t m : grid.m) {
    for (const std::uint32_t n : grid.n) {
      for (const std::uint32_t k : grid.k) {
        grid.us.push_back(whole_ns(median(products_.at({pass, m, n, k})) + overhead));
      }
    }
  }
  return grid;
}

std::vector<ProductGrid> OpSamples::grids() const {
  std::set<std::string> passes;
  for (const auto& [key, us] : products_) {
    passes.insert(key.pass);
  }
  std::vector<ProductGrid> out;
  out.reserve(passes.size());
  for (const std::string& pass : passes) {
    out.push_back(grid(pass));
  }
  return out;
}

std::vector<StreamingPoint> OpSamples::streaming() const {
  std::vector<StreamingPoint> out;
  const double overhead = to_microseconds(op_overhead());
  for (const auto& [key, us] : streaming_) {
    const auto bytes = static_cast<double>(key.bytes);
    const double rate = bytes / ((median(us) + overhead) * 1e-6);
    const bool is_near =
        !out.empty() && out.back().kind == key.kind && bytes < kPointsApart * out.back().bytes;
    if (bytes > 0 && !is_near) {
      out.push_back({key.kind, bytes, {std::round(rate * 1e-6) * 1e6}});
    }
  }
  return out;
}

}  // namespace twinrun
