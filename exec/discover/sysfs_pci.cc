#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>

#include "core/io/nccl_tables.h"
#include "exec/discover/read_sysfs.h"

namespace twinrun::exec {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";
constexpr const char* kDriverGpus = "/proc/driver/nvidia/gpus/";
constexpr std::int64_t kMostLanes = 32;  // what says more, such as 255, does not know

// 0000:65:00.0
bool is_bus_id(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::size_t dot = text.rfind('.');
  const bool has_marks = colon != text.npos && dot != text.npos && colon > 3 && dot == colon + 3 &&
                         text.size() == dot + 2 && text.find(':') + 3 == colon;
  return has_marks && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isxdigit(c) != 0 || c == ':' || c == '.';
         });
}

std::uint16_t id_in(const SystemFiles& files, const std::string& path) {
  const std::int64_t value = files.number(path).value_or(0);
  const bool fits = value >= 0 && value <= std::numeric_limits<std::uint16_t>::max();
  return fits ? static_cast<std::uint16_t>(value) : std::uint16_t{0};
}

int lanes_in(const SystemFiles& files, const std::string& path) {
  const std::int64_t lanes = files.number(path).value_or(0);
  return lanes > 0 && lanes <= kMostLanes ? static_cast<int>(lanes) : 0;
}

void read_link(const SystemFiles& files, const std::string& folder, PciFunction& function) {
  const std::optional<std::string> speed = files.line(folder + "/max_link_speed");
  function.has_link = speed.has_value();
  function.generation = speed ? pcie_generation(*speed).value_or(0) : 0;
  function.width = lanes_in(files, folder + "/max_link_width");
  function.current_width = lanes_in(files, folder + "/current_link_width");
}

}  // namespace

std::vector<PciFunction> read_pci(const SystemFiles& files) {
  std::vector<PciFunction> out;
  for (const std::string& name : files.names(kDevices)) {
    if (!is_bus_id(name)) {
      continue;
    }
    const std::string folder = kDevices + name;
    PciFunction function;
    function.bus_id = plain_bus_id(name);
    const std::vector<std::string> way = files.way_to(folder);
    if (way.size() > 1 && is_bus_id(way[way.size() - 2])) {
      function.parent = plain_bus_id(way[way.size() - 2]);
    }
    const std::int64_t code = files.number(folder + "/class").value_or(0);
    function.code = code >= 0 && code <= 0xFFFFFF ? static_cast<std::uint32_t>(code) : 0;
    function.vendor = id_in(files, folder + "/vendor");
    function.device = id_in(files, folder + "/device");
    function.subsystem_vendor = id_in(files, folder + "/subsystem_vendor");
    function.subsystem_device = id_in(files, folder + "/subsystem_device");
    const std::int64_t node = files.number(folder + "/numa_node").value_or(-1);
    function.numa_node = node >= 0 && node < 4096 ? static_cast<int>(node) : -1;
    read_link(files, folder, function);
    out.push_back(std::move(function));
  }
  std::sort(out.begin(), out.end(),
            [](const PciFunction& a, const PciFunction& b) { return a.bus_id < b.bus_id; });
  return out;
}

// Where the driver is loaded but its library is not here: in a container, or in copies of the
// files.
std::vector<DriverGpu> read_driver_files(const SystemFiles& files) {
  std::vector<DriverGpu> out;
  for (const std::string& name : files.names(kDriverGpus)) {
    if (is_bus_id(name)) {
      DriverGpu gpu;
      gpu.bus_id = plain_bus_id(name);
      gpu.name = value_of(files.text(kDriverGpus + name + "/information").value_or(""), "Model");
      out.push_back(std::move(gpu));
    }
  }
  return out;
}

}  // namespace twinrun::exec
