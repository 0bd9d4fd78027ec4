#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "exec/local_devices.h"

namespace twinrun::exec {

// Which process has which device of a plan.
//
// Devices that compute or are part of a collective are ranks; the i-th of them is process i's. With
// fewer processes than ranks, each process has a block of neighbours, the larger blocks first; with
// more, the last processes have none. The others (a host's CPU that serves parameters) go to the
// first process that has a rank of the same machine, or else to the first.
class DeviceHomes {
 public:
  DeviceHomes(const Plan& plan, int processes);

  [[nodiscard]] int process_of(DeviceId device) const { return process_[index_of(device)]; }
  // Which one of its process's devices it is.
  [[nodiscard]] std::uint32_t number_within(DeviceId device) const {
    return number_[index_of(device)];
  }
  // Devices of the process that has most.
  [[nodiscard]] std::uint32_t most_together() const { return most_; }
  [[nodiscard]] LocalDevices local_to(int process) const;
  // "rank 2 (gpu2)", for people.
  [[nodiscard]] std::string name_of(const Plan& plan, int process) const;

  // By device: whether it is a rank.
  static std::vector<bool> ranks(const Plan& plan);
  // How many of a plan's devices are ranks: as many processes as are wanted.
  static int rank_count(const Plan& plan);

 private:
  std::vector<int> process_;           // by device
  std::vector<std::uint32_t> number_;  // by device
  std::uint32_t most_ = 0;
};

// A copy is one op, of one process: it cannot write to the memory of another. CannotRun with the
// op.
void refuse_distant_copies(const Plan& plan, const DeviceHomes& homes);

}  // namespace twinrun::exec
