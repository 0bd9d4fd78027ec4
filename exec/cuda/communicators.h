#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/cuda/gpu_runtime.h"
#include "exec/mpi/device_homes.h"

namespace twinrun::exec {

// The communicators of a plan. Ops of one communicator are done one after another, whatever streams
// they are on; so there is one for each set of streams whose collectives belong together, and one
// for each pair of streams that exchange messages, the sender its first rank. All processes make
// them in the same order.
class Communicators {
 public:
  // Hands the ids that the first process made to all; not needed where there is one process.
  using SpreadIds = std::function<std::string(const std::string& ids)>;

  Communicators(const Plan& plan, const GpuMachine& machine, const DeviceHomes& homes, int process);
  // Whatever is left of them is ended.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // By all processes together; waits for the others.
  void join(const SpreadIds& spread);

  // Of an op that is here; a collective alone, or a message within the process and of a host, has
  // none.
  [[nodiscard]] const GpuCommunicator* of(OpId op) const;

  // ---- any thread, while others join
  // An op that waits in a communicator that is in trouble, and NCCL's words; nothing when all are
  // well.
  struct Trouble {
    StreamId stream{};
    std::string words;
  };
  [[nodiscard]] std::optional<Trouble> trouble() const;
  void abort();

 private:
  using Streams = std::vector<StreamId>;  // by rank
  std::uint32_t want(const Streams& streams);
  [[nodiscard]] bool needs_nccl(OpId send) const;
  [[nodiscard]] std::vector<GpuMember> members_here(const Streams& streams) const;
  [[nodiscard]] Streams streams_of(OpId op) const;

  const Plan& plan_;
  const GpuMachine& machine_;
  GpuRuntime& runtime_;
  const DeviceHomes& homes_;
  int process_;
  std::vector<Streams> wanted_;  // in the order in which they are made
  std::map<Streams, std::uint32_t> number_of_;
  std::vector<std::uint32_t> number_of_op_;                // by op: kNone, or which of the wanted
  mutable std::mutex mutex_;                               // of what follows
  std::vector<std::map<StreamId, GpuCommunicator>> made_;  // by number; of streams that are here
};

// Whether a message goes by events and a copy: both ends are here, and one of them is a host.
bool is_copied_message(const Plan& plan, const GpuMachine& machine, OpId op);

}  // namespace twinrun::exec
