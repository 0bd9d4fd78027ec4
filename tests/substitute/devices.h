#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/substitute/substitute.h"

namespace substitute {

// The devices, who may see whose memory, and whether there is a driver.
class Machine {
 public:
  Machine();

  void set_devices(std::vector<Device> devices);
  void set_driver(Driver driver);
  void set_peer_access_possible(int device, int peer, bool is_possible);
  void break_device(int device, cudaError_t code);
  void reset();

  [[nodiscard]] cudaError_t driver_error() const;
  [[nodiscard]] int driver_version() const;
  // The driver's error, or what an earlier kernel left behind on the device.
  [[nodiscard]] cudaError_t standing_error(int device) const;
  [[nodiscard]] int count() const;
  [[nodiscard]] bool has(int device) const { return device >= 0 && device < count(); }
  [[nodiscard]] Device device(int device) const;

  [[nodiscard]] bool peer_access_is_possible(int device, int peer) const;
  // Own memory, or a peer's that was enabled.
  [[nodiscard]] bool may_access(int device, int owner) const;
  cudaError_t enable_peer_access(int device, int peer);
  cudaError_t disable_peer_access(int device, int peer);
  [[nodiscard]] std::vector<std::pair<int, int>> enabled_peers() const;

 private:
  struct Unit {
    Device device;
    cudaError_t broken_by = cudaSuccess;
  };

  mutable std::mutex mutex_;
  Driver driver_ = Driver::kPresent;
  std::vector<Unit> units_;
  std::set<std::pair<int, int>> impossible_peers_;
  std::set<std::pair<int, int>> enabled_peers_;
};

Machine& machine();

// cudaSetDevice's, of this thread.
int current_device();
void set_current_device(int device);

}  // namespace substitute
