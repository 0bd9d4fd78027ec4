#include <string>

#include <gtest/gtest.h>

#include "core/io/nccl_tests_output.h"
#include "core/io/nvbandwidth_output.h"

namespace twinrun {
namespace {

NcclTestsOutput nccl(const std::string& text, const std::string& name = "out.txt") {
  Diagnostics diagnostics;
  NcclTestsOutput out = read_nccl_tests(Source::of_text(name, text), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  return out;
}

NvbandwidthOutput nvbandwidth(const std::string& text) {
  Diagnostics diagnostics;
  NvbandwidthOutput out = read_nvbandwidth(Source::of_text("out.txt", text), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  return out;
}

const std::string kRow = "1024 256 float sum -1 12.50 0.08 0.14 0 12.00 0.09 0.15 0\n";

TEST(NcclTestsOutput, ReadsRowsRanksAndProgram) {
  const NcclTestsOutput out = nccl(
      "# Collective test starting: reduce_scatter_perf\n"
      "#  Rank  0 Group  0 Pid 1 on h device 0\n#  Rank  1 Group  0 Pid 1 on h device 1\n"
      "#       size  count  type\n" +
      kRow + "# Avg bus bandwidth : 0.1\n");
  EXPECT_EQ(out.collective, "reduce_scatter");
  EXPECT_EQ(out.ranks, 2U);
  ASSERT_EQ(out.rows.size(), 1U);
  EXPECT_EQ(out.rows[0].bytes.count, 1024);
  EXPECT_DOUBLE_EQ(out.rows[0].seconds, 12.5e-6);
}

TEST(NcclTestsOutput, TakesTheProgramFromTheNameOfTheFileToo) {
  EXPECT_EQ(nccl(kRow, "logs/alltoall_perf.log").collective, "all_to_all");
  EXPECT_EQ(nccl(kRow, "out.txt").collective, "");
}

TEST(NcclTestsOutput, LeavesOutWrongResultsAndEmptyMessages) {
  const NcclTestsOutput out = nccl(
      "0 0 float sum -1 3.0 0 0 0 3.0 0 0 0\n2048 512 float sum -1 9.0 0 0 7 9.0 0 0 0\n" + kRow);
  ASSERT_EQ(out.rows.size(), 1U);
  EXPECT_EQ(out.rows[0].bytes.count, 1024);
}

TEST(NvbandwidthOutput, ReadsMatricesInBothDirections) {
  const NvbandwidthOutput out = nvbandwidth(
      "Running device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) bandwidth "
      "(GB/s)\n"
      "     0    1\n 0  N/A  30.0\n 1  40.0  N/A\n\nSUM x 70\n"
      "Running device_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
      "     0    1\n 0  12.0  13.0\n\n"
      "Running host_to_device_bidirectional_memcpy_ce.\nmemcpy CE CPU(row) <-> GPU(column) "
      "bandwidth "
      "(GB/s)\n     0\n 0  18.0\n");
  ASSERT_EQ(out.copies.size(), 4U);
  EXPECT_EQ(out.copies[0].from, 1U);  // row 0 <- column 1
  EXPECT_EQ(out.copies[0].to, 0U);
  EXPECT_DOUBLE_EQ(out.copies[0].rate.bytes_per_s, 30e9);
  EXPECT_TRUE(out.copies[3].to_host);
  EXPECT_EQ(out.copies[3].from, 1U);
  ASSERT_EQ(out.left_out.size(), 1U);
  EXPECT_EQ(out.left_out[0], "host_to_device_bidirectional_memcpy_ce");
}

TEST(NvbandwidthOutput, ReadsJson) {
  const NvbandwidthOutput out = nvbandwidth(R"json({"nvbandwidth": {"testcases": [
      {"name": "host_to_device_memcpy_ce", "bandwidth_matrix": [["25.5", "26"]],
       "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"}]}})json");
  ASSERT_EQ(out.copies.size(), 2U);
  EXPECT_TRUE(out.copies[1].from_host);
  EXPECT_EQ(out.copies[1].to, 1U);
  EXPECT_DOUBLE_EQ(out.copies[1].rate.bytes_per_s, 26e9);
}

}  // namespace
}  // namespace twinrun
