#include "core/compute/efficiency.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/compute/compute_time.h"
#include "core/io/json_document.h"
#include "tests/core/compute/device_examples.h"

namespace twinrun {
namespace {

JsonDocument read_measured(const std::string& name) {
  const std::string path = std::string(TWINRUN_TEST_ROOT) + "/../shared/measured/" + name + ".json";
  if (!std::filesystem::exists(path)) {
    return JsonDocument(path);
  }
  Diagnostics diagnostics;
  auto document = JsonDocument::read(Source::of_file(path), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  return document;
}

double predicted_s(const DeviceSpec& device, Dtype dtype, const Kernel& kernel) {
  ComputeOp op;
  op.dtype = dtype;
  return to_seconds(compute_time(device, op, &kernel).time);
}

std::uint32_t dim(JsonValue value) { return static_cast<std::uint32_t>(value.integer()); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

struct Errors {
  std::vector<double> large;  // a GFLOP and more
  std::vector<double> small;
};

TEST(EfficiencyTable, PredictsDeepBench) {
  const JsonDocument document = read_measured("gemm_deepbench");
  if (!document.root()) {
    GTEST_SKIP() << "no file " << document.file();
  }
  // By DeepBench's own sheets; its P100 is the PCIe one.
  const std::map<std::string, DeviceSpec> devices = {
      {"M40", gpu(52, {{Dtype::kFp32, 5.8}}, 288)},  // at its base clock
      {"P100", gpu(60, {{Dtype::kFp32, 9.3}, {Dtype::kFp16, 18.7}}, 732)},
      {"1080Ti", gpu(61, {{Dtype::kFp32, 11.3}}, 484)},
      {"V100", v100()},
      {"T4", gpu(75, {{Dtype::kFp32, 8.1}, {Dtype::kFp16, 65}}, 320, 70)}};
  std::map<std::string, Errors> by_device;
  for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
    const std::string name(row.find("dev").text());
    const Dtype dtype = row.find("prec").text() == "fp16" ? Dtype::kFp16 : Dtype::kFp32;
    const Kernel kernel{
        KernelKind::kGemm, dim(row.find("m")), dim(row.find("n")), dim(row.find("k")), "",
        std::nullopt};
    const double flops = 2.0 * kernel.m * kernel.n * kernel.k;
    const double measured = row.find("ms").number() * 1e-3;
    Errors& errors = by_device[name + " " + std::string(name_of(dtype))];
    (flops >= 1e9 ? errors.large : errors.small)
        .push_back(std::abs(predicted_s(devices.at(name), dtype, kernel) / measured - 1));
  }
  EXPECT_EQ(by_device.size(), 8U);
  for (const auto& [name, errors] : by_device) {
    std::printf(
        "  %-12s median error of %zu GEMMs from a GFLOP on %4.1f %%, of %zu smaller %4.1f %%\n",
        name.c_str(), errors.large.size(), 100 * median(errors.large), errors.small.size(),
        100 * median(errors.small));
    EXPECT_LE(median(errors.large), 0.20) << name;
    EXPECT_LE(median(errors.small), 0.40) << name;
  }
}

TEST(EfficiencyTable, PredictsTheA100Figure) {
  const JsonDocument document = read_measured("gemm_a100_vs_size_figure");
  if (!document.root()) {
    GTEST_SKIP() << "no file " << document.file();
  }
  for (const auto& [column, dtype] :
       {std::pair("fp16_tflops", Dtype::kFp16), std::pair("tf32_tflops", Dtype::kTf32)}) {
    std::vector<double> errors;
    for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
      const std::uint32_t n = dim(row.find("n"));
      const Kernel kernel{KernelKind::kGemm, n, n, n, "", std::nullopt};
      const double measured = 2.0 * n * n * n / (row.find(column).number() * 1e12);
      errors.push_back(std::abs(predicted_s(a100(), dtype, kernel) / measured - 1));
    }
    std::printf("  A100 %-12s median error of %zu square GEMMs %4.1f %%\n", column, errors.size(),
                100 * median(errors));
    EXPECT_LE(median(errors), 0.20) << column;
  }
}

// A100 SXM, H100 SXM and B200 SXM gave the table its heights: their best matmul bounds all others,
// so that no shape beats it. The others are predictions. Makes without a row are shown, and
// promised nothing.
TEST(EfficiencyTable, PredictsTheBestMatmulOfFamiliesItKnows) {
  const JsonDocument document = read_measured("matmul_peak_achieved_mamf");
  if (!document.root()) {
    GTEST_SKIP() << "no file " << document.file();
  }
  // By accelerator: compute capability and memory bandwidth.
  const std::map<std::string, std::pair<int, double>> known = {
      {"NVIDIA A100 SXM", {80, 1555}},  {"NVIDIA A100 PCIe", {80, 1935}},
      {"NVIDIA H100 SXM", {90, 3350}},  {"NVIDIA H200 SXM", {90, 4800}},
      {"NVIDIA GH200 SXM", {90, 4900}}, {"NVIDIA B200 SXM", {100, 8000}},
      {"NVIDIA B300 SXM", {103, 8000}}, {"NVIDIA GB200 SXM", {100, 8000}}};
  for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
    const std::string name(row.find("accelerator").text());
    const auto found = known.find(name);
    const auto [sm, memory] = found != known.end() ? found->second : std::pair(0, 2500.0);
    const Dtype dtype = row.find("precision").text() == "fp8" ? Dtype::kFp8 : Dtype::kBf16;
    Kernel kernel;
    ASSERT_EQ(std::sscanf(std::string(row.find("best_MxNxK").text()).c_str(), "%ux%ux%u", &kernel.m,
                          &kernel.n, &kernel.k),
              3);
    const double fp32 = sm == 80 ? 19.5 : sm == 90 ? 67 : 75;
    const DeviceSpec device =
        gpu(sm, {{dtype, row.find("peak_tflops").number()}, {Dtype::kFp32, fp32}}, memory);
    const double tflops =
        2e-12 * kernel.m * kernel.n * kernel.k / predicted_s(device, dtype, kernel);
    const double error = tflops / row.find("mamf_tflops").number() - 1;
    std::printf("  %-18s %s %+5.1f %%%s\n", name.c_str(), std::string(name_of(dtype)).c_str(),
                100 * error, sm == 0 ? " (a make without a row)" : "");
    EXPECT_TRUE(sm == 0 || std::abs(error) <= 0.2) << name;
    if (name == "NVIDIA A100 SXM" || name == "NVIDIA H100 SXM" || name == "NVIDIA B200 SXM") {
      EXPECT_LE(error, 0) << name;
    }
  }
}

TEST(EfficiencyTable, EveryRowIsPossibleAndNamesItsSource) {
  for (const GemmRow& row : efficiency_table().gemms) {
    EXPECT_GT(row.curve.most, 0) << row.source;
    EXPECT_LE(row.curve.most, 1.1) << row.source;
    EXPECT_GE(row.curve.tile, 0) << row.source;
    EXPECT_LE(row.curve.tile, 256) << row.source;
    EXPECT_GE(row.curve.half_dim, 0) << row.source;
    EXPECT_FALSE(row.source.empty());
  }
  for (const ConvRow& row : efficiency_table().convs) {
    EXPECT_GT(row.share, 0) << row.source;
    EXPECT_LE(row.share, 1.1) << row.source;
    EXPECT_FALSE(row.source.empty());
  }
}

TEST(EfficiencyTable, HasARowForEveryDeviceKindAndFormat) {
  for (const int sm : {0, 37, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120, 999}) {
    for (std::size_t dtype = 0; dtype < kDtypeNames.size(); ++dtype) {
      for (const EfficiencyKind kind : {EfficiencyKind::kGemm, EfficiencyKind::kConv}) {
        EXPECT_GT(
            efficiency_curve(efficiency_table(), gpu(sm, {}, 1), kind, static_cast<Dtype>(dtype))
                .most,
            0);
      }
    }
  }
}

TEST(EfficiencyTable, WithoutATableUsesRowsThatDidNotKnowIt) {
  const DeviceSpec device = v100();
  for (const std::string_view name : fitted_tables()) {
    const EfficiencyTable table = efficiency_table(name);
    EXPECT_EQ(table.without, name);
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kFp16}) {
      EXPECT_GT(efficiency_curve(table, device, EfficiencyKind::kConv, dtype).most, 0);
    }
  }
  const double all =
      efficiency_curve(efficiency_table(), device, EfficiencyKind::kGemm, Dtype::kFp16).most;
  EXPECT_NE(efficiency_curve(efficiency_table("gemm_deepbench"), device, EfficiencyKind::kGemm,
                             Dtype::kFp16)
                .most,
            all);
  EXPECT_EQ(efficiency_curve(efficiency_table("no_such_table"), device, EfficiencyKind::kGemm,
                             Dtype::kFp16)
                .most,
            all);
}

TEST(EfficiencyTable, ADeviceSaysWhichTableToLeaveOut) {
  DeviceSpec blind = v100();
  blind.leave_out = "gemm_deepbench";
  const Kernel kernel{KernelKind::kGemm, 4096, 4096, 4096, "", std::nullopt};
  EXPECT_NE(predicted_s(blind, Dtype::kFp16, kernel), predicted_s(v100(), Dtype::kFp16, kernel));
}

}  // namespace
}  // namespace twinrun
