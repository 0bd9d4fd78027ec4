#include "tests/substitute/devices.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/substitute/refusal.h"
#include "tests/substitute/sanitizers.h"

namespace substitute {
namespace {

constexpr int kOldDriver = 11040;  // CUDA 11.4's, older than any runtime we build with

thread_local int chosen_device = 0;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string default_bus_id(std::size_t device) {
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02zX:00.0", device + 1);
  return text;
}

std::vector<Device> devices_of_environment() {
  const std::string count = environment("TWINRUN_SUBSTITUTE_DEVICES");
  const std::string bytes = environment("TWINRUN_SUBSTITUTE_MEMORY");
  Device device;
  if (!bytes.empty()) {
    device.memory_bytes = std::stoull(bytes);
  }
  return std::vector<Device>(count.empty() ? 2 : std::stoul(count), device);
}

Driver driver_of_environment() {
  const std::string asked = environment("TWINRUN_SUBSTITUTE_DRIVER");
  if (asked.empty() || asked == "present") {
    return Driver::kPresent;
  }
  if (asked == "missing") {
    return Driver::kMissing;
  }
  if (asked == "old") {
    return Driver::kTooOld;
  }
  if (asked == "stub") {
    return Driver::kStub;
  }
  refuse("TWINRUN_SUBSTITUTE_DRIVER is \"" + asked +
         "\"; it can be present, missing, old or stub.");
}

}  // namespace

Machine::Machine() { reset(); }

void Machine::reset() {
  set_devices(devices_of_environment());
  set_driver(driver_of_environment());
  if (environment("TWINRUN_SUBSTITUTE_PEERS") == "none") {
    for (int device = 0; device < count(); ++device) {
      for (int peer = 0; peer < count(); ++peer) {
        set_peer_access_possible(device, peer, false);
      }
    }
  }
}

void Machine::set_devices(std::vector<Device> devices) {
  const std::lock_guard lock(mutex_);
  units_.clear();
  impossible_peers_.clear();
  enabled_peers_.clear();
  for (Device& device : devices) {
    if (device.pci_bus_id.empty()) {
      device.pci_bus_id = default_bus_id(units_.size());
    }
    units_.push_back({std::move(device)});
  }
}

void Machine::set_driver(Driver driver) {
  const std::lock_guard lock(mutex_);
  driver_ = driver;
}

void Machine::set_peer_access_possible(int device, int peer, bool is_possible) {
  const std::lock_guard lock(mutex_);
  if (is_possible) {
    impossible_peers_.erase({device, peer});
  } else {
    impossible_peers_.insert({device, peer});
  }
}

void Machine::break_device(int device, cudaError_t code) {
  const std::lock_guard lock(mutex_);
  units_.at(static_cast<std::size_t>(device)).broken_by = code;
}

cudaError_t Machine::driver_error() const {
  const std::lock_guard lock(mutex_);
  switch (driver_) {
    case Driver::kPresent:
      return units_.empty() ? cudaErrorNoDevice : cudaSuccess;
    case Driver::kMissing:
    case Driver::kTooOld:
      return cudaErrorInsufficientDriver;
    case Driver::kStub:
      return cudaErrorStubLibrary;
  }
  return cudaSuccess;
}

int Machine::driver_version() const {
  const std::lock_guard lock(mutex_);
  switch (driver_) {
    case Driver::kPresent:
      return CUDART_VERSION;
    case Driver::kTooOld:
      return kOldDriver;
    case Driver::kMissing:
    case Driver::kStub:
      break;
  }
  return 0;
}

cudaError_t Machine::standing_error(int device) const {
  if (const cudaError_t error = driver_error(); error != cudaSuccess) {
    return error;
  }
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  return index < units_.size() ? units_[index].broken_by : cudaErrorInvalidDevice;
}

int Machine::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(units_.size());
}

Device Machine::device(int device) const {
  const std::lock_guard lock(mutex_);
  return units_.at(static_cast<std::size_t>(device)).device;
}

bool Machine::peer_access_is_possible(int device, int peer) const {
  const std::lock_guard lock(mutex_);
  return device != peer && !impossible_peers_.contains({device, peer});
}

bool Machine::may_access(int device, int owner) const {
  const std::lock_guard lock(mutex_);
  return device == owner || enabled_peers_.contains({device, owner});
}

cudaError_t Machine::enable_peer_access(int device, int peer) {
  if (!peer_access_is_possible(device, peer)) {
    return device == peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported;
  }
  const std::lock_guard lock(mutex_);
  const bool is_new = enabled_peers_.insert({device, peer}).second;
  return is_new ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

cudaError_t Machine::disable_peer_access(int device, int peer) {
  const std::lock_guard lock(mutex_);
  return enabled_peers_.erase({device, peer}) == 1 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
}

std::vector<std::pair<int, int>> Machine::enabled_peers() const {
  const std::lock_guard lock(mutex_);
  return {enabled_peers_.begin(), enabled_peers_.end()};
}

Machine& machine() {
  static Machine& only = *new Machine;  // never destroyed: streams may outlive main
  return only;
}

int current_device() { return chosen_device; }
void set_current_device(int device) { chosen_device = device; }

void set_devices(std::vector<Device> devices) {
  const Hidden hidden;
  machine().set_devices(std::move(devices));
}

void set_device_count(int count) {
  set_devices(std::vector<Device>(static_cast<std::size_t>(count)));
}

void set_driver(Driver driver) {
  const Hidden hidden;
  machine().set_driver(driver);
}

void set_peer_access_possible(int device, int peer, bool is_possible) {
  const Hidden hidden;
  machine().set_peer_access_possible(device, peer, is_possible);
}

}  // namespace substitute
