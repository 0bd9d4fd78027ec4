#include "sim/noise.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace twinrun::sim {
namespace {

constexpr std::uint32_t kDraws = 100'000;

double mean(const Noise& noise, const std::function<double(double)>& of) {
  double sum = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    sum += of(noise_factor(noise, id_at<OpId>(i)));
  }
  return sum / kDraws;
}

// Five standard errors of a mean of 100,000 draws.
TEST(Noise, FactorsHaveTheMomentsOfTheirDistribution) {
  const auto itself = [](double x) { return x; };
  const Noise uniform{Jitter::kUniform, 0.2, 3};
  EXPECT_NEAR(mean(uniform, itself), 1, 5 * 0.2 / std::sqrt(3.0 * kDraws));
  const Noise lognormal{Jitter::kLognormal, 0.1, 3};
  const auto log = [](double x) { return std::log(x); };
  EXPECT_NEAR(mean(lognormal, log), 0, 5 * 0.1 / std::sqrt(double{kDraws}));
  const auto square = [&](double x) { return std::log(x) * std::log(x); };
  EXPECT_NEAR(mean(lognormal, square), 0.01, 5 * 0.01 * std::sqrt(2.0 / kDraws));
  const Noise exponential{Jitter::kExponential, 0.3, 3};
  EXPECT_NEAR(mean(exponential, itself), 1.3, 5 * 0.3 / std::sqrt(double{kDraws}));
}

TEST(Noise, TheSeedAndTheOpDecideAlone) {
  const Noise noise{Jitter::kUniform, 0.5, 1};
  const Noise other{Jitter::kUniform, 0.5, 2};
  EXPECT_EQ(noise_factor(noise, id_at<OpId>(4)), noise_factor(noise, id_at<OpId>(4)));
  EXPECT_NE(noise_factor(noise, id_at<OpId>(4)), noise_factor(noise, id_at<OpId>(5)));
  EXPECT_NE(noise_factor(noise, id_at<OpId>(4)), noise_factor(other, id_at<OpId>(4)));
}

TEST(Noise, OnlyWordsAndSpreadsThatMakeSenseAreRead) {
  EXPECT_EQ(parse_noise("lognormal:0.05")->jitter, Jitter::kLognormal);
  EXPECT_EQ(parse_noise("lognormal:0.05")->spread, 0.05);
  EXPECT_TRUE(parse_noise("none"));
  for (const char* const text : {"", "lognormal", "gauss:0.1", "uniform:", "uniform:-0.1",
                                 "uniform:2", "uniform:nan", "uniform:0.1x"}) {
    EXPECT_FALSE(parse_noise(text)) << text;
  }
}

}  // namespace
}  // namespace twinrun::sim
