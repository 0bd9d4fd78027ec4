#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "sim/collective/uncontended.h"
#include "sim/engine/engine.h"
#include "sim/whole_picoseconds.h"

// How the engine does collectives.

namespace twinrun::sim {

const CollectiveMethod& Engine::method_of(InstanceId instance) {
  const OpId op = plan_.instance_ops(instance).front();
  const CollectiveOp& collective = plan_.collective(op);
  if (collective.shape >= last_method_.size()) {
    last_method_.resize(collective.shape + std::size_t{1});
  }
  LastMethod& last = last_method_[collective.shape];
  if (last.bytes != collective.bytes.count) {
    const auto [entry, is_new] =
        method_by_shape_.try_emplace(MethodKey{collective.shape, collective.bytes.count});
    if (is_new) {
      entry->second = new_method(op);
    }
    last = {collective.bytes.count, &entry->second};
  }
  return *last.method;
}

CollectiveMethod Engine::new_method(OpId op) {
  const CollectiveShape& shape = plan_.shape(op);
  std::vector<VertexId> ranks;
  std::uint32_t root = 0;
  for (const DeviceId device : plan_.group_devices(shape.group)) {
    if (device == shape.root) {
      root = static_cast<std::uint32_t>(ranks.size());
    }
    ranks.push_back(vertex_[index_of(device)]);
  }
  CollectiveRequest request;
  request.kind = shape.kind;
  request.ranks = ranks;
  request.bytes = plan_.collective(op).bytes;
  request.dtype = shape.dtype;
  request.root = root;
  request.algorithm = plan_.algorithm_name(shape);
  request.fidelity = options_.fidelity;
  request.may_take_steps = may_take_steps_;
  request.servers = options_.servers;
  request.server_count = options_.server_count;
  CollectiveMethod method = methods_.choose(request);
  if (method.fluid.bottleneck != no_id<LinkId>()) {
    method.bottleneck = topology_.link_name(method.fluid.bottleneck);
  }
  return method;
}

void Engine::start_collective(InstanceId instance) {
  const std::span<const OpId> ops = plan_.instance_ops(instance);
  for (const OpId op : ops) {
    start_op(op);
    communicate(op, true);
  }
  const bool has_given = std::any_of(ops.begin(), ops.end(),
                                     [&](OpId op) { return states_[index_of(op)].has_duration; });
  const bool is_barrier = plan_.shape(ops.front()).kind == CollectiveKind::kBarrier;
  const bool is_nothing = plan_.collective(ops.front()).bytes.count == 0 && !is_barrier;
  if (!options_.has_communication || is_nothing || ops.size() == 1) {
    return finish_instance(instance);
  }
  if (has_given) {
    return start_given(instance);
  }
  const CollectiveMethod& method = method_of(instance);
  method_[index_of(instance)] = &method;
  if (!method.schedule) {
    return start_fluid(instance, method.fluid);
  }
  if (!(cores_.empty() && is_alone(instance) && finish_uncontended(instance, method))) {
    start_stepwise(instance, method);
  }
}

// A rank without a time of its own takes the longest given.
void Engine::start_given(InstanceId instance) {
  Time longest{};
  for (const OpId op : plan_.instance_ops(instance)) {
    longest = std::max(longest, plan_.duration(op).value_or(Time{}));
  }
  for (const OpId op : plan_.instance_ops(instance)) {
    finish_after(op, plan_.duration(op).value_or(longest));
  }
}

void Engine::finish_instance(InstanceId instance) {
  for (const OpId op : plan_.instance_ops(instance)) {
    fetch_to_finish(op);
  }
  for (const OpId op : plan_.instance_ops(instance)) {
    finish(op);
  }
}

void Engine::start_fluid(InstanceId instance, const FluidCollective& fluid) {
  FlowTerms terms{.latency = fluid.latency};
  if (fluid.most_bytes_per_s > 0) {
    terms.most = {fluid.most_bytes_per_s};
  }
  start_transfer({Owner::kFluid, static_cast<std::uint32_t>(instance)}, {}, fluid.links,
                 fluid.bytes, terms);
}

// While a collective runs, its kernels hold a share of the processors of its ranks.
void Engine::communicate(OpId op, bool starts) {
  if (options_.communication_share <= 0) {
    return;
  }
  const std::uint32_t processor = processor_[index_of(plan_.device(op))];
  std::uint32_t& running = communicating_[processor];
  running += starts ? 1U : ~0U;
  if (running == (starts ? 1U : 0U)) {  // the first, or the last
    processors_[processor].set_taken(starts ? options_.communication_share : 0, now_);
    watch_processor(processor);
  }
}

// Nothing else runs, and nothing can start before all of this has ended.
bool Engine::is_alone(InstanceId instance) const {
  const std::span<const OpId> ops = plan_.instance_ops(instance);
  return running_ == ops.size() &&
         std::all_of(ops.begin(), ops.end(),
                     [&](OpId op) {
                       return plan_.successors(op).empty() &&
                              states_[index_of(op)].next == no_id<OpId>();
                     }) &&
         ended_ + ops.size() == plan_.size();
}

namespace {

std::vector<OpId> ops_by_rank(const Plan& plan, InstanceId instance) {
  const std::span<const OpId> ops = plan.instance_ops(instance);
  const std::span<const DeviceId> devices = plan.group_devices(plan.shape(ops.front()).group);
  std::vector<OpId> of_device(plan.device_count(), no_id<OpId>());
  for (const OpId op : ops) {
    of_device[index_of(plan.device(op))] = op;
  }
  std::vector<OpId> out;
  out.reserve(devices.size());
  for (const DeviceId device : devices) {
    out.push_back(of_device[index_of(device)]);
  }
  return out;
}

}  // namespace

bool Engine::finish_uncontended(InstanceId instance, const CollectiveMethod& method) {
  const auto run = run_uncontended(*method.schedule, method.participants, routes_, topology_);
  if (!run) {
    return false;
  }
  const std::vector<OpId> ops = ops_by_rank(plan_, instance);
  for (std::size_t rank = 0; rank < ops.size(); ++rank) {
    // The allowance of the network: the noise of sums adds no picosecond.
    const double ps = run->end_ps[rank];
    finish_after(ops[rank], whole_picoseconds(ps - (1e-3 + ps * 1e-15)));
  }
  for (std::size_t i = 0; i < link_bytes_.size(); ++i) {
    link_bytes_[i] += run->link_bytes[i];
  }
  counts_.transfers += run->messages;
  counts_.events += run->messages;
  ++counts_.uncontended;
  return true;
}

void Engine::start_stepwise(InstanceId instance, const CollectiveMethod& method) {
  if (free_stepwise_.empty()) {
    free_stepwise_.push_back(static_cast<std::uint32_t>(stepwise_.size()));
    stepwise_.emplace_back();
  }
  const std::uint32_t run = free_stepwise_.back();
  free_stepwise_.pop_back();
  const std::size_t participants = method.participants.size();
  stepwise_[run] = {&*method.schedule,
                    &method.participants,
                    ops_by_rank(plan_, instance),
                    std::vector<std::uint32_t>(participants, StepwiseRun::kNotYet),
                    std::vector<std::uint32_t>(participants, 0),
                    participants};
  for (std::uint32_t i = 0; i < participants; ++i) {
    enter_step(run, i);
  }
}

// To its next step that has messages; those whose other end is there already start.
void Engine::enter_step(std::uint32_t run, std::uint32_t participant) {
  StepwiseRun& state = stepwise_[run];
  const CollectiveSchedule& schedule = *state.schedule;
  const std::uint32_t steps = schedule.steps();
  std::uint32_t& step = state.step[participant];
  do {
    ++step;  // from kNotYet to 0
    transfers_.clear();
    if (step < steps) {
      schedule.transfers(participant, step, transfers_);
    }
  } while (step < steps && transfers_.sends.empty() && transfers_.receives.empty());
  if (step >= steps) {
    if (participant < state.op.size()) {
      finish(state.op[participant]);
    }
    if (--state.unfinished == 0) {
      free_stepwise_.push_back(run);
    }
    return;
  }
  state.outstanding[participant] =
      static_cast<std::uint32_t>(transfers_.sends.size() + transfers_.receives.size());
  const auto start = [&](std::uint32_t from, std::uint32_t to, const Transfer& transfer) {
    const std::uint32_t peer = from == participant ? to : from;
    if (state.step[peer] == step) {
      const Ends ends{(*state.places)[from], (*state.places)[to]};
      const CachedRoute& route = routes_.find(ends.from, ends.to);
      // The receiver takes it, and sleeps when it came first.
      const Time wake = to == peer ? cores_.wake(ends.to) : Time{};
      FlowTerms terms;
      if (wake.ps > 0) {
        terms.latency = Time{route.latency_ps} + wake;
      }
      start_transfer({Owner::kStep, run, from, to}, ends, routes_.links(route),
                     {transfer.from.size()}, terms);
    }
  };
  for (const Transfer& send : transfers_.sends) {
    start(participant, send.peer, send);
  }
  for (const Transfer& receive : transfers_.receives) {
    start(receive.peer, participant, receive);
  }
}

// A sender has nothing left to do when the receiver has taken its last, and slept.
void Engine::end_step_message(const Transit& transit) {
  for (const std::uint32_t end : {transit.from, transit.to}) {
    StepwiseRun& state = stepwise_[transit.subject];
    if (--state.outstanding[end] == 0) {
      const bool slept = end == transit.from;
      leave_step(transit.subject, end, slept ? cores_.wake((*state.places)[end]) : Time{});
    }
  }
}

void Engine::leave_step(std::uint32_t run, std::uint32_t participant, Time wake) {
  if (wake.ps > 0) {
    start_flow({Owner::kWakingStep, run, participant}, {}, {}, {.latency = wake});
  } else {
    enter_step(run, participant);
  }
}

}  // namespace twinrun::sim
