#include "sim/engine/engine.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/diagnostics.h"
#include "sim/net/max_min.h"
#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

constexpr Time kNotYetReady{-1};
// Below, a run takes as long as a thread takes to come and go.
constexpr std::size_t kFewestOpsForThread = 200'000;
// So many ops ahead of the one at hand are fetched: those of a thousand devices lie far apart, and
// each would be waited for.
constexpr std::size_t kFetchAhead = 6;

// If every rank sent in every step of a ring; an upper bound for most algorithms.
std::uint64_t messages_of(const Plan& plan) {
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    const std::uint64_t ranks = plan.instance_ops(id_at<InstanceId>(i)).size();
    messages += 2 * ranks * ranks;
  }
  return messages;
}

}  // namespace

Engine::Engine(const Plan& plan, const Topology& topology, const SimulationOptions& options)
    : plan_(plan),
      topology_(topology),
      options_(options),
      routes_(topology),
      methods_(topology, routes_, options.launch),
      cores_(topology, options.cores_per_node),
      network_(std::make_unique<MaxMin>(cores_.with_links(shared_links(topology)))),
      memory_(plan),
      states_(op_states(plan)),
      missing_(plan.instance_count()),
      times_(plan.size(), OpTimes{kNotYetReady, {}, kNotYetReady}),
      method_(plan.instance_count(), nullptr),
      link_bytes_(topology.link_count(), 0),
      last_message_(plan.stream_count()),
      may_take_steps_(messages_of(plan) <= kMostStepwiseMessages) {
  place_devices();
  place_processors();
  weigh_footprints();
  count_missing();
  if (plan.size() >= kFewestOpsForThread) {
    start_memory_thread();
  }
}

void Engine::start_memory_thread() {
  try {
    memory_thread_.emplace(memory_);
  } catch (const std::system_error&) {  // no more threads: the run does it by itself
    memory_thread_.reset();
  }
}

void Engine::note_memory(OpId op, MemoryWhen when) {
  if (memory_thread_) {
    memory_thread_->add(op, when, now_);
  } else {
    memory_.apply(op, when, now_);
  }
}

void Engine::place_devices() {
  std::string missing;
  for (std::size_t i = 0; i < plan_.device_count(); ++i) {
    const std::string name(plan_.device_name(id_at<DeviceId>(i)));
    const std::optional<VertexId> vertex = topology_.find(name);
    if (!vertex) {
      missing += (missing.empty() ? "" : ", ") + name;
    }
    vertex_.push_back(vertex.value_or(VertexId{}));
    const auto slow = options_.slowdown.find(name);
    slowdown_.push_back(slow == options_.slowdown.end() ? 1.0 : slow->second);
  }
  if (!missing.empty()) {
    throw CannotRun(
        fmt::format("the plan runs on {}, which {} does not have", missing, topology_.name()));
  }
}

// Each device has a processor of its own, unless the CPUs of a machine are to share its cores.
void Engine::place_processors() {
  std::map<NodeId, std::uint32_t> of_node;
  for (const VertexId vertex : vertex_) {
    const bool shares = options_.cores_per_node > 0 && topology_.kind(vertex) == VertexKind::kCpu &&
                        topology_.node_of(vertex) != no_id<NodeId>();
    const auto fresh = static_cast<std::uint32_t>(processors_.size());
    const std::uint32_t processor =
        shares ? of_node.try_emplace(topology_.node_of(vertex), fresh).first->second : fresh;
    if (processor == fresh) {
      processors_.emplace_back(shares ? options_.cores_per_node : options_.kernels_at_once);
    }
    processor_.push_back(processor);
  }
  communicating_.resize(processors_.size());
}

// What the devices that share cores hold together, the caches may not. Memory is met in the order
// of the plan, which is near enough to the run's: it is needed before there is one.
void Engine::weigh_footprints() {
  const auto& groups = topology_.core_groups();
  if (std::all_of(groups.begin(), groups.end(),
                  [](const auto& one) { return one.footprint.empty(); })) {
    return;
  }
  MemoryMeter memory(plan_);
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    memory.apply(id_at<OpId>(i), MemoryWhen::kStart, Time{});
    memory.apply(id_at<OpId>(i), MemoryWhen::kEnd, Time{});
  }
  std::vector<double> all(groups.size());
  for (std::size_t i = 0; i < vertex_.size(); ++i) {
    if (const auto group = topology_.core_group(vertex_[i])) {
      all[*group] += static_cast<double>(memory.peaks()[i].peak.count);
    }
  }
  for (std::size_t i = 0; i < vertex_.size(); ++i) {
    const auto own = static_cast<double>(memory.peaks()[i].peak.count);
    const auto group = topology_.core_group(vertex_[i]);
    footprint_.push_back(group ? footprint_cost(groups[*group].footprint, own, all[*group])
                               : FootprintCost{});
  }
}

void Engine::count_missing() {
  for (std::size_t i = 0; i < plan_.instance_count(); ++i) {
    missing_[i] = static_cast<std::uint32_t>(plan_.instance_ops(id_at<InstanceId>(i)).size());
  }
}

Simulation Engine::run() {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (states_[i].waits == 0) {
      ready_.push_back(id_at<OpId>(i));
    }
  }
  start_ready();
  constexpr std::uint64_t kEventsPerReport = 1 << 16;
  std::uint64_t next_report = kEventsPerReport;
  while (true) {
    const std::optional<Time> timer = timers_.next();
    const std::optional<Time> transfer = network_->next_event();
    if (!timer && !transfer) {
      break;
    }
    const Time next = std::min(timer.value_or(kEndOfTime), transfer.value_or(kEndOfTime));
    if (next == kEndOfTime) {
      throw CannotRun(
          fmt::format("the run takes longer than {}, which is as far as the clock goes; "
                      "the first op that has not ended is {}",
                      to_text(kEndOfTime), first_unended()));
    }
    run_instant(next);
    if (options_.progress && counts_.events >= next_report) {
      next_report = counts_.events + kEventsPerReport;
      options_.progress(ended_, plan_.size());
    }
  }
  check_all_ended();
  return result();
}

// All ends of one date come first, then all starts; the network is solved once, when it is next
// asked.
void Engine::run_instant(Time now) {
  counts_.instants += now > now_ ? 1U : 0U;
  now_ = now;
  handle_timers(now);
  handle_transfers();
  start_ready();
}

void Engine::handle_timers(Time now) {
  while (timers_.next() == now) {
    const Timers::Due due = timers_.take();
    if (due.kind == Timers::Kind::kOp) {
      handle_op_timer(id_at<OpId>(due.subject), due.version);
    } else if (due.version == processors_[due.subject].version()) {
      processors_[due.subject].advance_to(now, computed_);
      watch_processor(due.subject);
    }
    // The end of a collective lets kernels run faster, also those that are due now.
    if (options_.communication_share > 0) {
      finish_computed();
    }
  }
  finish_computed();
}

void Engine::handle_op_timer(OpId op, std::uint32_t what) {
  switch (what) {
    case kIsAwake:
      return ready_.push_back(op);
    case kHaveMet:
      return start_together(op);
    default:
      return computed_.push_back(op);
  }
}

void Engine::finish_computed() {
  for (std::size_t i = 0; i < computed_.size(); ++i) {
    if (i + kFetchAhead < computed_.size()) {
      fetch_to_finish(computed_[i + kFetchAhead]);
    }
    finish(computed_[i]);
  }
  computed_.clear();
}

void Engine::fetch_to_finish(OpId op) const {
  __builtin_prefetch(&states_[index_of(op)]);
  __builtin_prefetch(&times_[index_of(op)]);
  plan_.successor_rows().fetch(op);
}

void Engine::fetch_to_start(OpId op) const {
  __builtin_prefetch(&times_[index_of(op)]);
  plan_.fetch(op);
}

void Engine::handle_transfers() {
  arrived_.clear();
  network_->advance_to(now_, arrived_);
  for (const FlowId flow : arrived_) {
    const Transit transit = transits_[index_of(flow)];
    free_transits_.push_back(static_cast<std::uint32_t>(flow));
    end_transfer(transit);
  }
}

void Engine::start_ready() {
  for (std::size_t i = 0; i < ready_.size(); ++i) {  // grows while what takes no time ends
    if (i + kFetchAhead < ready_.size()) {
      fetch_to_start(ready_[i + kFetchAhead]);
    }
    become_ready(ready_[i]);
  }
  ready_.clear();
}

void Engine::become_ready(OpId op) {
  times_[index_of(op)].ready = now_;
  const OpState& state = states_[index_of(op)];
  switch (state.kind) {
    case OpKind::kCollective: {
      const auto instance = id_at<InstanceId>(state.meets);
      if (--missing_[index_of(instance)] == 0) {
        meet(op);
      } else if (state.is_first) {  // the others are mostly ready in a moment
        plan_.fetch_collective(op);
        __builtin_prefetch(&method_[index_of(instance)]);
      }
      return;
    }
    case OpKind::kSend:
    case OpKind::kRecv: {
      const auto partner = id_at<OpId>(state.meets);
      if (times_[index_of(partner)].ready != kNotYetReady) {
        meet(op);
      }
      return;
    }
    case OpKind::kCompute:
      return start_compute(op);
    case OpKind::kCopy:
      return start_copy(op);
    case OpKind::kHost:
    case OpKind::kMarker: {
      start_op(op);
      const bool is_free = options_.compute_scale == 0;  // communication alone: no host either
      const Time given = is_free ? Time{} : plan_.duration(op).value_or(Time{});
      return finish_after(op, with_noise(options_.noise, op, given));
    }
  }
}

// All are there; those that came before this one sleep. A receiver that comes last needs no other:
// what it takes is there.
void Engine::meet(OpId last) {
  const bool needs_sleepers = states_[index_of(last)].kind != OpKind::kRecv;
  if (const Time wake = needs_sleepers ? wake_of(last) : Time{}; wake.ps > 0) {
    timers_.set(later(now_, wake), {Timers::Kind::kOp, static_cast<std::uint32_t>(last), kHaveMet});
  } else {
    start_together(last);
  }
}

void Engine::start_together(OpId op) {
  const OpState& state = states_[index_of(op)];
  if (state.kind == OpKind::kCollective) {
    start_collective(id_at<InstanceId>(state.meets));
  } else {
    start_message(state.kind == OpKind::kSend ? op : id_at<OpId>(state.meets));
  }
}

void Engine::start_op(OpId op) {
  times_[index_of(op)].start = now_;
  ++running_;
  if (states_[index_of(op)].has_effects) {
    note_memory(op, MemoryWhen::kStart);
  }
}

void Engine::finish_after(OpId op, Time duration) {
  if (duration.ps == 0) {
    finish(op);
  } else {
    timers_.set(later(now_, duration), {Timers::Kind::kOp, static_cast<std::uint32_t>(op), 0});
  }
}

void Engine::finish(OpId op) {
  times_[index_of(op)].end = now_;
  --running_;
  ++ended_;
  ++counts_.events;
  const OpState& state = states_[index_of(op)];
  if (state.has_effects) {
    note_memory(op, MemoryWhen::kEnd);
  }
  if (state.kind == OpKind::kCollective) {
    communicate(op, false);
  }
  if (state.has_successors) {
    for (const OpId successor : plan_.successors(op)) {
      release(successor, true);
    }
  }
  if (state.next != no_id<OpId>()) {
    release(state.next, false);
  }
}

// One that it waited for has ended: the last, and in another stream, and its own sleeps.
void Engine::release(OpId op, bool is_of_another) {
  if (--states_[index_of(op)].waits != 0) {
    return;
  }
  if (const Time wake = is_of_another ? wake_of(op) : Time{}; wake.ps > 0) {
    timers_.set(later(now_, wake), {Timers::Kind::kOp, static_cast<std::uint32_t>(op), kIsAwake});
  } else {
    ready_.push_back(op);
  }
}

Time Engine::wake_of(OpId op) const {
  return cores_.empty() ? Time{} : cores_.wake(vertex_[index_of(plan_.device(op))]);
}

std::string_view Engine::first_unended() const {
  const auto unended = std::find_if(times_.begin(), times_.end(),
                                    [](const OpTimes& times) { return times.end == kNotYetReady; });
  return plan_.id(id_at<OpId>(static_cast<std::size_t>(unended - times_.begin())));
}

void Engine::check_all_ended() const {
  if (ended_ == plan_.size()) {
    return;
  }
  std::string names;
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (times_[i].end == kNotYetReady && ++waiting <= 5) {
      const char* const what = times_[i].ready == kNotYetReady ? "what comes before it"
                               : times_[i].start == Time{}     ? "its partners"
                                                               : "its end";
      names += fmt::format("\n  {} waits for {}", plan_.id(op), what);
    }
  }
  throw CannotRun(fmt::format("nothing can happen any more, and {} of {} ops have not ended:{}{}",
                              waiting, plan_.size(), names, waiting > 5 ? "\n  …" : ""));
}

Simulation Engine::result() {
  Simulation out;
  out.trace.source = "simulated";
  for (const OpTimes& op : times_) {
    out.trace.makespan = std::max(out.trace.makespan, op.end);
  }
  const double seconds = to_seconds(out.trace.makespan);
  for (std::size_t i = 0; i < link_bytes_.size(); ++i) {
    const auto link = id_at<LinkId>(i);
    const double capacity = topology_.bandwidth(link).bytes_per_s * seconds;
    out.trace.links.push_back({topology_.link_name(link), link_bytes_[i],
                               capacity > 0 ? 100 * link_bytes_[i] / capacity : 0});
  }
  out.trace.collectives.reserve(method_.size());
  for (std::size_t i = 0; i < method_.size(); ++i) {
    CollectiveRun run;
    run.instance = id_at<InstanceId>(i);
    if (const CollectiveMethod* const method = method_[i]) {
      run.algorithm = method->algorithm;
      run.protocol = method->protocol;
      run.channels = method->channels;
      run.bottleneck = method->bottleneck;
    }
    out.trace.collectives.push_back(std::move(run));
  }
  out.trace.ops = std::move(times_);
  if (memory_thread_) {
    memory_thread_->finish();
  }
  out.memory = memory_.peaks();
  out.engine = counts_;
  for (std::size_t i = 1; i < kFidelityWords.size(); ++i) {
    const auto used = std::any_of(
        method_by_shape_.begin(), method_by_shape_.end(),
        [&](const auto& entry) { return static_cast<std::size_t>(entry.second.fidelity) == i; });
    if (used) {
      out.fidelity += (out.fidelity.empty() ? "" : ", ") + std::string(kFidelityWords[i]);
    }
  }
  for (const auto& [key, method] : method_by_shape_) {
    if (out.why.empty()) {
      out.why = method.why;
    }
  }
  return out;
}

}  // namespace twinrun::sim
