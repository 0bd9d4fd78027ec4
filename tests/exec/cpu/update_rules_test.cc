#include "exec/training/update_rules.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/cpu/layer_kernels.h"

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

struct State {
  std::vector<float> weights = {1, 2};
  std::vector<float> gradients = {4, -8};
  std::vector<float> first = {0, 0};
  std::vector<float> second = {0, 0};
  void step(const UpdateRule& rule) {
    update_weights(numbers_of(rule), {weights, gradients, first, second});
  }
};

TEST(Update, OfSgdSubtractsTheScaledGradient) {
  State state;
  state.step({Optimizer::kSgd, 0.25F});
  EXPECT_THAT(state.weights, ElementsAre(0, 4));
}

TEST(Update, OfMomentumAddsUp) {
  State state;
  state.step({Optimizer::kMomentum, 0.25F, 0});
  EXPECT_THAT(state.weights, ElementsAre(0, 4));
  state.step({Optimizer::kMomentum, 0.25F, 1});  // 0.9 · g + g
  EXPECT_THAT(state.weights, ElementsAre(FloatNear(-1.9F, 1e-6F), FloatNear(7.8F, 1e-6F)));
}

// Kingma and Ba: with corrected moments the first step is as long as the learning rate.
TEST(Update, OfAdamHasTheLengthOfTheLearningRateAtFirst) {
  State state;
  state.step({Optimizer::kAdam, 0.125F, 0});
  EXPECT_THAT(state.weights, ElementsAre(FloatNear(0.875F, 1e-5F), FloatNear(2.125F, 1e-5F)));
}

TEST(Update, OfAdamWDecaysWeightsBesides) {
  State state;
  state.step({Optimizer::kAdamW, 0.125F, 0});
  const float decay = 1 - 0.125F * 0.01F;
  EXPECT_THAT(state.weights,
              ElementsAre(FloatNear(decay - 0.125F, 1e-5F), FloatNear(2 * decay + 0.125F, 1e-5F)));
}

TEST(Update, OfIntegersWrapsAndSeesEveryUnit) {
  State state;
  state.gradients = {4, -7};
  state.step({.is_integer = true});
  EXPECT_THAT(state.weights, ElementsAre(2, -1));  // 1 - 4 = -3 = 2 and 2 + 7 = 9 = -1 mod 5
}

}  // namespace
}  // namespace twinrun::exec
