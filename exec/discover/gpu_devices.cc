#include "exec/discover/gpu_devices.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "core/io/catalogue.h"
#include "core/io/json_document.h"
#include "core/io/load_topology.h"

namespace twinrun::exec {
namespace {

// Drivers keep some for themselves, and ECC on GDDR takes a sixteenth.
constexpr std::int64_t kShareThatMayLack = 8;

std::optional<DeviceSpec> catalogue_device(const std::string& name) {
  Diagnostics none;
  const JsonDocument document = JsonDocument::read(catalogue_devices(), none);
  const std::vector<DeviceSpec> known = read_devices(document.root().find("devices"), none);
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const DeviceSpec& device) { return device.name == name; });
  return found == known.end() ? std::nullopt : std::optional(*found);
}

// "NVIDIA H100 NVL" is nvidia-h100-nvl.
std::string name_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  out.erase(out.find_last_not_of('-') + 1);
  return out.empty() ? "gpu" : out;
}

}  // namespace

std::optional<DeviceSpec> device_unlike_catalogue(const DriverGpu& gpu,
                                                  const std::string& taken_for) {
  std::optional<DeviceSpec> like = catalogue_device(taken_for);
  if (!like || gpu.memory.count <= 0 ||
      std::abs(like->memory.count - gpu.memory.count) < like->memory.count / kShareThatMayLack) {
    return std::nullopt;
  }
  like->name = name_of(gpu.name);
  if (like->name == taken_for) {
    like->name += "-here";
  }
  like->memory = gpu.memory;
  like->source = fmt::format("memory: driver; all else as {}, guessed", taken_for);
  like->price_per_hour = 0;
  return like;
}

}  // namespace twinrun::exec
