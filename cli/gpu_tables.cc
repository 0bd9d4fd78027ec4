#include "cli/gpu_tables.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

constexpr std::size_t kMostKernels = 10;  // for people

// How long a collective took: from when the last rank had come to when the last was done.
Time time_of(const Plan& plan, const Trace& trace, InstanceId instance) {
  Time start{};
  Time end{};
  for (const OpId op : plan.instance_ops(instance)) {
    start = std::max(start, trace.ops[index_of(op)].start);
    end = std::max(end, trace.ops[index_of(op)].end);
  }
  return end - start;
}

bool was_done(const Plan& plan, const Trace& trace, InstanceId instance) {
  const auto ops = plan.instance_ops(instance);
  return std::all_of(ops.begin(), ops.end(), [&](OpId op) {
    return trace.ops[index_of(op)].end >= trace.ops[index_of(op)].start;
  });
}

bool is_alike(const Plan& plan, InstanceId a, InstanceId b) {
  const CollectiveOp& one = plan.collective(plan.instance_ops(a).front());
  const CollectiveOp& other = plan.collective(plan.instance_ops(b).front());
  return one.shape == other.shape && one.bytes.count == other.bytes.count;
}

struct Mean {
  double sum_s = 0;
  std::int64_t count = 0;
  [[nodiscard]] double value() const { return sum_s / static_cast<double>(count); }
};

// Over all collectives like that one.
Mean mean_time(const Plan& plan, const Trace& trace, InstanceId like) {
  Mean out;
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    const auto instance = id_at<InstanceId>(i);
    if (is_alike(plan, like, instance) && was_done(plan, trace, instance)) {
      out.sum_s += to_seconds(time_of(plan, trace, instance));
      ++out.count;
    }
  }
  return out;
}

Cell time_cell(double seconds) {
  return {seconds, to_text(Time{static_cast<std::int64_t>(seconds * 1e12)})};
}

}  // namespace

void add_nccl_estimates(Output& output,
                        const Plan& plan,
                        const exec::Execution& run,
                        const Trace& simulated) {
  Table table;
  table.title = "Collectives: NCCL's own prediction, ours, and what was measured";
  table.columns = {{"collective"},
                   {"ranks", "", Align::kRight},
                   {"bytes", "", Align::kRight},
                   {"count", "times", Align::kRight},
                   {"nccl_s", "NCCL predicts", Align::kRight},
                   {"simulated_s", "simulated", Align::kRight},
                   {"measured_s", "measured", Align::kRight}};
  for (const exec::CollectiveEstimate& estimate : run.estimates) {
    const OpId first = plan.instance_ops(estimate.instance).front();
    const CollectiveShape& shape = plan.shape(first);
    const Mean measured = mean_time(plan, run.outcome.trace, estimate.instance);
    const Bytes bytes = plan.collective(first).bytes;
    table.rows.push_back({name_of(shape.kind), plan.group_devices(shape.group).size(),
                          Cell(bytes.count, to_text(bytes)), measured.count,
                          time_cell(estimate.seconds),
                          time_cell(mean_time(plan, simulated, estimate.instance).value()),
                          measured.count == 0 ? Cell() : time_cell(measured.value())});
  }
  output.json["nccl_estimates"] = to_json(table);
  output.tables.push_back(std::move(table));
}

void add_kernels(Output& output, const exec::Execution& run) {
  std::map<std::string, Mean> by_name;
  double all_s = 0;
  for (const exec::KernelRun& kernel : run.kernels) {
    const double seconds = to_seconds(kernel.end - kernel.start);
    by_name[kernel.kernel].sum_s += seconds;
    ++by_name[kernel.kernel].count;
    all_s += seconds;
  }
  std::vector<std::pair<std::string, Mean>> sorted(by_name.begin(), by_name.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.sum_s > b.second.sum_s; });
  Table table;
  table.title = "Kernels, as CUPTI recorded them";
  table.columns = {{"kernel"},
                   {"launches", "", Align::kRight},
                   {"time_s", "time", Align::kRight},
                   {"share_pct", "share %", Align::kRight, 1}};
  for (const auto& [name, mean] : sorted) {
    table.rows.push_back({name, mean.count, time_cell(mean.sum_s), 100 * mean.sum_s / all_s});
  }
  output.json["kernels"] = to_json(table);
  if (table.rows.size() > kMostKernels) {
    table.note = fmt::format("and {} more", table.rows.size() - kMostKernels);
    table.rows.resize(kMostKernels);
  }
  output.tables.push_back(std::move(table));
}

std::string kernels_as_csv(const RunInput& input, const exec::Execution& run) {
  Table table;
  table.columns = {{"op"}, {"device"}, {"kernel"}, {"start_s"}, {"end_s"}};
  for (const exec::KernelRun& kernel : run.kernels) {
    table.rows.push_back({input.plan.id(kernel.op),
                          input.plan.device_name(input.plan.device(kernel.op)), kernel.kernel,
                          to_seconds(kernel.start), to_seconds(kernel.end)});
  }
  return to_csv(table);
}

}  // namespace twinrun::cli
