#include "cli/sweep_grid.h"

#include <algorithm>

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

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto index = whole_number(text.substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : whole_number(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) {
    throw UsageError(fmt::format("--shard {}: not a part of a whole", text),
                     "write --shard 2/4: the second of four parts");
  }
  return {static_cast<std::size_t>(*index - 1), static_cast<std::size_t>(*count)};
}

}  // namespace twinrun::cli
