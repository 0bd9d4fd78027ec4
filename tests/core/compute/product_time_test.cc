#include "core/compute/product_time.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "core/compute/compute_time.h"
#include "tests/core/compute/device_examples.h"

namespace twinrun {
namespace {

// Curves with round numbers: half the peak, tiles of 100 × 100, no loss by thin matrices.
constexpr std::array kGemms = {
    GemmRow{GpuFamily::kAnyGpu, Dtype::kFp32, {0.5, 100, 0, 0}, "test", ""},
    GemmRow{GpuFamily::kAnyGpu, Dtype::kFp16, {0.5, 100, 0, 0}, "test", ""}};
constexpr std::array kConvs = {ConvRow{ConvHardware::kSinceVolta, 1, 0, 0, 30, "test", ""},
                               ConvRow{ConvHardware::kTensorCores, 1, 0, 0, 0, "test", ""}};
constexpr EfficiencyTable kTable = {kGemms, kConvs, ""};

// 80 multiprocessors, 15.7 TFLOP/s in fp32.
ProductTime time_of(const Kernel& kernel, double flops, double bytes, Dtype dtype = Dtype::kFp32) {
  const DeviceSpec device = v100();
  const ProductWork work{
      flops, bytes, dtype == Dtype::kFp16 ? 2.0 : 4.0, dtype == Dtype::kFp16 ? 125e12 : 15.7e12,
      1e12,  dtype};
  return product_time(device, work, kernel, kTable);
}

Kernel conv(std::uint32_t taps, std::uint32_t stride, GradientOf gradient, Kernel shape) {
  shape.kind = gradient == GradientOf::kAll ? KernelKind::kForward : KernelKind::kBackward;
  shape.gradient = gradient;
  shape.taps = taps;
  shape.stride = stride;
  return shape;
}

Kernel shape(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return {KernelKind::kGemm, m, n, k, "", std::nullopt};
}

TEST(ProductTime, IsTheRateOfLargeProductsPlusTheLastTile) {
  const double flops = 2e9;  // 1000 × 1000 × 1000
  const ProductTime time = time_of(shape(1000, 1000, 1000), flops, 12e6);
  const double last_tile = 2.0 * 100 * 100 * 1000 / (15.7e12 / 80);
  EXPECT_NEAR(time.compute_s, flops / (0.5 * 15.7e12) + last_tile, 1e-12);
  EXPECT_NEAR(time.memory_s, 12e6 / 1e12, 1e-15);
  EXPECT_NEAR(time.total_s(), std::hypot(time.compute_s, time.memory_s), 1e-15);
}

TEST(ProductTime, OfALongProductIsSplit) {
  const auto tile_s = [](std::uint32_t k) {
    return time_of(shape(100, 100, k), 2e4 * k, 0).compute_s - 2e4 * k / (0.5 * 15.7e12);
  };
  EXPECT_NEAR(tile_s(1500) / tile_s(750), 2, 1e-9);
  EXPECT_NEAR(tile_s(100'000), tile_s(1500), 1e-12);
}

TEST(ProductTime, AddsBytesThatAreNotTheProducts) {
  const double own = 4 * 3e6;
  const ProductTime time = time_of(shape(1000, 1000, 1000), 2e9, own + 5e6);
  EXPECT_NEAR(time.memory_s, own / 1e12, 1e-15);
  EXPECT_NEAR(time.other_s, 5e6 / 1e12, 1e-15);
}

TEST(ProductTime, CountsABatchOfProductsByItsFlops) {
  // Ten heads: ten times the FLOPs and the matrices of one.
  const ProductTime ten = time_of(shape(512, 512, 64), 10 * 2.0 * 512 * 512 * 64, 1e12);
  EXPECT_NEAR(ten.memory_s, 10 * 4.0 * (2 * 512 * 64 + 512 * 512) / 1e12, 1e-15);
}

// 56 × 56 images, 128 channels in and out, 16 of them: 50176 rows.
TEST(ConvTime, MovesEachImageOnceNotOncePerTap) {
  const Kernel kernel = conv(49, 1, GradientOf::kAll, shape(50176, 128, 49 * 128));
  const double flops = 2.0 * 50176 * 128 * 49 * 128;
  const ProductTime time = time_of(kernel, flops, 1e12);
  EXPECT_NEAR(time.memory_s, 4.0 * (50176 * 128 * 2 + 49 * 128 * 128) / 1e12, 1e-12);
  EXPECT_NEAR(time.compute_s, flops / (0.5 * 15.7e12), 1e-9);
}

TEST(ConvTime, AStridedOneReadsAllOfItsInput) {
  const Kernel kernel = conv(1, 2, GradientOf::kAll, shape(12544, 256, 128));
  const ProductTime time = time_of(kernel, 2.0 * 12544 * 256 * 128, 1e12);
  EXPECT_NEAR(time.memory_s, 4.0 * (12544 * 4 * 128 + 12544 * 256 + 128 * 256) / 1e12, 1e-12);
}

TEST(ConvTime, OfThreeByThreeInFp32TakesAQuarterOfTheMultiplicationsOrLess) {
  const Kernel kernel = conv(9, 1, GradientOf::kAll, shape(50176, 512, 9 * 512));
  const double flops = 2.0 * 50176 * 512 * 9 * 512;
  const double bytes = 4.0 * (50176 * 512 * 2 + 9 * 512 * 512);
  const ProductTime time = time_of(kernel, flops, bytes);
  EXPECT_NEAR(time.compute_s, flops / 4 / (0.5 * 15.7e12), 1e-9);
  EXPECT_NEAR(time.other_s, 3.25 * bytes / 1e12 + 30e-6, 1e-9);
  // With stride, or with few channels, where moving the transformed images takes longer, it is not
  // worth it.
  const Kernel strided = conv(9, 2, GradientOf::kAll, shape(50176, 512, 9 * 512));
  EXPECT_NEAR(time_of(strided, flops, bytes).compute_s, flops / (0.5 * 15.7e12), 1e-9);
  const Kernel thin = conv(9, 1, GradientOf::kAll, shape(50176, 4, 9 * 4));
  EXPECT_GT(time_of(thin, 2.0 * 50176 * 4 * 36, 4.0 * 50176 * 8).memory_s, 0);
}

TEST(ConvTime, OnTensorCoresPadsChannelsToEight) {
  const Kernel three = conv(49, 2, GradientOf::kAll, shape(200'000, 64, 49 * 3));
  const double flops = 2.0 * 200'000 * 64 * 49 * 3;
  EXPECT_NEAR(time_of(three, flops, 0, Dtype::kFp16).compute_s, 8.0 / 3 * flops / (0.5 * 125e12),
              1e-12);
  const Kernel eight = conv(49, 2, GradientOf::kAll, shape(200'000, 64, 49 * 8));
  EXPECT_NEAR(time_of(eight, flops, 0, Dtype::kFp16).compute_s, flops / (0.5 * 125e12), 1e-12);
}

TEST(ConvTime, GradientsOfWeightsAndOfStridedInputsTakeLonger) {
  const double flops = 2.0 * 12544 * 256 * 9 * 128;
  const double forward =
      time_of(conv(9, 2, GradientOf::kAll, shape(12544, 256, 9 * 128)), flops, 0).compute_s;
  EXPECT_GT(
      time_of(conv(9, 2, GradientOf::kWeight, shape(256, 9 * 128, 12544)), flops, 0).compute_s,
      1.1 * forward);
  EXPECT_GT(time_of(conv(9, 2, GradientOf::kInput, shape(50176, 128, 9 * 64)), flops, 0).compute_s,
            2 * forward);
}

}  // namespace
}  // namespace twinrun
