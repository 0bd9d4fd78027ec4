#include "sim/engine/timers.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace twinrun::sim {
namespace {

using Key = std::tuple<std::int64_t, Timers::Kind, std::uint32_t, std::uint32_t>;

TEST(Timers, GivesTheEarliestThenOpsThenTheSmallestSubject) {
  std::mt19937 random(7);
  Timers timers;
  std::vector<Key> waiting;
  for (int round = 0; round < 20'000; ++round) {
    if (waiting.empty() || random() % 5 < 3) {
      const auto kind = random() % 2 == 0 ? Timers::Kind::kOp : Timers::Kind::kDevice;
      const Key key{random() % 50, kind, random() % 3 == 0 ? ~0U - random() % 9 : random() % 40,
                    kind == Timers::Kind::kOp ? 0 : random() & Timers::kVersions};
      waiting.push_back(key);
      timers.set(Time{std::get<0>(key)}, {kind, std::get<2>(key), std::get<3>(key)});
      continue;
    }
    const auto first = std::min_element(waiting.begin(), waiting.end());
    ASSERT_EQ(timers.next(), Time{std::get<0>(*first)});
    const Timers::Due due = timers.take();
    ASSERT_EQ(std::tuple(due.kind, due.subject, due.version),
              std::tuple(std::get<1>(*first), std::get<2>(*first), std::get<3>(*first)));
    waiting.erase(first);
  }
}

TEST(Timers, HasNothingNextWhenAllWereTaken) {
  Timers timers;
  EXPECT_EQ(timers.next(), std::nullopt);
  timers.set(Time{3}, {Timers::Kind::kOp, 1, 0});
  timers.take();
  EXPECT_EQ(timers.next(), std::nullopt);
}

}  // namespace
}  // namespace twinrun::sim
