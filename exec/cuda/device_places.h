#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "exec/local_devices.h"

namespace twinrun::exec {

// What stands for a device of a plan here.
struct DevicePlace {
  bool is_here = false;  // in this process
  bool is_host = false;  // memory and threads of the host; its streams are the GPU's below
  int gpu = 0;           // CUDA's number
};

// Which GPUs a process has: its number on its machine, and how many there are to see.
struct VisibleGpus {
  int count = 0;
  int local_rank = 0;    // of this process, among those of its machine
  bool is_alone = true;  // it is the only one
};

// By device. Devices that are named gpu… are GPUs, all others hosts; of a plan that has no such
// name those that compute or take part in collectives are GPUs. They are taken in order: gpu0 is
// device 0; of several processes of a machine each has the next ones, or all that it sees when that
// is as many as it needs. CannotRun when there are not so many.
std::vector<DevicePlace> device_places(const Plan& plan,
                                       const LocalDevices& here,
                                       const VisibleGpus& gpus);

}  // namespace twinrun::exec
