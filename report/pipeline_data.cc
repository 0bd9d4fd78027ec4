#include "report/pipeline_data.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/trace/steps.h"
#include "core/trace/trace_rows.h"
#include "report/timeline_labels.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDevices = 32;
constexpr std::size_t kMostBlocks = 20'000;

struct Block {
  OpCategory phase = OpCategory::kForward;
  std::int64_t micro_batch = -1;
  Time start{};
  Time end{};
};

int phase_number(OpCategory phase) {
  return phase == OpCategory::kForward ? 0 : phase == OpCategory::kBackward ? 1 : 2;
}

bool is_pass(OpCategory category) {
  return category == OpCategory::kForward || category == OpCategory::kBackward ||
         category == OpCategory::kRecompute;
}

// Stretches of the device's passes in the order in which they ran. Layers of one micro-batch and
// phase follow each other on the compute stream.
std::vector<Block> blocks_of(const Plan& plan,
                             const Trace& trace,
                             DeviceId device,
                             std::int64_t step) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    const auto stream = id_at<StreamId>(i);
    if (plan.stream_device(stream) != device) {
      continue;
    }
    for (const OpId op : plan.stream_ops(stream)) {
      const OpTimes& times = trace.ops[index_of(op)];
      const OpCategory phase = category_of(plan, op);
      const std::int64_t micro = is_pass(phase) ? micro_batch_of(plan.id(op)) : -1;
      if (micro < 0 || !has_run(times) || step_of(plan.id(op)) != step) {
        continue;
      }
      if (!blocks.empty() && blocks.back().phase == phase && blocks.back().micro_batch == micro) {
        blocks.back().end = times.end;
      } else {
        blocks.push_back({phase, micro, times.start, times.end});
      }
    }
  }
  return blocks;
}

bool sends_activations(const Plan& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kSend && micro_batch_of(plan.id(op)) >= 0) {
      return true;
    }
  }
  return false;
}

Json blocks_json(const std::vector<Block>& blocks, Time begin) {
  Json out = Json::array();
  for (const Block& block : blocks) {
    out.push_back({phase_number(block.phase), block.micro_batch,
                   to_nanoseconds(block.start - begin), to_nanoseconds(block.end - block.start)});
  }
  return out;
}

}  // namespace

Json pipeline_data(const Plan& plan, const Trace& trace) {
  if (!sends_activations(plan)) {
    return nullptr;
  }
  const StepEnds steps(plan, trace);
  const std::int64_t step = steps.last();
  const Time begin = steps.before(step);
  Json rows = Json::array();
  std::size_t blocks_shown = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < plan.device_count(); ++i) {
    const std::vector<Block> blocks = blocks_of(plan, trace, id_at<DeviceId>(i), step);
    if (blocks.empty()) {
      continue;
    }
    if (rows.size() >= kMostDevices || blocks_shown + blocks.size() > kMostBlocks) {
      ++left_out;
      continue;
    }
    blocks_shown += blocks.size();
    rows.push_back(
        {{"device", plan.device_name(id_at<DeviceId>(i))}, {"blocks", blocks_json(blocks, begin)}});
  }
  if (rows.empty()) {
    return nullptr;
  }
  const std::size_t shown = rows.size();
  return {{"step", step},
          {"duration_ns", to_nanoseconds(trace.makespan - begin)},
          {"rows", std::move(rows)},
          {"left_out", left_out == 0 ? ""
                                     : fmt::format("The first {} of {} devices are drawn.", shown,
                                                   shown + left_out)}};
}

}  // namespace twinrun::report
