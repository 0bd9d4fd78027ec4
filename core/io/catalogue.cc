#include "core/io/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/io/embedded.h"

namespace twinrun {
namespace {

constexpr std::string_view kDevicesFile = "topologies/devices.json";

std::optional<Source> embedded(std::string_view file) {
  for (const auto files : {embedded_topologies(), embedded_cases()}) {
    for (const EmbeddedFile& candidate : files) {
      if (candidate.name == file) {
        return Source::of_text(std::string(candidate.name), std::string(candidate.text));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> catalogue_topology_names() {
  constexpr std::string_view kFolder = "topologies/";
  constexpr std::string_view kEnding = ".json";
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_topologies()) {
    if (file.name != kDevicesFile) {
      const std::string_view name = file.name.substr(kFolder.size());
      names.emplace_back(name.substr(0, name.size() - kEnding.size()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Source> catalogue_topology(const std::string& name) {
  return name == "devices" ? std::nullopt : embedded(fmt::format("topologies/{}.json", name));
}

Source catalogue_devices() {
  std::optional<Source> devices = embedded(kDevicesFile);
  TWINRUN_CHECK(devices);
  return *std::move(devices);
}

std::optional<Source> find_source_again(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file, ignored)) {
    return Source::of_file(file);
  }
  return embedded(file);
}

}  // namespace twinrun
