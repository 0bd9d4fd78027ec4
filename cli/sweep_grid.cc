#include "cli/sweep_grid.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/comma_list.h"
#include "core/base/diagnostics.h"

namespace twinrun::cli {
namespace {

std::vector<std::string> values_of(const std::string& text) {
  if (text.starts_with('[')) {
    const auto array = nlohmann::json::parse(text, nullptr, false);
    if (array.is_array() && !array.empty()) {
      std::vector<std::string> values;
      for (const nlohmann::json& value : array) {
        values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      }
      return values;
    }
  }
  return separated(text, text.find(';') != std::string::npos ? ';' : ',');
}

std::optional<std::int64_t> number_in(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? std::nullopt : whole_number(value);
}

struct LauncherVariables {
  const char* rank;
  const char* count;
};
// mpirun's own first: where it was started by Slurm, Slurm's number its daemons.
constexpr std::array<LauncherVariables, 3> kLaunchers = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
}};

std::optional<Shard> shard_of_rank(const Environment& environment) {
  for (const LauncherVariables& launcher : kLaunchers) {
    const auto rank = number_in(environment, launcher.rank);
    const auto count = number_in(environment, launcher.count);
    if (rank && count && *rank >= 0 && *rank < *count) {
      return Shard{static_cast<std::size_t>(*rank), static_cast<std::size_t>(*count)};
    }
  }
  return std::nullopt;
}

// The ids of an array need not begin at 0, nor follow each other.
std::optional<Shard> shard_of_array(const Environment& environment) {
  const auto id = number_in(environment, "SLURM_ARRAY_TASK_ID");
  const auto count = number_in(environment, "SLURM_ARRAY_TASK_COUNT");
  const std::int64_t first = number_in(environment, "SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::int64_t step = number_in(environment, "SLURM_ARRAY_TASK_STEP").value_or(1);
  if (!id || !count || step < 1 || *id < first || (*id - first) / step >= *count) {
    return std::nullopt;
  }
  return Shard{static_cast<std::size_t>((*id - first) / step), static_cast<std::size_t>(*count)};
}

Shard shard_of_process(const Environment& environment) {
  const auto rank = shard_of_rank(environment);
  const auto task = shard_of_array(environment);
  if (!rank && !task) {
    throw UsageError("--shard auto: neither mpirun, srun nor a Slurm array has started this",
                     "set OMPI_COMM_WORLD_RANK and _SIZE or SLURM_ARRAY_TASK_ID and _COUNT, or "
                     "write --shard 2/4");
  }
  const Shard inner = rank.value_or(Shard{});
  const Shard outer = task.value_or(Shard{});
  return {outer.index * inner.count + inner.index, outer.count * inner.count};
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const JobOverride whole = parse_override(text);
  SweepAxis axis{whole.path, values_of(whole.value)};
  if (std::find(axis.values.begin(), axis.values.end(), "") != axis.values.end()) {
    throw UsageError(fmt::format("--set {}: a value is empty", text),
                     "write --set training.local_batch_size=1,2,4");
  }
  return axis;
}

std::size_t point_count(const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.values.size();
  }
  return count;
}

std::vector<JobOverride> point_overrides(const std::vector<SweepAxis>& axes, std::size_t point) {
  std::vector<JobOverride> out(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::string& value = axes[i].values[point % axes[i].values.size()];
    point /= axes[i].values.size();
    out[i] = {fmt::format("--set {}={}", axes[i].path, value), axes[i].path, value};
  }
  return out;
}

Shard parse_shard(const std::string& text, const Environment& environment) {
  if (text == "auto") {
    return shard_of_process(environment);
  }
  const std::size_t slash = text.find('/');
  const auto index = whole_number(text.substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : whole_number(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) {
    throw UsageError(fmt::format("--shard {}: not a part of a whole", text),
                     "write --shard 2/4: the second of four parts, or --shard auto under mpirun "
                     "or Slurm");
  }
  return {static_cast<std::size_t>(*index - 1), static_cast<std::size_t>(*count)};
}

}  // namespace twinrun::cli
