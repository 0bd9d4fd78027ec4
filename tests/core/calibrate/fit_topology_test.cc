#include "core/calibrate/fit_topology.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// The predictions are closed forms over a topology's numbers, and so are the measurements: what was
// put in must come out.

namespace twinrun {
namespace {

LinkSpec link(const std::string& from, const std::string& to, double gb_per_s, double us) {
  LinkSpec out;
  out.from = {from};
  out.to = {to};
  out.bandwidth = {gb_per_s * 1e9};
  out.latency = microseconds(us);
  out.source = "guessed";
  return out;
}

// Two links one behind the other.
TopologySpec two_links(double gb_per_s, double us) {
  TopologySpec spec;
  spec.links = {link("a", "b", gb_per_s, us), link("b", "c", 100, 2)};
  return spec;
}

std::vector<double> sizes() {
  std::vector<double> out;
  for (int i = 0; i < 40; ++i) {
    out.push_back(std::exp2(8 + i * 0.5));  // 256 B … 190 MB
  }
  return out;
}

// Over the first link alone.
std::vector<double> over_first(const TopologySpec& spec) {
  std::vector<double> out;
  for (const double bytes : sizes()) {
    out.push_back(to_seconds(spec.links[0].latency) + bytes / spec.links[0].bandwidth.bytes_per_s);
  }
  return out;
}

// Over both: the latencies add up, the narrower decides.
std::vector<double> over_both(const TopologySpec& spec) {
  std::vector<double> out;
  for (const double bytes : sizes()) {
    const double rate =
        std::min(spec.links[0].bandwidth.bytes_per_s, spec.links[1].bandwidth.bytes_per_s);
    out.push_back(to_seconds(spec.links[0].latency) + to_seconds(spec.links[1].latency) +
                  bytes / rate);
  }
  return out;
}

const FittedParameter& named(const TopologyFit& fit, const std::string& name) {
  for (const FittedParameter& one : fit.parameters) {
    if (one.parameter.name == name) {
      return one;
    }
  }
  throw std::runtime_error("no " + name);
}

// A small error of each row: repeats, and its mean is 0.
double wobble(std::size_t i) { return 1 + 0.02 * std::sin(static_cast<double>(i) * 12.9898); }

TEST(FitTopology, FindsWhatWasPutIn) {
  const std::vector<double> measured = over_first(two_links(23, 7));
  const TopologyFit fit = fit_topology(two_links(50, 3), measured, over_first, "fitted");
  EXPECT_NEAR(named(fit, "bandwidth of a – b").after, 23, 0.05);
  EXPECT_NEAR(named(fit, "latency of a – b").after, 7, 0.02);
  EXPECT_LT(fit.held_out_after.worst_pct, 0.3);
  EXPECT_EQ(fit.held_out_rows, measured.size() / 5);
  EXPECT_EQ(fit.topology.links[0].source, "fitted");
}

TEST(FitTopology, IsNotMovedByATenthOfWildRows) {
  std::vector<double> measured = over_first(two_links(23, 7));
  for (std::size_t i = 0; i < measured.size(); ++i) {
    measured[i] *= i % 10 == 3 ? 5 : wobble(i);
  }
  const TopologyFit fit = fit_topology(two_links(50, 3), measured, over_first, "fitted");
  EXPECT_NEAR(named(fit, "bandwidth of a – b").after, 23, 0.05 * 23);
  EXPECT_NEAR(named(fit, "latency of a – b").after, 7, 0.05 * 7);
  EXPECT_LT(fit.held_out_after.median_pct, 4);
  EXPECT_GT(fit.held_out_before.median_pct, 30);
}

TEST(FitTopology, LeavesAloneWhatNoRowDependsOn) {
  const TopologyFit fit =
      fit_topology(two_links(50, 3), over_first(two_links(23, 7)), over_first, "fitted");
  const FittedParameter& other = named(fit, "bandwidth of b – c");
  EXPECT_FALSE(other.is_used);
  EXPECT_FALSE(other.is_determined);
  EXPECT_EQ(other.after, 100);
  EXPECT_EQ(fit.topology.links[1].source, "guessed");
}

TEST(FitTopology, SaysWhatOnlyOccursTogether) {
  const TopologyFit fit =
      fit_topology(two_links(50, 3), over_both(two_links(23, 7)), over_both, "fitted");
  for (const char* const name : {"latency of a – b", "latency of b – c"}) {
    EXPECT_TRUE(named(fit, name).is_used) << name;
    EXPECT_FALSE(named(fit, name).is_determined) << name;
  }
  EXPECT_TRUE(named(fit, "bandwidth of a – b").is_determined);
  EXPECT_FALSE(named(fit, "bandwidth of b – c").is_used);
  EXPECT_NEAR(named(fit, "latency of a – b").after + named(fit, "latency of b – c").after, 9, 0.1);
}

// Neither is narrower than the other: both get wider or narrower together.
TEST(FitTopology, MovesLinksInARowThatAreEquallyNarrow) {
  for (const double gb_per_s : {40.0, 160.0}) {
    TopologySpec real = two_links(gb_per_s, 2);
    real.links[1].bandwidth = real.links[0].bandwidth;
    const TopologyFit fit = fit_topology(two_links(100, 2), over_both(real), over_both, "fitted");
    EXPECT_LT(fit.held_out_after.worst_pct, 1);
    EXPECT_FALSE(named(fit, "bandwidth of a – b").is_determined);
    EXPECT_FALSE(named(fit, "bandwidth of b – c").is_determined);
  }
}

// The rows that are held out say something else: nothing of it may be in the fit.
TEST(FitTopology, DoesNotLookAtTheRowsThatAreHeldOut) {
  std::vector<double> measured = over_first(two_links(23, 7));
  for (std::size_t i = 0; i < measured.size(); ++i) {
    measured[i] *= is_held_out(i) ? 3 : 1;
  }
  const TopologyFit fit = fit_topology(two_links(50, 3), measured, over_first, "fitted");
  EXPECT_NEAR(named(fit, "bandwidth of a – b").after, 23, 0.05);
  EXPECT_NEAR(fit.held_out_after.median_pct, 100 * (1 - 1.0 / 3), 1);
  EXPECT_LT(fit.fitted_after.worst_pct, 0.3);
}

// What a topology cannot run says 0 and does not count.
TEST(FitTopology, RowsWithoutAPredictionDoNotCount) {
  const std::vector<double> measured = over_first(two_links(23, 7));
  const auto predict = [](const TopologySpec& spec) {
    std::vector<double> out = over_first(spec);
    out[4] = 0;
    return out;
  };
  const TopologyFit fit = fit_topology(two_links(50, 3), measured, predict, "fitted");
  EXPECT_EQ(fit.held_out_rows, measured.size() / 5 - 1);
  EXPECT_NEAR(named(fit, "latency of a – b").after, 7, 0.02);
}

}  // namespace
}  // namespace twinrun
