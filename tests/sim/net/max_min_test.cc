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
  bool has_caps = false;
};

struct Started {
  std::size_t route = 0;
  Bytes bytes{};
  Bandwidth cap{};
};

// Few links with small whole capacities, so that levels tie all the time. Some are half-duplex
// pairs, some routes cross a capacity twice; some are long, as those of a whole ring are.
Scenario random_scenario(SplitMix64& draw) {
  Scenario scenario;
  const std::uint64_t count = 1 + draw.below(draw.below(10) == 0 ? 80 : 14);
  const std::uint64_t widest = 1 + draw.below(6);
  const bool has_latency = draw.below(3) == 0;
  scenario.has_caps = draw.below(3) == 0;
  const std::uint64_t longest = draw.below(10) == 0 ? 2 * count : std::min<std::uint64_t>(count, 6);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Time latency{has_latency ? static_cast<std::int64_t>(draw.below(3)) * 1'000'000 : 0};
    scenario.links.add({1e9 * static_cast<double>(1 + draw.below(widest))}, latency);
    if (i > 0 && draw.below(8) == 0) {
      scenario.links.owner[i] = scenario.links.owner[i - 1];
    }
  }
  for (std::uint64_t i = 0; i < 1 + draw.below(2 * count + 8); ++i) {
    std::vector<LinkId> route;
    const std::uint64_t hops = 1 + draw.below(longest);
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

// Caps are halves of the capacities' steps, so that they tie with levels.
Started random_flow(const Scenario& scenario, SplitMix64& draw) {
  Started flow;
  flow.route = draw.below(scenario.routes.size());
  flow.bytes = {static_cast<std::int64_t>(1000 * draw.below(9))};
  flow.cap = scenario.has_caps && draw.below(2) == 0
                 ? Bandwidth{0.5e9 * static_cast<double>(1 + draw.below(6))}
                 : FlowTerms{}.most;
  return flow;
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

// No capacity exceeded; every flow is at its cap or has a full capacity on which none is faster.
void expect_max_min(const Scenario& scenario,
                    const std::vector<Started>& started,
                    const std::vector<FlowRate>& rates) {
  std::vector<double> load(scenario.links.owner.size(), 0);
  std::vector<double> fastest(load.size(), 0);
  for (const FlowRate& rate : rates) {
    for (const LinkId link : scenario.routes[started[index_of(rate.flow)].route]) {
      const std::uint32_t owner = scenario.links.owner[index_of(link)];
      load[owner] += rate.bytes_per_s;
      fastest[owner] = std::max(fastest[owner], rate.bytes_per_s);
    }
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    ASSERT_LE(load[i], scenario.links.bytes_per_s[i] * (1 + 1e-12));
  }
  for (const FlowRate& rate : rates) {
    const Started& flow = started[index_of(rate.flow)];
    ASSERT_LE(rate.bytes_per_s, flow.cap.bytes_per_s);
    bool is_held = rate.bytes_per_s == flow.cap.bytes_per_s;
    for (const LinkId link : scenario.routes[flow.route]) {
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
  std::vector<Started> started;
  Time now{};
  const std::uint64_t rounds = 1 + draw.below(12);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t n = draw.below(8 + scenario.routes.size()); n > 0; --n) {
      const auto id = id_at<FlowId>(started.size());
      const Started flow = random_flow(scenario, draw);
      fast.start(id, scenario.routes[flow.route], flow.bytes, now, {.most = flow.cap});
      slow.start(id, scenario.routes[flow.route], flow.bytes, now, {.most = flow.cap});
      started.push_back(flow);
    }
    expect_same_rates(fast, slow);
    expect_max_min(scenario, started, fast.rates());
    now = now + Time{static_cast<std::int64_t>(draw.below(5)) * 1'000'000};
    fast_ends.advance(fast, now);
    slow_ends.advance(slow, now);
  }
  const Time end{1'000'000'000'000};
  fast_ends.advance(fast, end);
  slow_ends.advance(slow, end);
  ASSERT_EQ(fast_ends.by_flow.size(), started.size());
  ASSERT_EQ(slow_ends.by_flow.size(), started.size());
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

// ---- conservation ----

std::vector<double> requested(const Scenario& scenario, const std::vector<Started>& started) {
  std::vector<double> bytes(scenario.links.owner.size(), 0);
  for (const Started& flow : started) {
    for (const LinkId link : scenario.routes[flow.route]) {
      bytes[scenario.links.owner[index_of(link)]] += static_cast<double>(flow.bytes.count);
    }
  }
  return bytes;
}

// At every instant of a run the loads fit; in every span each capacity carries what the rates at
// its start say; in the end each has carried what was asked for.
void expect_conserved(std::uint64_t seed) {
  SplitMix64 draw(seed);
  const Scenario scenario = random_scenario(draw);
  MaxMin network(scenario.links);
  std::vector<Started> started;
  std::vector<double> by_rates(scenario.links.owner.size(), 0);
  std::vector<FlowId> finished;
  std::uint64_t to_start = 5 + draw.below(60);
  Time now{};
  while (to_start > 0 || network.next_event()) {
    for (std::uint64_t n = std::min(to_start, draw.below(6)); n > 0; --n, --to_start) {
      started.push_back(random_flow(scenario, draw));
      network.start(id_at<FlowId>(started.size() - 1), scenario.routes[started.back().route],
                    started.back().bytes, now, {.most = started.back().cap});
    }
    const std::vector<FlowRate> rates = network.rates();
    expect_max_min(scenario, started, rates);
    const Time next = network.next_event().value_or(now);
    for (const FlowRate& rate : rates) {
      const double gone = rate.bytes_per_s * to_seconds(next - now);
      for (const LinkId link : scenario.routes[started[index_of(rate.flow)].route]) {
        by_rates[scenario.links.owner[index_of(link)]] += gone;
      }
    }
    network.advance_to(next, finished);
    now = next;
    const std::vector<double> carried = network.bytes_carried();
    for (std::size_t i = 0; i < carried.size(); ++i) {
      ASSERT_NEAR(carried[i], by_rates[i], 1) << "link " << i;  // dates are whole picoseconds
    }
  }
  ASSERT_EQ(finished.size(), started.size());
  ASSERT_EQ(network.bytes_carried(), requested(scenario, started));
}

TEST(MaxMin, CarriesWhatWasAskedForAndNeverMoreThanFits) {
  for (std::uint64_t seed = 1; seed <= 2000 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_conserved(seed);
  }
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

TYPED_TEST(BothSolvers, ACappedFlowLeavesTheRestToOthers) {
  SharedLinks links;
  links.add(gigabytes_per_second(6));
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0}), {1000}, {}, {.most = gigabytes_per_second(1)});
  network.start(FlowId{2}, route_over({0}), {1000}, {});
  network.start(FlowId{3}, route_over({0}), {1000}, {}, {.most = gigabytes_per_second(5)});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{1, 2.5, 2.5}));
  std::vector<FlowId> finished;
  network.advance_to({400'000}, finished);  // 2 and 3 are done, 400 bytes of 1 are
  EXPECT_EQ(finished, (std::vector<FlowId>{FlowId{2}, FlowId{3}}));
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{1}));
  EXPECT_NEAR(network.bytes_carried()[0], 2400, 1e-6);
  EXPECT_EQ(network.next_event(), Time{1'000'000});
}

TYPED_TEST(BothSolvers, ALatencyOfItsOwnReplacesThatOfTheLinks) {
  SharedLinks links;
  links.add(gigabytes_per_second(1), {500'000});
  TypeParam network(links);
  network.start(FlowId{1}, route_over({0}), {1000}, {}, {.latency = Time{2'000'000}});
  std::vector<FlowId> finished;
  network.advance_to({2'999'999}, finished);
  EXPECT_TRUE(finished.empty());
  network.advance_to({3'000'000}, finished);
  EXPECT_EQ(finished, (std::vector<FlowId>{FlowId{1}}));
}

TYPED_TEST(BothSolvers, WithoutLinksOnlyTheCapTakesTime) {
  TypeParam network(SharedLinks{});
  network.start(FlowId{1}, {}, {1000}, {}, {.most = gigabytes_per_second(1)});
  network.start(FlowId{2}, {}, {1000}, {});
  std::vector<FlowId> finished;
  network.advance_to({0}, finished);
  EXPECT_EQ(finished, (std::vector<FlowId>{FlowId{2}}));
  EXPECT_EQ(network.next_event(), Time{1'000'000});
}

TYPED_TEST(BothSolvers, ARingOfManyLinksIsHeldByItsBusiest) {
  SharedLinks links;
  std::vector<LinkId> ring;
  for (int i = 0; i < 300; ++i) {
    ring.push_back(links.add(gigabytes_per_second(12)));
  }
  ring.push_back(ring[7]);  // crossed twice
  TypeParam network(links);
  network.start(FlowId{1}, ring, {12'000}, {});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{6}));
  network.start(FlowId{2}, route_over({3, 7}), {1000}, {});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{4, 4}));
  network.start(FlowId{3}, route_over({299}), {1000}, {});
  EXPECT_EQ(rates_in_gb(network), (std::vector<double>{4, 4, 8}));
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
