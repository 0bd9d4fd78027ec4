#include "core/compute/measured_speed.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/compute/compute_time.h"

namespace twinrun {
namespace {

// us = m · n · √k, which a grid holds exactly: it is a product of powers.
double powers_us(double m, double n, double k) { return m * n * std::sqrt(k); }

DeviceSpec device_with_grid(const std::string& pass) {
  DeviceSpec device;
  device.kind = VertexKind::kCpu;
  ProductGrid grid{pass, Dtype::kFp32, {8, 32, 512}, {16, 64}, {4, 400}, {}, 0};
  for (const double m : grid.m) {
    for (const double n : grid.n) {
      for (const double k : grid.k) {
        grid.us.push_back(powers_us(m, n, k));
      }
    }
  }
  device.products.push_back(grid);
  return device;
}

Kernel product(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return {KernelKind::kForward, m, n, k, {}, {}};
}

TEST(MeasuredProduct, IsThatOfTheGridAtItsPoints) {
  const DeviceSpec device = device_with_grid("forward");
  EXPECT_NEAR(*measured_product_s(device, product(32, 64, 4), Dtype::kFp32), 4096e-6, 1e-12);
}

TEST(MeasuredProduct, BetweenPointsIsAPowerOfEachDimension) {
  const DeviceSpec device = device_with_grid("forward");
  for (const auto& [m, n, k] : {std::tuple(20U, 33U, 77U), std::tuple(100U, 17U, 5U)}) {
    EXPECT_NEAR(*measured_product_s(device, product(m, n, k), Dtype::kFp32),
                powers_us(m, n, k) * 1e-6, 1e-9);
  }
}

// Beyond the grid a multiplication costs what it does at the edge: twice the rows, twice the time.
TEST(MeasuredProduct, OutsideOfTheGridGrowsWithTheMultiplications) {
  const DeviceSpec device = device_with_grid("forward");
  EXPECT_NEAR(*measured_product_s(device, product(1024, 64, 400), Dtype::kFp32),
              2 * powers_us(512, 64, 400) * 1e-6, 1e-9);
  EXPECT_NEAR(*measured_product_s(device, product(8, 16, 1), Dtype::kFp32),
              powers_us(8, 16, 4) / 4 * 1e-6, 1e-12);
}

TEST(MeasuredProduct, OfAnotherPassFormatOrAConvolutionIsNotKnown) {
  const DeviceSpec device = device_with_grid("weight");
  EXPECT_FALSE(measured_product_s(device, product(32, 64, 4), Dtype::kFp32));
  Kernel gradient = product(32, 64, 4);
  gradient.kind = KernelKind::kBackward;
  gradient.gradient = GradientOf::kWeight;
  EXPECT_TRUE(measured_product_s(device, gradient, Dtype::kFp32));
  EXPECT_FALSE(measured_product_s(device, gradient, Dtype::kFp16));
  gradient.taps = 9;
  EXPECT_FALSE(measured_product_s(device, gradient, Dtype::kFp32));
}

TEST(MeasuredProduct, AGridForAnyPassServesThoseWithoutOneOfTheirOwn) {
  DeviceSpec device = device_with_grid("");
  device.products.push_back(device.products.front());
  device.products.back().pass = "forward";
  for (double& us : device.products.back().us) {
    us *= 10;
  }
  Kernel gemm = product(32, 64, 4);
  gemm.kind = KernelKind::kGemm;
  EXPECT_NEAR(*measured_product_s(device, gemm, Dtype::kFp32), 4096e-6, 1e-12);
  EXPECT_NEAR(*measured_product_s(device, product(32, 64, 4), Dtype::kFp32), 40960e-6, 1e-11);
}

DeviceSpec device_with_rates() {
  DeviceSpec device;
  device.kind = VertexKind::kCpu;
  device.streaming = {{"update", 1e3, {1e9}}, {"update", 1e5, {100e9}}, {"", 1e3, {5e9}}};
  return device;
}

// From 1 to 100 GB/s while the bytes grow a hundredfold: at ten times the bytes ten times the rate.
TEST(MeasuredStreaming, BetweenPointsIsAPowerOfTheBytes) {
  const Kernel update{KernelKind::kUpdate, 0, 0, 0, {}, {}};
  EXPECT_NEAR(*measured_streaming_s(device_with_rates(), &update, 1e4), 1e4 / 10e9, 1e-15);
  EXPECT_NEAR(*measured_streaming_s(device_with_rates(), &update, 10), 10 / 1e9, 1e-15);
  EXPECT_NEAR(*measured_streaming_s(device_with_rates(), &update, 1e6), 1e6 / 100e9, 1e-15);
}

TEST(MeasuredStreaming, OfAKindWithoutACurveIsThatOfAny) {
  const Kernel forward{KernelKind::kForward, 0, 0, 0, {}, {}};
  EXPECT_NEAR(*measured_streaming_s(device_with_rates(), &forward, 1e6), 1e6 / 5e9, 1e-15);
  EXPECT_NEAR(*measured_streaming_s(device_with_rates(), nullptr, 1e6), 1e6 / 5e9, 1e-15);
  EXPECT_FALSE(measured_streaming_s(DeviceSpec{}, nullptr, 1e6));
}

// What was measured has its launch in it, and wins over peak and curves.
TEST(ComputeTime, TakesWhatWasMeasuredOnTheDevice) {
  DeviceSpec device = device_with_grid("forward");
  device.peak[static_cast<std::size_t>(Dtype::kFp32)] = {1e12};
  device.launch_overhead = microseconds(100);
  device.streaming = device_with_rates().streaming;
  const Kernel kernel = product(32, 64, 4);
  const ComputeTime once = compute_time(device, {2.0 * 32 * 64 * 4, {1}}, &kernel);
  EXPECT_EQ(once.time, microseconds(4096));
  EXPECT_EQ(once.bound, ComputeBound::kMeasured);
  const ComputeTime twice = compute_time(device, {4.0 * 32 * 64 * 4, {1}}, &kernel);
  EXPECT_EQ(twice.time, microseconds(2 * 4096));
  EXPECT_EQ(compute_time(device, {0, {1'000'000}}, nullptr).time, microseconds(200));
  const ComputeScales half{0.5, 0.25};
  EXPECT_EQ(compute_time(device, {2.0 * 32 * 64 * 4, {1}}, &kernel, half).time,
            microseconds(2 * 4096));
  EXPECT_EQ(compute_time(device, {0, {1'000'000}}, nullptr, half).time, microseconds(800));
}

}  // namespace
}  // namespace twinrun
