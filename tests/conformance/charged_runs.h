#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/splitmix.h"
#include "core/io/load_plan.h"
#include "core/io/save_plan.h"
#include "exec/cuda/execute_on_cuda.h"
#include "tests/conformance/trained_runs.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

namespace twinrun {

// Durations that survive milliseconds in single precision: multiples of 2^-9 ms, below 2^24 of
// them.
inline constexpr std::int64_t kTickPs = 1'953'125;

// Of every op of a plan: both sides of a message, and all ranks of a collective, take as long as
// each other; what has nobody to exchange with, and markers, take no time.
inline std::vector<Time> same_for_those_together(const Plan& plan, std::vector<Time> table) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kMarker) {
      table[i] = Time{};
    } else if (plan.kind(op) == OpKind::kRecv) {
      table[i] = table[index_of(plan.message(op).partner)];
    } else if (plan.kind(op) == OpKind::kCollective) {
      const auto ops = plan.instance_ops(plan.collective(op).instance);
      const bool is_nothing = ops.size() == 1 || plan.collective(op).bytes.count == 0;
      table[i] = is_nothing ? Time{} : table[index_of(ops.front())];
    }
  }
  return table;
}

// A seventh of the ops take no time at all, the others up to 100 ticks.
inline std::vector<Time> random_table(const Plan& plan, std::uint64_t seed) {
  std::vector<Time> out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::uint64_t bits = mixed(mixed(seed) ^ i);
    const auto ticks = bits % 7 == 0 ? 0 : static_cast<std::int64_t>(bits / 7 % 100) + 1;
    out.push_back(Time{ticks * kTickPs});
  }
  return same_for_those_together(plan, std::move(out));
}

inline Plan with_durations(const Plan& plan, const std::vector<Time>& table) {
  auto json = nlohmann::ordered_json::parse(plan_to_json(plan));
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (plan.kind(id_at<OpId>(i)) != OpKind::kMarker) {
      json["ops"][i]["duration"] = static_cast<double>(table[i].ps) * 1e-6;
    }
  }
  Diagnostics diagnostics;
  std::optional<Plan> out = load_plan(Source::of_text("timed", json.dump()), diagnostics);
  if (!out) {
    throw std::runtime_error(all_messages(diagnostics));
  }
  return *std::move(out);
}

// A run on the substitute's virtual clock, where every op takes what the table says and nothing
// else takes any time.
inline exec::CudaSetting charged_setting(const std::shared_ptr<exec::GpuRuntime>& gpus,
                                         const std::vector<Time>& table) {
  substitute::use_virtual_clock(true);
  substitute::set_cost([](const substitute::Task&) { return substitute::Picoseconds{0}; });
  exec::CudaSetting setting{gpus};
  const auto native = [](const exec::GpuStream& stream) {
    return reinterpret_cast<cudaStream_t>(stream.handle);
  };
  setting.run.host_clock = [] { return Time{substitute::host_time()}; };
  setting.run.op_begins = [=](OpId op, const exec::GpuStream& stream) {
    substitute::begin_charge(native(stream), table[index_of(op)].ps);
  };
  setting.run.op_ends = [=](OpId, const exec::GpuStream& stream) {
    substitute::end_charge(native(stream));
  };
  return setting;
}

}  // namespace twinrun
