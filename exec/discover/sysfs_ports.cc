#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "exec/discover/read_sysfs.h"

namespace twinrun::exec {
namespace {

constexpr const char* kNet = "/sys/class/net/";
constexpr const char* kInfiniband = "/sys/class/infiniband/";

// The PCI device that a class's entry belongs to: the last one on the way there.
std::string bus_id_of(const SystemFiles& files, const std::string& entry, bool& is_usb) {
  std::string out;
  for (const std::string& part : files.way_to(entry + "/device")) {
    is_usb = is_usb || part.starts_with("usb");
    const bool is_bus_id = part.size() > 7 && part[part.size() - 2] == '.' &&
                           std::count(part.begin(), part.end(), ':') == 2;
    out = is_bus_id ? plain_bus_id(part) : out;
  }
  return out;
}

// "200 Gb/sec (4X HDR)"; 54 Gb/sec has a fraction on some systems.
std::int64_t megabits_of_rate(const std::string& rate) {
  double gigabits = 0;
  std::from_chars(rate.data(), rate.data() + rate.size(), gigabits);
  return gigabits > 0 && gigabits < 1e6 ? static_cast<std::int64_t>(gigabits * 1e3) : 0;
}

void add_infiniband(const SystemFiles& files,
                    const std::string& name,
                    std::vector<NetworkPort>& out) {
  const std::string folder = kInfiniband + name;
  if (files.exists(folder + "/device/physfn")) {
    return;
  }
  bool is_usb = false;
  const std::string bus_id = bus_id_of(files, folder, is_usb);
  std::string guid = files.line(folder + "/node_guid").value_or("");
  std::erase(guid, ':');
  for (const std::string& port : files.names(folder + "/ports")) {
    NetworkPort added;
    added.name = name;
    added.bus_id = bus_id;
    added.is_infiniband = true;
    added.guid = guid;
    std::from_chars(port.data(), port.data() + port.size(), added.port);
    const std::string within = fmt::format("{}/ports/{}", folder, port);
    added.megabits = megabits_of_rate(files.line(within + "/rate").value_or(""));
    // "4: ACTIVE"
    const std::string state = files.line(within + "/state").value_or("4");
    added.is_up = state.starts_with('4');
    out.push_back(std::move(added));
  }
}

void add_ethernet(const SystemFiles& files,
                  const std::string& name,
                  const std::set<std::string>& with_infiniband,
                  std::vector<NetworkPort>& out) {
  const std::string folder = kNet + name;
  NetworkPort port;
  bool is_usb = false;
  port.name = name;
  port.bus_id = bus_id_of(files, folder, is_usb);
  const bool is_virtual = !files.exists(folder + "/device");
  const bool is_wireless = files.exists(folder + "/wireless");
  const bool is_given_to_guests = files.exists(folder + "/device/physfn");  // SR-IOV
  if (is_virtual || is_usb || is_wireless || is_given_to_guests ||
      with_infiniband.contains(port.bus_id)) {
    return;
  }
  const std::int64_t megabits = files.number(folder + "/speed").value_or(0);
  port.megabits = megabits > 0 && megabits < 100'000'000 ? megabits : 0;
  port.is_up = files.line(folder + "/operstate").value_or("up") != "down";
  out.push_back(std::move(port));
}

}  // namespace

// An adapter for InfiniBand or RoCE has interfaces of IP too: the same ports once more.
std::vector<NetworkPort> read_ports(const SystemFiles& files) {
  std::vector<NetworkPort> out;
  for (const std::string& name : files.names(kInfiniband)) {
    add_infiniband(files, name, out);
  }
  std::set<std::string> with_infiniband;
  for (const NetworkPort& port : out) {
    with_infiniband.insert(port.bus_id);
  }
  with_infiniband.erase("");
  for (const std::string& name : files.names(kNet)) {
    add_ethernet(files, name, with_infiniband, out);
  }
  return out;
}

}  // namespace twinrun::exec
