#include "core/model/ddp_buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/catalogue.h"

namespace twinrun {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> buckets_of(std::string_view name) {
  return ddp_buckets(tensors_of(catalogue_model(name).value()));
}

// formats-and-ux.md 4.5: seen in a public trace of two A100 (ResNet-50), predicted for the others.
TEST(DdpBuckets, AreThoseOfPyTorch) {
  EXPECT_THAT(buckets_of("resnet50"),
              ElementsAre(2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040));
  EXPECT_THAT(buckets_of("alexnet"), ElementsAre(4'097'000, 16'781'312, 37'752'832, 2'469'696));
  EXPECT_THAT(buckets_of("vgg16"),
              ElementsAre(4'097'000, 16'781'312, 102'764'544, 7'079'424, 7'079'936, 555'328));
}

TEST(DdpBuckets, CloseOnceTheLimitIsReached) {
  const std::vector<std::int64_t> tensors = {5, 1, 2, 3, 4};
  EXPECT_THAT(ddp_buckets(tensors, {Bytes{8}, Bytes{20}, 4}), ElementsAre(4, 5, 6));
  EXPECT_THAT(ddp_buckets(tensors, {Bytes{8}, Bytes{20}, 2}), ElementsAre(4, 11));
  EXPECT_THAT(ddp_buckets({}), ElementsAre());
}

}  // namespace
}  // namespace twinrun
