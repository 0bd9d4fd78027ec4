#include "sim/net/edge_list.h"

#include <map>

#include <gtest/gtest.h>

#include "tests/sim/random_flows.h"

namespace twinrun::sim {
namespace {

// Grows beyond the size at which a table is built and shrinks again, several times.
TEST(EdgeList, CountsWhatAMapCounts) {
  SplitMix64 draw(1);
  EdgeList edges;
  std::map<std::uint32_t, std::uint32_t> expected;
  for (int step = 0; step < 60'000; ++step) {
    const bool grows = draw.below(100) < (step / 10'000 % 2 == 0 ? 60U : 40U);
    const auto to = static_cast<std::uint32_t>(draw.below(step < 30'000 ? 60 : 3000));
    const auto known = expected.find(to);
    if (grows) {
      const auto shares = static_cast<std::uint32_t>(1 + draw.below(3));
      edges.add(to, shares);
      expected[to] += shares;
    } else if (known != expected.end()) {
      const auto shares = static_cast<std::uint32_t>(1 + draw.below(known->second));
      edges.drop(to, shares);
      if ((known->second -= shares) == 0) {
        expected.erase(known);
      }
    }
    if (step % 97 == 0) {
      std::map<std::uint32_t, std::uint32_t> counted;
      for (const EdgeList::Edge edge : edges) {
        counted[edge.to] += edge.shares;
      }
      ASSERT_EQ(counted, expected) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace twinrun::sim
