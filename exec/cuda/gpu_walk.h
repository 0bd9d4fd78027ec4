#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/run_graph.h"
#include "core/trace/trace.h"
#include "exec/cuda/communicators.h"
#include "exec/cuda/cuda_run.h"
#include "exec/cuda/enqueue_order.h"
#include "exec/cuda/event_clock.h"
#include "exec/cuda/event_pool.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/cuda/gpu_traffic.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// Hands the ops that are here to their streams, and looks when they are done. One thread walks;
// others may ask how far it is.
class GpuWalk {
 public:
  GpuWalk(const Plan& plan,
          GpuMachine& machine,
          OpWork& work,
          Communicators& communicators,
          const CudaRunOptions& options);

  // Before the walk: all scratch is asked for, and made. CannotRun when it cannot be done.
  void prepare();

  // ---- by the thread that walks
  // What NCCL predicts for each group, kind and size of collectives, once it has joined. By all
  // processes together.
  std::vector<CollectiveEstimate> estimates();
  // From when times count: now, on the host's own clock where it has one.
  void set_zero(std::chrono::steady_clock::time_point begin);
  // Returns when all ops that are here are done. Stopped when told to; std::runtime_error when
  // something fails, and then at() is the op.
  void walk();
  [[nodiscard]] OpId at() const { return at_; }  // no_id when it is no op's fault

  // ---- any thread
  // The walker gives up at its next look.
  void stop() { is_over_ = true; }
  [[nodiscard]] std::size_t ops_done() const { return done_.load(std::memory_order_relaxed); }
  // The op that a stream is at, if it is enqueued.
  [[nodiscard]] std::optional<OpId> head_of(StreamId stream) const;
  [[nodiscard]] bool is_done(OpId op) const {
    return is_done_[index_of(op)].load(std::memory_order_acquire);
  }
  // Of an op that is enqueued.
  [[nodiscard]] bool has_begun(OpId op) const;
  // Once the walker is back: whether the last op of a stream that is enqueued is over, one way or
  // another.
  [[nodiscard]] bool is_drained(StreamId stream) const;
  // Once the walker is back, of an op that is done.
  [[nodiscard]] const OpTimes& times(OpId op) const { return times_[index_of(op)]; }

 private:
  struct InFlight {
    GpuEvent start;
    GpuEvent end;
    std::uint32_t base = 0;
  };
  struct alignas(64) Stream {
    std::atomic<std::uint32_t> enqueued{0};  // ops
    std::atomic<std::uint32_t> done{0};
  };

  [[nodiscard]] bool is_here(OpId op) const { return machine_.place_of(op).is_here; }
  [[nodiscard]] bool is_paced() const { return !options_.run.pace.empty(); }
  void find_here(OpId node);
  void enqueue(OpId node);
  void do_work(OpId node);
  void wait_for_room();
  void await_others(OpId op);
  void begin(OpId op, std::uint32_t base);
  void end(OpId op);
  std::uint64_t* when_of(OpId op);
  void give_up_if_over() const;
  void look_again(int& looks);
  void finish(OpId op);
  void give_back_end(OpId op);
  [[nodiscard]] bool is_over(const GpuEvent& event) const;

  const Plan& plan_;
  GpuMachine& machine_;
  GpuRuntime& runtime_;
  OpWork& work_;
  const Communicators& communicators_;
  const CudaRunOptions& options_;
  RunGraph graph_;
  EnqueueOrder order_;
  EventPool events_;
  GpuTraffic traffic_;
  EventClock clock_;

  std::function<Time()> now_;  // since zero
  OpId at_ = no_id<OpId>();
  std::vector<OpId> here_;  // of the node at hand
  std::size_t enqueued_ = 0;
  std::vector<std::uint32_t> waits_left_;  // by op: streams that have not been told to wait for it
  std::vector<InFlight> in_flight_;        // by op
  std::vector<OpTimes> times_;             // by op

  std::atomic<bool> is_over_{false};
  std::atomic<std::size_t> done_{0};
  std::vector<std::atomic<bool>> is_done_;  // by op
  std::vector<Stream> streams_;
};

// Ops that start when others of them have come.
constexpr bool meets_others(OpKind kind) {
  return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
}

}  // namespace twinrun::exec
