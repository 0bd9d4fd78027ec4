#include "exec/cpu/matrix_product.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

using testing::ElementsAre;

// (1 2 3; 4 5 6) · (1 0; 0 1; 1 1) = (4 5; 10 11)
const std::vector<float> kA = {1, 2, 3, 4, 5, 6};
const std::vector<float> kATransposed = {1, 4, 2, 5, 3, 6};
const std::vector<float> kB = {1, 0, 0, 1, 1, 1};
const std::vector<float> kBTransposed = {1, 0, 1, 0, 1, 1};

class EveryLibrary : public testing::TestWithParam<ProductLibrary> {
 protected:
  std::vector<float> product(bool transposes_a, bool transposes_b, bool accumulates) {
    const Products products(GetParam());
    std::vector<float> c(4, 100);
    products.multiply({2, 2, 3, (transposes_a ? kATransposed : kA).data(),
                       (transposes_b ? kBTransposed : kB).data(), c.data(), transposes_a,
                       transposes_b, accumulates});
    return c;
  }
};

TEST_P(EveryLibrary, MultipliesWhateverIsTransposed) {
  for (const bool transposes_a : {false, true}) {
    for (const bool transposes_b : {false, true}) {
      EXPECT_THAT(product(transposes_a, transposes_b, false), ElementsAre(4, 5, 10, 11))
          << transposes_a << transposes_b;
    }
  }
}

TEST_P(EveryLibrary, AddsToWhatIsThere) {
  EXPECT_THAT(product(false, true, true), ElementsAre(104, 105, 110, 111));
}

INSTANTIATE_TEST_SUITE_P(Products,
                         EveryLibrary,
                         testing::Values(ProductLibrary::kOpenBlas, ProductLibrary::kBuiltIn));

TEST(Products, NameTheirLibrary) {
  EXPECT_EQ(Products(ProductLibrary::kBuiltIn).name(), "built-in");
  const Products library(ProductLibrary::kOpenBlas);
  EXPECT_TRUE(library.name().starts_with("openblas ") || !library.warning().empty());
}

}  // namespace
}  // namespace twinrun::exec
