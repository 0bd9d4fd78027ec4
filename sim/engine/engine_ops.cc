#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/compute/compute_time.h"
#include "sim/engine/engine.h"
#include "sim/whole_picoseconds.h"

// How the engine starts and ends ops that are not collectives.

namespace twinrun::sim {

Time Engine::compute_time_of(OpId op) const {
  const std::size_t device = index_of(plan_.device(op));
  Time time{};
  if (const std::optional<Time> given = plan_.duration(op)) {
    time = *given;
  } else if (const DeviceSpec* const spec = topology_.device(vertex_[device])) {
    const VertexId vertex = vertex_[device];
    time = compute_time(*spec, plan_.compute(op), plan_.kernel(op),
                        {topology_.compute_scale(vertex), topology_.memory_bandwidth_scale(vertex)})
               .time;
    if (!footprint_.empty()) {
      time = time + longer_for_footprint(op);
    }
  }
  const double factor = slowdown_[device] * options_.compute_scale;
  if (factor != 1) {
    time = whole_picoseconds(static_cast<double>(time.ps) * factor);
  }
  return with_noise(options_.noise, op, time);
}

Time Engine::longer_for_footprint(OpId op) const {
  const FootprintCost& cost = footprint_[index_of(plan_.device(op))];
  const Kernel* const kernel = plan_.kernel(op);
  const bool is_product = kernel != nullptr && kernel->m > 0;
  return whole_picoseconds(static_cast<double>(plan_.compute(op).bytes.count) *
                           (is_product ? cost.product_ps_per_byte : cost.pass_ps_per_byte));
}

void Engine::start_compute(OpId op) {
  start_op(op);
  const Time work = compute_time_of(op);
  if (work.ps == 0) {
    return finish(op);
  }
  const std::size_t device = index_of(plan_.device(op));
  if (const auto task = cores_.task(vertex_[device], work)) {
    return start_flow({Owner::kCompute, static_cast<std::uint32_t>(op)}, {&task->cores, 1},
                      task->bytes, {.most = task->most});
  }
  const std::uint32_t processor = processor_[device];
  processors_[processor].start(op, work, now_);
  watch_processor(processor);
}

void Engine::watch_processor(std::uint32_t processor) {
  const SharedDevice& device = processors_[processor];
  if (const std::optional<Time> end = device.next_end()) {
    timers_.set(*end, {Timers::Kind::kDevice, processor, device.version()});
  }
}

void Engine::start_copy(OpId op) {
  start_op(op);
  const std::optional<Time> given = plan_.duration(op);
  if (given || !options_.has_communication) {
    return finish_after(op, given && options_.has_communication ? *given : Time{});
  }
  const CopyOp& copy = plan_.copy(op);
  const Ends ends{vertex_[index_of(plan_.device(op))], vertex_[index_of(copy.to)]};
  const CachedRoute& route = routes_.find(ends.from, ends.to);
  start_transfer({Owner::kCopy, static_cast<std::uint32_t>(op)}, ends, routes_.links(route),
                 copy.bytes);
}

// The head of a message travels while the tail of the one before it arrives, if its data were there
// by then: of messages in a row between two streams only the first waits for the wire.
Time Engine::latency_left(OpId send, Time latency) const {
  const OpId receive = plan_.message(send).partner;
  const LastMessage& last = last_message_[index_of(plan_.stream(send))];
  const bool sleeps = wake_of(send).ps > 0;  // nothing leaves before both ends are awake
  if (sleeps || last.receiver != plan_.stream(receive)) {
    return latency;
  }
  Time could_leave = last.end - latency;
  for (const OpId op : {send, receive}) {
    for (const OpId before : plan_.predecessors(op)) {
      could_leave = std::max(could_leave, times_[index_of(before)].end);
    }
  }
  return std::clamp(latency - (now_ - could_leave), Time{}, latency);
}

void Engine::start_message(OpId send) {
  const MessageOp& message = plan_.message(send);
  start_op(send);
  start_op(message.partner);
  const std::optional<Time> given = plan_.duration(send);
  if (given || !options_.has_communication) {
    const Time time = given && options_.has_communication ? *given : Time{};
    finish_after(send, time);
    return finish_after(message.partner, time);
  }
  const Ends ends{vertex_[index_of(plan_.device(send))], vertex_[index_of(message.peer)]};
  const CachedRoute& route = routes_.find(ends.from, ends.to);
  start_transfer({Owner::kMessage, static_cast<std::uint32_t>(send)}, ends, routes_.links(route),
                 message.bytes, {.latency = latency_left(send, Time{route.latency_ps})});
}

void Engine::start_transfer(const Transit& transit,
                            const Ends& ends,
                            std::span<const LinkId> links,
                            Bytes bytes,
                            const FlowTerms& terms) {
  for (const LinkId link : links) {
    link_bytes_[index_of(link)] += static_cast<double>(bytes.count);
  }
  ++counts_.transfers;
  ++counts_.events;
  if (cores_.empty() || ends.from == no_id<VertexId>()) {
    return start_flow(transit, links, bytes, terms);
  }
  start_flow(transit, cores_.with_cores(links, ends.from, ends.to), bytes, terms);
}

void Engine::start_flow(const Transit& transit,
                        std::span<const LinkId> links,
                        Bytes bytes,
                        const FlowTerms& terms) {
  if (free_transits_.empty()) {
    free_transits_.push_back(static_cast<std::uint32_t>(transits_.size()));
    transits_.emplace_back();
  }
  const std::uint32_t flow = free_transits_.back();
  free_transits_.pop_back();
  transits_[flow] = transit;
  network_->start(static_cast<FlowId>(flow), links, bytes, now_, terms);
}

void Engine::end_transfer(const Transit& transit) {
  switch (transit.owner) {
    case Owner::kCopy:
    case Owner::kCompute:
      return finish(id_at<OpId>(transit.subject));
    case Owner::kMessage: {
      const auto send = id_at<OpId>(transit.subject);
      const OpId receive = plan_.message(send).partner;
      last_message_[index_of(plan_.stream(send))] = {plan_.stream(receive), now_};
      finish_after(send, wake_of(send));  // it slept until all was taken
      return finish(receive);
    }
    case Owner::kFluid:
      return finish_instance(id_at<InstanceId>(transit.subject));
    case Owner::kStep:
      return end_step_message(transit);
    case Owner::kWakingStep:
      return enter_step(transit.subject, transit.from);
  }
}

}  // namespace twinrun::sim
