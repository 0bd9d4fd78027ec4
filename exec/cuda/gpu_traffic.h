#pragma once

#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cuda/communicators.h"
#include "exec/cuda/event_pool.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// What messages and collectives enqueue. GPUs exchange by NCCL; with a host of the same process it
// is a copy in the receiver's stream, and between processes a host's data goes through the GPU that
// its streams are on.
class GpuTraffic {
 public:
  GpuTraffic(const Plan& plan,
             GpuMachine& machine,
             OpWork& work,
             const Communicators& communicators,
             EventPool& events)
      : plan_(plan),
        machine_(machine),
        runtime_(machine.runtime()),
        work_(work),
        communicators_(communicators),
        events_(events) {}

  // While the machine is not prepared: asks for the scratch that the op will need.
  void measure(OpId op);
  // The ops of one collective or message that are here, each at the head of its stream; whether a
  // receiver knows that what its sender waits for is done.
  void enqueue(std::span<const OpId> ops, bool is_known_to_receiver);
  // Instead: NCCL's own estimate of how long it takes, and nothing is exchanged.
  double estimate_s(std::span<const OpId> ops);

 private:
  using Ranges = std::vector<std::span<float>>;
  using Transfers = std::vector<GpuTransfer>;
  void before_group(OpId op, Transfers& transfers);
  void after_group(OpId op);

  void copy_message(OpId send, OpId recv, bool is_known_to_receiver);
  Ranges readable(OpId send, const MovedData& data);
  Ranges readable_by_nccl(OpId send, const MovedData& data);
  void send(OpId op, Transfers& transfers);
  void receive(OpId op, Transfers& transfers);
  [[nodiscard]] bool is_idle(OpId op) const;
  void collective(OpId op, Transfers& transfers);
  void divided(OpId op, const MovedData& data, Transfers& transfers);
  void exchanged(OpId op, const MovedData& data, Transfers& transfers);
  void after_divided(OpId op, const MovedData& data);
  void after_exchanged(OpId op, const MovedData& data);

  [[nodiscard]] bool is_measured() const { return !machine_.is_prepared(); }
  [[nodiscard]] float* scratch(OpId op, Scratch kind, std::size_t elements);
  void copy(OpId op, std::span<const float> from, float* into);
  GpuTransfer transfer(OpId op, GpuTransferKind kind, int peer) const;

  const Plan& plan_;
  GpuMachine& machine_;
  GpuRuntime& runtime_;
  OpWork& work_;
  const Communicators& communicators_;
  EventPool& events_;
};

}  // namespace twinrun::exec
