#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/plan.h"
#include "exec/local_devices.h"

namespace twinrun::exec {

// How the operating system is to treat the threads that walk streams.
class StreamThreads {
 public:
  // With other processes on the machine none knows where their threads are, and none is placed.
  StreamThreads(const Plan& plan, const LocalDevices& here, bool has_others);

  // To be called on the stream's thread, before its first op.
  void prepare(StreamId stream) const;

 private:
  const Plan& plan_;
  std::map<StreamId, std::size_t> core_of_;  // of streams that stay on one
};

// Where the compute threads of so many devices stay: each on a core of its own when they take most
// of the cores, nowhere in particular otherwise (empty). While others come and go beside them, the
// scheduler leaves two threads that compute on one core for tenths of a second though the next is
// idle; with cores to spare it does not.
std::vector<std::size_t> cores_for_devices(std::size_t devices,
                                           const std::vector<std::size_t>& allowed);

}  // namespace twinrun::exec
