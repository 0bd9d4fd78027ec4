#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compute/footprint_cost.h"
#include "core/plan/plan.h"
#include "core/topology/topology.h"
#include "sim/collective/method.h"
#include "sim/engine/op_state.h"
#include "sim/engine/route_cache.h"
#include "sim/engine/shared_cores.h"
#include "sim/engine/shared_device.h"
#include "sim/engine/stepwise_run.h"
#include "sim/engine/timers.h"
#include "sim/memory_meter.h"
#include "sim/memory_thread.h"
#include "sim/net/flow_network.h"
#include "sim/simulate.h"

namespace twinrun::sim {

// The loop: the next date of the timers and the network, all that happens then, what may start now.
//
//      timers ─┐                      ┌─> compute, host: timers
//              ├─> ends ─> ready ops ─┼─> copies, messages: flows
//     network ─┘      ^               └─> collectives: flows of steps, or one flow
//                     └── at once ───────  what takes no time
class Engine {
 public:
  Engine(const Plan& plan, const Topology& topology, const SimulationOptions& options);
  Simulation run();

 private:
  // What an op's timer is for, besides its end.
  static constexpr std::uint32_t kIsAwake = 1;
  static constexpr std::uint32_t kHaveMet = 2;

  // What a transfer belongs to.
  enum class Owner : std::uint8_t { kCopy, kMessage, kFluid, kStep, kWakingStep, kCompute };
  struct Transit {
    Owner owner = Owner::kCopy;
    std::uint32_t subject = 0;  // an op, an instance, or a stepwise run
    std::uint32_t from = 0;     // of a step: participants; of a waking one, who wakes
    std::uint32_t to = 0;
  };
  struct LastMessage {
    StreamId receiver = no_id<StreamId>();
    Time end{};
  };
  // Collectives of one shape and size are done in one way.
  struct MethodKey {
    std::uint32_t shape = 0;
    std::int64_t bytes = 0;
    auto operator<=>(const MethodKey&) const = default;
  };

  struct LastMethod {
    std::int64_t bytes = -1;
    const CollectiveMethod* method = nullptr;
  };

  void place_devices();
  void place_processors();
  void weigh_footprints();
  void count_missing();
  void start_memory_thread();
  void note_memory(OpId op, MemoryWhen when);
  void fetch_to_start(OpId op) const;
  void fetch_to_finish(OpId op) const;
  void finish_computed();
  void release(OpId op, bool is_of_another);
  [[nodiscard]] Time wake_of(OpId op) const;
  void handle_op_timer(OpId op, std::uint32_t what);
  void run_instant(Time now);
  void handle_timers(Time now);
  void handle_transfers();
  void start_ready();
  void become_ready(OpId op);
  void meet(OpId last);
  void start_together(OpId op);
  void start_op(OpId op);
  void start_compute(OpId op);
  void start_copy(OpId op);
  void start_message(OpId send);
  void start_collective(InstanceId instance);
  void start_given(InstanceId instance);
  void start_stepwise(InstanceId instance, const CollectiveMethod& method);
  bool finish_uncontended(InstanceId instance, const CollectiveMethod& method);
  void start_fluid(InstanceId instance, const FluidCollective& fluid);
  // Of a message: from and to are its ends, whose cores it may cost.
  struct Ends {
    VertexId from = no_id<VertexId>();
    VertexId to = no_id<VertexId>();
  };
  void start_transfer(const Transit& transit,
                      const Ends& ends,
                      std::span<const LinkId> links,
                      Bytes bytes,
                      const FlowTerms& terms = {});
  void start_flow(const Transit& transit,
                  std::span<const LinkId> links,
                  Bytes bytes,
                  const FlowTerms& terms);
  void finish_after(OpId op, Time duration);
  void finish(OpId op);
  void finish_instance(InstanceId instance);
  void end_transfer(const Transit& transit);
  void communicate(OpId op, bool starts);
  void enter_step(std::uint32_t run, std::uint32_t participant);
  void end_step_message(const Transit& transit);
  void leave_step(std::uint32_t run, std::uint32_t participant, Time wake);
  void watch_processor(std::uint32_t processor);
  const CollectiveMethod& method_of(InstanceId instance);
  CollectiveMethod new_method(OpId op);
  [[nodiscard]] Time compute_time_of(OpId op) const;
  [[nodiscard]] Time longer_for_footprint(OpId op) const;
  [[nodiscard]] Time latency_left(OpId send, Time latency) const;
  [[nodiscard]] bool is_alone(InstanceId instance) const;
  [[nodiscard]] std::string_view first_unended() const;
  void check_all_ended() const;
  Simulation result();

  const Plan& plan_;
  const Topology& topology_;
  const SimulationOptions& options_;
  RouteCache routes_;
  CollectiveMethods methods_;
  SharedCores cores_;
  std::unique_ptr<FlowNetwork> network_;
  Timers timers_;
  MemoryMeter memory_;
  std::optional<MemoryThread> memory_thread_;  // of large plans
  Time now_{};

  std::vector<VertexId> vertex_;              // by device of the plan
  std::vector<double> slowdown_;              // by device
  std::vector<FootprintCost> footprint_;      // by device; empty: caches hold all
  std::vector<std::uint32_t> processor_;      // by device
  std::vector<std::uint32_t> communicating_;  // by processor: collectives that run
  std::vector<SharedDevice> processors_;
  std::vector<OpState> states_;         // by op
  std::vector<std::uint32_t> missing_;  // by instance: ops that are not ready
  std::vector<OpTimes> times_;          // by op
  std::vector<OpId> ready_;             // in the order they became so
  std::vector<Transit> transits_;       // by FlowId; places are used again
  std::vector<std::uint32_t> free_transits_;
  std::vector<StepwiseRun> stepwise_;  // places are used again
  std::vector<std::uint32_t> free_stepwise_;
  std::map<MethodKey, CollectiveMethod> method_by_shape_;
  std::vector<LastMethod> last_method_;          // by shape: most repeat the size as well
  std::vector<const CollectiveMethod*> method_;  // by instance
  std::vector<double> link_bytes_;               // by link
  std::vector<LastMessage> last_message_;        // by stream of sends
  bool may_take_steps_;                          // see CollectiveRequest
  std::size_t running_ = 0;                      // ops that started and have not ended
  std::size_t ended_ = 0;
  EngineCounts counts_;
  std::vector<FlowId> arrived_;  // scratch
  std::vector<OpId> computed_;   // scratch
  StepTransfers transfers_;      // scratch
};

}  // namespace twinrun::sim
