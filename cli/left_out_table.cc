#include "cli/left_out_table.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/verb.h"
#include "core/base/did_you_mean.h"
#include "core/compute/efficiency.h"

namespace twinrun::cli {
namespace {

using Kept = std::pair<std::string_view, std::string_view>;
constexpr std::array kReadOff = {
    Kept{"single_gpu_batch_sweep_mxnet", "what a host takes to ask for a kernel (25 and 60 us)"},
    Kept{"nccl_allreduce_2x_p4de_a100_efa",
         "the latency of the first EFA (8 B row) and NVLink's rate of A100 (largest row)"},
    Kept{"nccl_allreduce_2x_p5_h100_efa", "the latency of the second EFA (8 B row)"},
    Kept{"nccl_all_ops_8xa100_superbench",
         "NVLink's rate of A100 (largest row) and 3 us a launch (rows of no bytes)"},
    Kept{"nccl_2x2080ti_pcie_no_p2p", "2 GB/s a block through host memory"},
};

bool is_fitted(std::string_view table) {
  const auto known = fitted_tables();
  return std::find(known.begin(), known.end(), table) != known.end();
}

}  // namespace

void check_left_out(const std::string& asked, const std::vector<CaseFile>& files) {
  std::set<std::string> tables;
  for (const CaseFile& file : files) {
    tables.insert(file.table);
  }
  if (asked.empty() || asked == kLeaveOutEach || tables.count(asked) > 0) {
    return;
  }
  const std::vector<std::string> names(tables.begin(), tables.end());
  throw UsageError(fmt::format("--leave-out: no case file is of the table \"{}\"", asked),
                   did_you_mean(asked, names));
}

bool is_predicted(const std::string& asked, const CaseFile& file) {
  return asked.empty() || asked == kLeaveOutEach || file.table == asked;
}

std::string left_out_for(const std::string& asked, const CaseFile& file) {
  return asked == kLeaveOutEach ? file.table : asked;
}

std::string_view constants_read_off(std::string_view table) {
  const auto* const found = std::find_if(kReadOff.begin(), kReadOff.end(),
                                         [&](const Kept& one) { return one.first == table; });
  return found == kReadOff.end() ? std::string_view() : found->second;
}

std::string left_out_note(const std::string& asked, std::span<const CaseFile* const> files) {
  if (asked.empty()) {
    return "";
  }
  std::set<std::string> tables;
  for (const CaseFile* const file : files) {
    tables.insert(file->table);
  }
  std::string note = "\nLeft out of the fit that predicts it:\n";
  for (const std::string& table : tables) {
    note += fmt::format("  {}: {}", table,
                        is_fitted(table) ? "efficiencies of GPUs were fitted without it"
                                         : "nothing was fitted to it");
    const std::string_view kept = constants_read_off(table);
    note += kept.empty() ? "\n" : fmt::format("; read off it and kept: {}\n", kept);
  }
  return note;
}

}  // namespace twinrun::cli
