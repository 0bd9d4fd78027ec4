#include "sim/net/max_min.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "sim/net/max_min_reference.h"
#include "tests/sim/random_flows.h"

namespace twinrun::sim {
namespace {

struct Scenario {
  SharedLinks links;
  std::vector<std::vector<LinkId>> routes;  // to draw from
};

// Few links with small whole capacities, so that levels tie all the time. Some are half-duplex
// pairs, some routes cross a capacity twice.
Scenario random_scenario(SplitMix64& draw) {
  Scenario scenario;
  const std::uint64_t count = 1 + draw.below(draw.below(10) == 0 ? 80 : 14);
  const std::uint64_t widest = 1 + draw.below(6);
  const bool has_latency = draw.below(3) == 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Time latency{has_latency ? static_cast<std::int64_t>(draw.below(3)) * 1'000'000 : 0};
    scenario.links.add({1e9 * static_cast<double>(1 + draw.below(widest))}, latency);
    if (i > 0 && draw.below(8) == 0) {
      scenario.links.owner[i] = scenario.links.owner[i - 1];
    }
  }
  for (std::uint64_t i = 0; i < 1 + draw.below(2 * count + 8); ++i) {
    std::vector<LinkId> route;
    const std::uint64_t hops = 1 + draw.below(std::min<std::uint64_t>(count, 6));
    // Half of them run along the numbers, so that links are often followed by the same next one.
    std::uint64_t link = draw.below(count);
    const bool runs_along = draw.below(2) == 0;
    for (std::uint64_t hop = 0; hop < hops; ++hop) {
      route.push_back(id_at<LinkId>(link));
      link = runs_along ? (link + 1) % count : draw.below(count);
    }
    scenario.routes.push_back(std::move(route));
  }
  return scenario;
}

void expect_same_rates(FlowNetwork& fast, FlowNetwork& slow) {
  const std::vector<FlowRate> a = fast.rates();
  const std::vector<FlowRate> b = slow.rates();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].flow, b[i].flow);
    ASSERT_NEAR(a[i].bytes_per_s, b[i].bytes_per_s, 1e-12 * b[i].bytes_per_s);
    ASSERT_NEAR(a[i].bytes_left, b[i].bytes_left, 1e-3);
  }
}

// No capacity exceeded; every flow has a full capacity on which none is faster.
void expect_max_min(const Scenario& scenario,
                    const std::vector<std::size_t>& route_of,
                    const std::vector<FlowRate>& rates) {
  std::vector<double> load(scenario.links.owner.size(), 0);
  std::vector<double> fastest(load.size(), 0);
  for (const FlowRate& rate : rates) {
    for (const LinkId link : scenario.routes[route_of[index_of(rate.flow)]]) {
      const std::uint32_t owner = scenario.links.owner[index_of(link)];
      load[owner] += rate.bytes_per_s;
      fastest[owner] = std::max(fastest[owner], rate.bytes_per_s);
    }
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    ASSERT_LE(load[i], scenario.links.bytes_per_s[i] * (1 + 1e-12));
  }
  for (const FlowRate& rate : rates) {
    bool is_held = false;
    for (const LinkId link : scenario.routes[route_of[index_of(rate.flow)]]) {
      const std::uint32_t owner = scenario.links.owner[index_of(link)];
      is_held = is_held || (load[owner] >= scenario.links.bytes_per_s[owner] * (1 - 1e-12) &&
                            rate.bytes_per_s >= fastest[owner] * (1 - 1e-12));
    }
    ASSERT_TRUE(is_held) << "flow " << index_of(rate.flow) << " could grow";
  }
}

struct Ends {
  std::map<std::uint32_t, Time> by_flow;
  void advance(FlowNetwork& network, Time time) {
    std::vector<FlowId> finished;
    for (auto event = network.next_event(); event && *event <= time; event = network.next_event()) {
      finished.clear();
      network.advance_to(*event, finished);
      for (const FlowId flow : finished) {
        by_flow[static_cast<std::uint32_t>(flow)] = *event;
      }
    }
    finished.clear();
    network.advance_to(time, finished);
    ASSERT_TRUE(finished.empty());
  }
};

// Starts at random dates, several at once, while others end; then runs dry.
void run_both(std::uint64_t seed, std::size_t most_repairs, std::size_t& restarts) {
  SplitMix64 draw(seed);
  const Scenario scenario = random_scenario(draw);
  MaxMin fast(scenario.links, most_repairs);
  MaxMinReference slow(scenario.links);
  Ends fast_ends;
  Ends slow_ends;
  std::vector<std::size_t> route_of;
  Time now{};
  const std::uint64_t rounds = 1 + draw.below(12);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t n = draw.below(8 + scenario.routes.size()); n > 0; --n) {
      const auto flow = id_at<FlowId>(route_of.size());
      route_of.push_back(draw.below(scenario.routes.size()));
      const Bytes bytes{static_cast<std::int64_t>(1000 * draw.below(9))};
      fast.start(flow, scenario.routes[route_of.back()], bytes, now);
      slow.start(flow, scenario.routes[route_of.back()], bytes, now);
    }
    expect_same_rates(fast, slow);
    expect_max_min(scenario, route_of, fast.rates());
    now = now + Time{static_cast<std::int64_t>(draw.below(5)) * 1'000'000};
    fast_ends.advance(fast, now);
    slow_ends.advance(slow, now);
  }
  const Time end{1'000'000'000'000};
  fast_ends.advance(fast, end);
  slow_ends.advance(slow, end);
  ASSERT_EQ(fast_ends.by_flow.size(), route_of.size());
  ASSERT_EQ(slow_ends.by_flow.size(), route_of.size());
  for (const auto& [flow, date] : fast_ends.by_flow) {
    ASSERT_NEAR(static_cast<double>(date.ps), static_cast<double>(slow_ends.by_flow[flow].ps), 1)
        << "flow " << flow;
  }
  restarts += fast.restarts();
}

std::size_t restarts_in_runs(std::uint64_t seeds, std::size_t most_repairs) {
  std::size_t restarts = 0;
  for (std::uint64_t seed = 1; seed <= seeds && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    run_both(seed, most_repairs, restarts);
  }
  return restarts;
}

TEST(MaxMin, EqualsTheReferenceOnRandomNetworks) { EXPECT_EQ(restarts_in_runs(6000, 1000), 0U); }

TEST(MaxMin, StartingOverGivesTheSame) {
  EXPECT_GT(restarts_in_runs(500, 1), 1000U);
  EXPECT_GT(restarts_in_runs(500, 3), 100U);
}

// ---- by hand ----

std::vector<LinkId> route_over(std::initializer_list<std::uint32_t> links) {
  std::vector<LinkId> route;
  for (const std::uint32_t link : links) {
    route.push_back(LinkId{link});
  }
  return route;
}

template <class Network>
class BothSolvers : public testing::Test {};
using Solvers = testing::Types<MaxMin, MaxMinReference>;
TYPED_TEST_SUITE(BothSolvers, Solvers);

std::vector<double> rates_in_gb(FlowNetwork& network) {
  std::vector<double> rates;
  for (const FlowRate& rate : network.rates()) {
    rates.push_back(rate.bytes_per_s / 1e9);
  }
  return rates;
}

// The example of Bertsekas and Gallager, 6.5.2, with whole numbers: 1 and 2 share link 0, 2 and 3
// link 1 of twice the width.
TYPED_TEST(BothSolvers, GiveTheRestToWhoCanUseIt) {
  SharedLinks links;
  links.add(gigabytes_per_second(2));
  links.add(gigabytes_per_second(4));
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0}), {1000}, {});
  network.start(FlowId{2}, route_over({0, 1}), {1000}, {});
  network.start(FlowId{3}, route_over({1}), {1000}, {});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{1, 1, 3}));
}

TYPED_TEST(BothSolvers, ACapacityCrossedTwiceGivesHalf) {
  SharedLinks links;
  links.add(gigabytes_per_second(6));
  links.add(gigabytes_per_second(100));
  links.owner[1] = 0;  // a half-duplex pair
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0, 1}), {1000}, {});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{3}));
  network.start(FlowId{2}, route_over({1}), {1000}, {});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{2, 2}));
}

TYPED_TEST(BothSolvers, NothingToMoveTakesTheLatency) {
  SharedLinks links;
  links.add(gigabytes_per_second(1), Time{500});
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0, 0}), {0}, {});
  network.start(FlowId{2}, {}, {1'000'000}, {});
  std::vector<FlowId> finished;
  ASSERT_EQ(network.next_event(), Time{0});
  network.advance_to({0}, finished);
  EXPECT_EQ(finished, (std::vector<FlowId>{FlowId{2}}));
  ASSERT_EQ(network.next_event(), Time{1000});
  network.advance_to({1000}, finished);
  EXPECT_EQ(finished, (std::vector<FlowId>{FlowId{2}, FlowId{1}}));
  EXPECT_EQ(network.next_event(), std::nullopt);
}

TYPED_TEST(BothSolvers, AnEndlessTransferEndsWithTime) {
  SharedLinks links;
  links.add({1});
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0}), {std::int64_t{1} << 60}, {});
  network.start(FlowId{2}, route_over({0}), {1}, {});
  std::vector<FlowId> finished;
  ASSERT_EQ(network.next_event(), Time{2'000'000'000'000});
  network.advance_to({2'000'000'000'000}, finished);
  const auto last = network.next_event();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ps, std::numeric_limits<std::int64_t>::max());
  network.advance_to(*last, finished);
  EXPECT_EQ(finished.size(), 2U);
  EXPECT_EQ(network.next_event(), std::nullopt);
}

TYPED_TEST(BothSolvers, ThreeBytesAtThreeGigabytesEndOnTheirPicosecond) {
  SharedLinks links;
  links.add(gigabytes_per_second(3));
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0}), {3}, {7});
  EXPECT_EQ(network.next_event(), Time{1007});
}

}  // namespace
}  // namespace twinrun::sim
