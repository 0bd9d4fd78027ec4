#pragma once

#include <cstdint>

#include "core/plan/plan.h"
#include "exec/mpi/device_homes.h"
#include "exec/transport.h"

namespace twinrun::exec {

// Where the data of an op travels. Several collectives and messages are under way between the same
// two processes, in an order that each side has for itself; so what one device sends to one op of
// another has a number of its own, which both sides compute. Tags of MPI are few (32767 are
// promised): numbers beyond go to further communicators.
class Channels {
 public:
  // CannotRun when there are more numbers than `largest_tag` and the communicators allow.
  Channels(const Plan& plan, const DeviceHomes& homes, std::int64_t largest_tag);

  [[nodiscard]] int communicators() const { return communicators_; }  // that are needed
  // From a device to an op; either end of it asks with the process at the other one. Communicators
  // are counted from 0.
  [[nodiscard]] Address address(DeviceId from, OpId to, int other_process) const;

 private:
  const DeviceHomes& homes_;
  std::int64_t tags_;  // in one communicator
  int communicators_;
};

}  // namespace twinrun::exec
