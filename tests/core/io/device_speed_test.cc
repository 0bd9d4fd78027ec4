#include "core/io/device_speed.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/save_topology.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;

std::string device_with(const std::string& members) {
  return R"({"nodes": {"cpu": 1}, "devices": {"d": {"kind": "gpu", )" + members + "}}}";
}

std::string complaints_about(const std::string& members) {
  Diagnostics diagnostics;
  spec_of_text(device_with(members), diagnostics);
  return complaints(diagnostics);
}

TEST(DeviceSpeed, ReadsCurvesAndKernelsAndWritesThemBack) {
  const std::string text = device_with(
      R"("efficiency": [{"kind": "gemm", "dtype": "fp16", "flops": 1e6, "fraction": 0.1},
                        {"flops": 1e12, "fraction": 0.9}],
         "kernels": [{"m": 3, "n": 4, "k": 5, "dtype": "bf16", "time": "7us"},
                     {"m": 3, "n": 4, "k": 5, "time": 8}])");
  Diagnostics diagnostics;
  const TopologySpec spec = spec_of_text(text, diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  const DeviceSpec& device = spec.devices.front();
  EXPECT_THAT(device.efficiency, ElementsAre(EfficiencyPoint{"gemm", Dtype::kFp16, 1e6, 0.1},
                                             EfficiencyPoint{"", std::nullopt, 1e12, 0.9}));
  EXPECT_THAT(device.kernels, ElementsAre(MeasuredKernel{3, 4, 5, Dtype::kBf16, microseconds(7)},
                                          MeasuredKernel{3, 4, 5, Dtype::kFp32, microseconds(8)}));
  const std::string saved = save_topology(spec);
  const TopologySpec again = spec_of_text(saved, diagnostics);
  EXPECT_EQ(again.devices.front().efficiency, device.efficiency);
  EXPECT_EQ(again.devices.front().kernels, device.kernels);
  EXPECT_EQ(save_topology(again), saved);
}

TEST(DeviceSpeed, OneNumberStaysOneNumber) {
  Diagnostics diagnostics;
  const TopologySpec spec = spec_of_text(device_with(R"("efficiency": 0.75)"), diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  EXPECT_THAT(spec.devices.front().efficiency,
              ElementsAre(EfficiencyPoint{"", std::nullopt, 0, 0.75}));
  EXPECT_THAT(save_topology(spec), ::testing::HasSubstr(R"("efficiency": 0.75)"));
}

TEST(DeviceSpeed, ASurprisingShareIsWarnedAboutAndKept) {
  Diagnostics diagnostics;
  const TopologySpec spec = spec_of_text(device_with(R"("efficiency": 1.07)"), diagnostics);
  EXPECT_EQ(complaints(diagnostics),
            "W0331 /devices/d/efficiency: a share of the peak above 1: 1.07\n");
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(spec.devices.front().efficiency.size(), 1U);
}

TEST(DeviceSpeed, SaysWhatIsWrongWhere) {
  const std::string here = "/devices/d/";
  const std::pair<const char*, std::string> cases[] = {
      {R"("efficiency": 0)",
       "E0331 " + here + "efficiency: a share of the peak must lie in 0 … 2, is 0\n"},
      {R"("efficiency": -0.5)",
       "E0331 " + here + "efficiency: a share of the peak must lie in 0 … 2, is -0.5\n"},
      {R"("efficiency": 75)",
       "E0331 " + here + "efficiency: a share of the peak must lie in 0 … 2, is 75\n"},
      {R"("efficiency": "high")",
       "E0202 " + here +
           "efficiency: expected a share of the peak or a list of points, "
           "found a string\n"},
      {R"("efficiency": [])", "E0332 " + here + "efficiency: \"efficiency\" is an empty list\n"},
      {R"("kernels": [])", "E0332 " + here + "kernels: \"kernels\" is an empty list\n"},
      {R"("efficiency": [{"flops": 1e9, "fraction": -1}])",
       "E0331 " + here + "efficiency/0/fraction: a share of the peak must lie in 0 … 2, is -1\n"},
      {R"("efficiency": [{"flops": 0, "fraction": 1}])",
       "E0203 " + here + "efficiency/0/flops: \"flops\" must be at least 1, is 0\n"},
      {R"("efficiency": [{"flops": 9, "fraction": 1}, {"flops": 9, "fraction": 0.5}])",
       "E0333 " + here +
           "efficiency/1: the curve has two points at 9 FLOPs for the same kind "
           "and dtype\n"},
      {R"("efficiency": [{"kind": "gem", "flops": 9, "fraction": 1}])",
       "E0204 " + here + "efficiency/0/kind: \"gem\" is not a known \"kind\"\n"},
      {R"("kernels": [{"m": 0, "n": 1, "k": 1, "time": 1}])",
       "E0203 " + here + "kernels/0/m: \"m\" must lie in 1 … 4294967295, is 0\n"},
      {R"("kernels": [{"m": 1, "n": 1, "k": 1, "time": 0}])",
       "E0203 " + here + "kernels/0/time: \"time\" must be greater than 0\n"},
      {R"("kernels": [{"m": 1, "n": 1, "k": 1, "time": 1}, {"m": 1, "n": 1, "k": 1, "time": 2}])",
       "E0334 " + here + "kernels/1: the GEMM 1 x 1 x 1 in fp32 has two times\n"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_EQ(complaints_about(members), expected) << members;
  }
}

TEST(DeviceSpeed, ReadsGridsAndRatesAndWritesThemBack) {
  const std::string text = device_with(
      R"("products": [{"pass": "weight", "m": [2, 8], "n": [3], "k": [4, 5, 6], "spread_pct": 2.5,
                       "us": [1, 2.25, 3, 4, 5, 0.125]},
                      {"dtype": "fp16", "m": [1], "n": [1], "k": [1], "us": [7]}],
         "streaming": [{"kind": "copy", "bytes": "1MiB", "rate": "12.5GB/s"},
                       {"bytes": 10, "rate": 1}])");
  Diagnostics diagnostics;
  const TopologySpec spec = spec_of_text(text, diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  const DeviceSpec& device = spec.devices.front();
  EXPECT_THAT(
      device.products,
      ElementsAre(
          ProductGrid{
              "weight", Dtype::kFp32, {2, 8}, {3}, {4, 5, 6}, {1, 2.25, 3, 4, 5, 0.125}, 2.5},
          ProductGrid{"", Dtype::kFp16, {1}, {1}, {1}, {7}, 0}));
  EXPECT_THAT(device.streaming, ElementsAre(StreamingPoint{"copy", 1048576, {12.5e9}},
                                            StreamingPoint{"", 10, {1e9}}));
  const std::string saved = save_topology(spec);
  const TopologySpec again = spec_of_text(saved, diagnostics);
  EXPECT_EQ(again.devices.front().products, device.products);
  EXPECT_EQ(again.devices.front().streaming, device.streaming);
  EXPECT_EQ(save_topology(again), saved);
}

TEST(DeviceSpeed, GridsThatDoNotFitTogetherAreRefused) {
  const auto about = [](const std::string& grid) {
    return complaints_about("\"products\": [" + grid + "]");
  };
  EXPECT_EQ(about(R"({"m": [1, 2], "n": [1], "k": [1], "us": [1, 2, 3]})"),
            "E0337 /devices/d/products/0: 3 times for a grid of 2 x 1 x 1 shapes\n");
  EXPECT_EQ(about(R"({"m": [2, 2], "n": [1], "k": [1], "us": [1, 2]})"),
            "E0337 /devices/d/products/0/m/1: \"m\" does not ascend\n");
  EXPECT_EQ(about(R"({"m": [], "n": [1], "k": [1], "us": [1]})"),
            "E0337 /devices/d/products/0/m: \"m\" is empty\n");
  EXPECT_EQ(
      about(
          R"({"m": [1], "n": [1], "k": [1], "us": [1]}, {"m": [1], "n": [1], "k": [1], "us": [1]})"),
      "E0337 /devices/d/products/1: two grids for the same pass and dtype\n");
  EXPECT_EQ(about(R"({"m": [1], "n": [1], "k": [1], "us": [0]})").substr(0, 6), "E0202 ");
  EXPECT_EQ(about(R"({"m": [0], "n": [1], "k": [1], "us": [1]})").substr(0, 6), "E0202 ");
}

TEST(DeviceSpeed, RatesThatMeetOrAreNothingAreRefused) {
  EXPECT_EQ(complaints_about(R"("streaming": [{"bytes": 1, "rate": 1}, {"bytes": 1, "rate": 2}])"),
            "E0333 /devices/d/streaming/1: the streaming curve has two points at the same bytes\n");
  EXPECT_EQ(complaints_about(R"("streaming": [{"bytes": 1, "rate": 0}])"),
            "E0333 /devices/d/streaming/0: a point of a streaming curve must be greater than 0\n");
}

TEST(DeviceSpeed, FootprintsThatMeetOrAreNothingAreRefused) {
  const auto about = [](const std::string& points) {
    Diagnostics diagnostics;
    spec_of_text(R"({"cores": [{"vertices": "cpu*", "count": 2, "moves": "8GB/s", "footprint": [)" +
                     points + "]}]}",
                 diagnostics);
    return complaints(diagnostics);
  };
  EXPECT_THAT(about(R"({"bytes": 1}, {"bytes": 1})"),
              testing::HasSubstr("E0333 /cores/0/footprint/1: the footprint has two points at the "
                                 "same bytes\n"));
  EXPECT_THAT(about(R"({"bytes": 0})"),
              testing::HasSubstr("E0333 /cores/0/footprint/0: the bytes of a footprint must be "
                                 "greater than 0\n"));
}

}  // namespace
}  // namespace twinrun
