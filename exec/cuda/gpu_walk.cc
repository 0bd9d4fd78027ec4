#include "exec/cuda/gpu_walk.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "exec/gate.h"

namespace twinrun::exec {
namespace {

constexpr auto kNap = std::chrono::microseconds(20);
constexpr int kLooksBeforeNap = 100;

}  // namespace

GpuWalk::GpuWalk(const Plan& plan,
                 GpuMachine& machine,
                 OpWork& work,
                 Communicators& communicators,
                 const CudaRunOptions& options)
    : plan_(plan),
      machine_(machine),
      runtime_(machine.runtime()),
      work_(work),
      communicators_(communicators),
      options_(options),
      graph_(plan),
      order_(
          enqueue_order(plan, [&](OpId send) { return is_copied_message(plan, machine, send); })),
      events_(machine.runtime()),
      traffic_(plan, machine, work, communicators, events_),
      clock_(machine.runtime(), [this] { return now_(); }),
      waits_left_(plan.size()),
      in_flight_(plan.size()),
      times_(plan.size()),
      is_done_(plan.size()),
      streams_(plan.stream_count()) {}

void GpuWalk::prepare() {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (!is_here(op)) {
      continue;
    }
    for (const OpId before : order_.waits[op]) {
      ++waits_left_[index_of(before)];
    }
    clock_.add_device(machine_.stream_of(op).device);
    if (is_paced()) {
      when_of(op);
    }
    if (meets_others(plan_.kind(op))) {
      traffic_.measure(op);
    } else {
      work_.compute(op);
    }
  }
  machine_.prepare();
}

void GpuWalk::set_zero(std::chrono::steady_clock::time_point begin) {
  if (options_.host_clock) {
    now_ = [clock = options_.host_clock, zero = options_.host_clock()] { return clock() - zero; };
  } else {
    now_ = [begin] {
      const auto since = std::chrono::steady_clock::now() - begin;
      return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(since).count() * 1000};
    };
  }
}

void GpuWalk::walk() {
  clock_.start();
  for (const OpId node : order_.nodes) {
    enqueue(node);
  }
  int looks = 0;
  while (ops_done() < enqueued_) {
    look_again(looks);
  }
}

std::vector<CollectiveEstimate> GpuWalk::estimates() {
  std::vector<CollectiveEstimate> out;
  std::set<std::pair<std::uint32_t, std::int64_t>> seen;  // shape and bytes
  for (std::size_t i = 0; i < plan_.instance_count() && runtime_.has_estimates(); ++i) {
    const auto instance = id_at<InstanceId>(i);
    const OpId first = plan_.instance_ops(instance).front();
    const CollectiveOp& collective = plan_.collective(first);
    find_here(first);
    const bool is_exchanged = !here_.empty() && communicators_.of(here_.front()) != nullptr;
    if (is_exchanged && seen.emplace(collective.shape, collective.bytes.count).second) {
      out.push_back({instance, traffic_.estimate_s(here_)});
    }
  }
  return out;
}

void GpuWalk::find_here(OpId node) {
  here_.clear();
  graph_.for_each_op(node, [&](OpId op) {
    if (is_here(op)) {
      here_.push_back(op);
    }
  });
}

void GpuWalk::enqueue(OpId node) {
  find_here(node);
  if (here_.empty()) {
    return;
  }
  wait_for_room();
  for (const OpId op : here_) {
    at_ = op;
    await_others(op);
  }
  give_up_if_over();
  const std::uint32_t base = clock_.base();
  for (const OpId op : here_) {
    at_ = op;
    begin(op, base);
  }
  at_ = here_.front();
  do_work(node);
  for (const OpId op : here_) {
    at_ = op;
    end(op);
  }
  at_ = no_id<OpId>();
}

void GpuWalk::do_work(OpId node) {
  switch (plan_.kind(node)) {
    case OpKind::kCollective:
      return traffic_.enqueue(here_, false);
    case OpKind::kSend:
      return traffic_.enqueue(here_, order_.is_known_to_receiver[index_of(node)]);
    case OpKind::kRecv:
      return traffic_.enqueue(here_,
                              order_.is_known_to_receiver[index_of(plan_.message(node).partner)]);
    case OpKind::kCompute:
    case OpKind::kCopy:
    case OpKind::kHost:
    case OpKind::kMarker:
      return work_.compute(node);
  }
}

void GpuWalk::wait_for_room() {
  int looks = 0;
  while (enqueued_ - ops_done() >= options_.most_in_flight) {
    look_again(looks);
  }
}

// Those of other processes, unless it follows from what this one has heard: before the op is
// enqueued. They come before it in the order of all, so nobody waits for ever.
void GpuWalk::await_others(OpId op) {
  for (const OpId before : order_.waits[op]) {
    int looks = 0;
    while (!is_here(before) && !options_.run.others->has_come(before)) {
      look_again(looks);
    }
  }
}

void GpuWalk::begin(OpId op, std::uint32_t base) {
  const GpuStream& stream = machine_.stream_of(op);
  for (const OpId before : order_.waits[op]) {
    if (is_here(before)) {
      runtime_.wait(stream, in_flight_[index_of(before)].end);
      --waits_left_[index_of(before)];
      give_back_end(before);
    }
  }
  InFlight& state = in_flight_[index_of(op)];
  state.base = base;
  state.start = events_.record(stream);
  runtime_.begin_op(stream, index_of(op));
  if (options_.op_begins) {
    options_.op_begins(op, stream);
  }
  if (is_paced() && !meets_others(plan_.kind(op))) {
    runtime_.note_time(stream, when_of(op));
  }
}

void GpuWalk::end(OpId op) {
  const GpuStream& stream = machine_.stream_of(op);
  if (is_paced()) {
    if (meets_others(plan_.kind(op))) {  // from when they had met
      runtime_.note_time(stream, when_of(op));
    }
    runtime_.hold_until(stream, when_of(op), options_.run.pace[index_of(op)].ps / 1000);
  }
  if (options_.op_ends) {
    options_.op_ends(op, stream);
  }
  runtime_.end_op(stream);
  in_flight_[index_of(op)].end = events_.record(stream);
  ++enqueued_;
  streams_[index_of(plan_.stream(op))].enqueued.fetch_add(1, std::memory_order_release);
}

std::uint64_t* GpuWalk::when_of(OpId op) {
  return static_cast<std::uint64_t*>(
      machine_.scratch(plan_.stream(op), Scratch::kClock, sizeof(std::uint64_t)));
}

void GpuWalk::give_up_if_over() const {
  if (is_over_.load(std::memory_order_relaxed)) {
    throw Stopped{};
  }
}

// Takes in what is done; rests a little when nothing is for a while.
void GpuWalk::look_again(int& looks) {
  give_up_if_over();
  const OpId at = at_;
  const std::size_t before = ops_done();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    while (const auto op = head_of(id_at<StreamId>(i))) {
      at_ = *op;
      if (!runtime_.is_done(in_flight_[index_of(*op)].end)) {
        break;
      }
      finish(*op);
    }
  }
  at_ = at;
  looks = ops_done() == before ? looks + 1 : 0;
  if (looks > kLooksBeforeNap) {
    std::this_thread::sleep_for(kNap);
  } else if (looks > 0) {
    std::this_thread::yield();
  }
}

void GpuWalk::finish(OpId op) {
  InFlight& state = in_flight_[index_of(op)];
  OpTimes& times = times_[index_of(op)];
  times.ready = clock_.time_of(state.start, state.base);
  times.start = times.ready;
  times.end = std::max(clock_.time_of(state.end, state.base), times.ready);
  if (options_.run.others != nullptr) {
    times.end = std::max(times.end, times.ready + Time{1});  // done, where tables are merged
  }
  events_.give_back(state.start);
  work_.finished(op);
  is_done_[index_of(op)].store(true, std::memory_order_release);
  streams_[index_of(plan_.stream(op))].done.fetch_add(1, std::memory_order_release);
  done_.fetch_add(1, std::memory_order_relaxed);
  give_back_end(op);
  if (options_.run.others != nullptr) {
    options_.run.others->announce(op);
  }
}

// When nobody will wait for it any more.
void GpuWalk::give_back_end(OpId op) {
  if (is_done(op) && waits_left_[index_of(op)] == 0) {
    events_.give_back(in_flight_[index_of(op)].end);
  }
}

// ---- any thread

std::optional<OpId> GpuWalk::head_of(StreamId stream) const {
  const Stream& state = streams_[index_of(stream)];
  const std::uint32_t done = state.done.load(std::memory_order_acquire);
  const bool is_there = done < state.enqueued.load(std::memory_order_acquire);
  return is_there ? std::optional(plan_.stream_ops(stream)[done]) : std::nullopt;
}

bool GpuWalk::has_begun(OpId op) const {
  return is_done(op) || is_over(in_flight_[index_of(op)].start);
}

bool GpuWalk::is_drained(StreamId stream) const {
  const std::uint32_t enqueued = streams_[index_of(stream)].enqueued.load();
  return enqueued == streams_[index_of(stream)].done.load() ||
         is_over(in_flight_[index_of(plan_.stream_ops(stream)[enqueued - 1])].end);
}

// A device that only has errors left will not do any more either.
bool GpuWalk::is_over(const GpuEvent& event) const {
  try {
    return runtime_.is_done(event);
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace twinrun::exec
