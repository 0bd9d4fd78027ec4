#include "exec/known_numbers.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

constexpr std::size_t kElements = 3000;

std::vector<float> numbers(const KnownNumbers& known, std::uint32_t rank, std::uint32_t exchange) {
  std::vector<float> out(kElements);
  known.put(rank, {exchange, 0}, out);
  return out;
}

std::vector<float> sums(const KnownNumbers& known, std::uint32_t ranks, std::uint32_t exchange) {
  std::vector<float> out(kElements);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::vector<float> one = numbers(known, rank, exchange);
    std::transform(one.begin(), one.end(), out.begin(), out.begin(), std::plus<>());
  }
  return out;
}

TEST(KnownNumbers, WhatWasPutIsRight) {
  const KnownNumbers known(5);
  for (const std::uint32_t rank : {0U, 1U, 4U}) {
    EXPECT_EQ(known.wrong(rank, {7, 0}, numbers(known, rank, 7)), 0);
  }
}

TEST(KnownNumbers, AnyPartIsRightInItsPlaceAndNowhereElse) {
  const KnownNumbers known(2);
  const std::vector<float> all = numbers(known, 1, 3);
  for (const std::size_t first : {1U, 250U, 251U, 252U, 1004U, 2900U}) {
    const std::span<const float> part = std::span(all).subspan(first, 100);
    EXPECT_EQ(known.wrong(1, {3, first}, part), 0) << first;
    EXPECT_GT(known.wrong(1, {3, first - 1}, part), 95) << first;
    EXPECT_GT(known.wrong(1, {3, first + 251}, part), 95) << first;  // a row further on
  }
}

TEST(KnownNumbers, SumsAreTheSumsOfAllRanks) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 16U, 300U}) {
    const KnownNumbers known(ranks);
    std::vector<float> found = sums(known, ranks, 11);
    EXPECT_EQ(known.wrong_sums({11, 0}, found), 0);
    EXPECT_EQ(known.wrong_sums({11, 1000}, std::span(found).subspan(1000)), 0);
    found[17] += 1;
    found[2999] = 0;
    EXPECT_EQ(known.wrong_sums({11, 0}, found),
              ranks == 1 && sums(known, 1, 11)[2999] == 0 ? 1 : 2);
  }
}

TEST(KnownNumbers, ARankLeftOutOrAddedTwiceIsWrong) {
  const KnownNumbers known(4);
  const std::vector<float> without_last = sums(known, 3, 2);
  EXPECT_GT(known.wrong_sums({2, 0}, without_last), 2900);
  std::vector<float> twice = sums(known, 4, 2);
  const std::vector<float> last = numbers(known, 3, 2);
  std::transform(twice.begin(), twice.end(), last.begin(), twice.begin(), std::plus<>());
  EXPECT_GT(known.wrong_sums({2, 0}, twice), 2900);
}

TEST(KnownNumbers, OfAnotherRankOrAnotherExchangeAllAreWrong) {
  const KnownNumbers known(8);
  EXPECT_EQ(known.wrong(3, {5, 0}, numbers(known, 2, 5)), kElements);
  EXPECT_EQ(known.wrong(3, {5, 0}, numbers(known, 3, 4)), kElements);
}

// The largest sum that a check may meet is below 2^24, so that fp32 counts it exactly.
TEST(KnownNumbers, SumsOverTheMostRanksAreExact) {
  EXPECT_LT(250.0 * KnownNumbers::kMostRanks, 16'777'216.0);
}

}  // namespace
}  // namespace twinrun::exec
