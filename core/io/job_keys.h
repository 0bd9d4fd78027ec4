#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/io/json_object.h"
#include "core/strategy/job.h"

namespace twinrun {

// The blocks of a job, in the order of the documentation.
inline constexpr std::array<std::string_view, 7> kJobBlocks = {
    "training", "parallelism", "server", "ddp", "input", "mapping", "host"};

// One key of a block: how it is read, how written, and thereby what --set may name.
struct JobKey {
  std::string_view block;
  std::string_view name;
  // Reads the member of that name, if there is one; complains about what it cannot be.
  void (*read)(JsonObject& block, std::string_view name, Job& job);
  // The value, or nothing when it is the usual one.
  std::optional<nlohmann::ordered_json> (*write)(const Job& job);
  bool is_text = false;  // 4 on the command line is "4"

  [[nodiscard]] std::string pointer() const;  // /training/dtype
  [[nodiscard]] std::string path() const;     // training.dtype
};

std::span<const JobKey> job_keys();
const JobKey* find_job_key(std::string_view block, std::string_view name);

}  // namespace twinrun
