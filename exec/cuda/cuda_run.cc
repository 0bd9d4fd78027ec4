#include "exec/cuda/cuda_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/plan/run_graph.h"
#include "exec/cuda/enqueue_order.h"
#include "exec/cuda/event_clock.h"
#include "exec/cuda/event_pool.h"
#include "exec/cuda/gpu_traffic.h"
#include "exec/gate.h"
#include "exec/left_behind.h"
#include "exec/stream_words.h"

namespace twinrun::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(2);  // to notice that it is over
constexpr auto kNap = std::chrono::microseconds(20);
constexpr int kLooksBeforeNap = 100;

bool meets_others(OpKind kind) {
  return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
}

class CudaRun {
 public:
  CudaRun(const Plan& plan,
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
        clock_(machine.runtime(), [this] { return now(); }),
        waits_left_(plan.size()),
        in_flight_(plan.size()),
        own_times_(options.run.live_times == nullptr ? plan.size() : 0),
        times_(options.run.live_times == nullptr ? own_times_.data() : options.run.live_times),
        is_done_(plan.size()),
        streams_(plan.stream_count()) {}

  // All scratch is asked for, and made.
  void prepare() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const OpId op = id_at<OpId>(i);
      if (!is_here(op)) {
        continue;
      }
      for (const OpId before : order_.waits[op]) {
        ++waits_left_[index_of(before)];
      }
      clock_.add_device(machine_.stream_of(op).device);
      if (!options_.run.pace.empty()) {
        machine_.scratch(plan_.stream(op), Scratch::kClock, sizeof(std::uint64_t));
      }
      if (meets_others(plan_.kind(op))) {
        traffic_.measure(op);
      } else {
        work_.compute(op);
      }
    }
    machine_.prepare();
  }

  Outcome run() {
    std::thread walker([this] { walk(); });
    const bool is_back = watch();
    if (is_back) {
      walker.join();
    } else {
      walker.detach();
    }
    const bool is_drained = !failure_ || (is_back && drain());
    if (failure_ && options_.run.others == nullptr) {
      failure_->message += "; " + doing_;
    }
    Trace kept = trace();
    kept.failure = failure_ ? failure_->message : "";
    return {std::move(kept), std::move(failure_), std::move(doing_), begin_, !is_drained};
  }

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

  // ---- on the walker's thread

  void walk() {
    try {
      communicators_.join(options_.spread_ids);
      is_joined_ = true;
      start_.wait_for(1);
      zero_ = options_.host_clock ? options_.host_clock() : Time{};
      clock_.start();
      for (const OpId node : order_.nodes) {
        enqueue(node);
      }
      int looks = 0;
      while (ops_done() < enqueued_) {
        look_again(looks);
      }
    } catch (const Stopped&) {  // somebody else has said why
    } catch (const std::exception& error) {
      fail({FailureKind::kOpFailed, at_,
            at_ == no_id<OpId>() ? error.what()
                                 : fmt::format("{} failed: {}", on_device(at_), error.what())});
    }
    const std::lock_guard lock(mutex_);
    is_back_ = true;
    changed_.notify_all();
  }

  void enqueue(OpId node) {
    here_.clear();
    graph_.for_each_op(node, [&](OpId op) {
      if (is_here(op)) {
        here_.push_back(op);
      }
    });
    if (here_.empty()) {
      return;
    }
    int looks = 0;
    while (enqueued_ - ops_done() >= options_.most_in_flight) {
      look_again(looks);
    }
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
    if (meets_others(plan_.kind(node))) {
      traffic_.enqueue(here_, plan_.kind(node) != OpKind::kCollective &&
                                  order_.is_known_to_receiver[index_of(send_of(node))]);
    } else {
      work_.compute(node);
    }
    for (const OpId op : here_) {
      at_ = op;
      end(op);
    }
    at_ = no_id<OpId>();
  }

  [[nodiscard]] OpId send_of(OpId message) const {
    return plan_.kind(message) == OpKind::kSend ? message : plan_.message(message).partner;
  }

  // Those of other processes, unless it follows from what this one has heard: before the op is
  // enqueued.
  void await_others(OpId op) {
    for (const OpId before : order_.waits[op]) {
      int looks = 0;
      while (!is_here(before) && !options_.run.others->has_come(before)) {
        look_again(looks);
      }
    }
  }

  void begin(OpId op, std::uint32_t base) {
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
    if (!options_.run.pace.empty() && !meets_others(plan_.kind(op))) {
      runtime_.note_time(stream, clock_scratch(op));
    }
  }

  void end(OpId op) {
    const GpuStream& stream = machine_.stream_of(op);
    if (!options_.run.pace.empty()) {
      if (meets_others(plan_.kind(op))) {  // from when they had met
        runtime_.note_time(stream, clock_scratch(op));
      }
      runtime_.hold_until(stream, clock_scratch(op), options_.run.pace[index_of(op)].ps / 1000);
    }
    if (options_.op_ends) {
      options_.op_ends(op, stream);
    }
    runtime_.end_op(stream);
    in_flight_[index_of(op)].end = events_.record(stream);
    ++enqueued_;
    streams_[index_of(plan_.stream(op))].enqueued.fetch_add(1, std::memory_order_release);
  }

  std::uint64_t* clock_scratch(OpId op) {
    return static_cast<std::uint64_t*>(
        machine_.scratch(plan_.stream(op), Scratch::kClock, sizeof(std::uint64_t)));
  }

  void give_up_if_over() const {
    if (is_over_.load(std::memory_order_relaxed)) {
      throw Stopped{};
    }
  }

  // Takes in what is done; rests a little when nothing is for a while.
  void look_again(int& looks) {
    give_up_if_over();
    const OpId at = at_;
    const std::size_t before = ops_done();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      while (const auto op = head_of(i)) {
        at_ = *op;
        if (!runtime_.is_done(in_flight_[index_of(*op)].end)) {
          break;
        }
        finish(*op, streams_[i]);
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

  void finish(OpId op, Stream& stream) {
    InFlight& state = in_flight_[index_of(op)];
    OpTimes& times = times_[index_of(op)];
    times.ready = clock_.time_of(state.start, state.base);
    times.start = times.ready;
    times.end = std::max(clock_.time_of(state.end, state.base), times.ready);
    if (options_.run.others != nullptr) {
      times.end = std::max(times.end, Time{1});  // 0 is not done yet, where tables are merged
    }
    events_.give_back(state.start);
    work_.finished(op);
    is_done_[index_of(op)].store(true, std::memory_order_release);
    stream.done.fetch_add(1, std::memory_order_release);
    done_.fetch_add(1, std::memory_order_relaxed);
    give_back_end(op);
    if (options_.run.others != nullptr) {
      options_.run.others->announce(op);
    }
  }

  // When nobody will wait for it any more.
  void give_back_end(OpId op) {
    if (is_done_[index_of(op)] && waits_left_[index_of(op)] == 0) {
      events_.give_back(in_flight_[index_of(op)].end);
    }
  }

  [[nodiscard]] Time now() const {
    if (options_.host_clock) {
      return options_.host_clock() - zero_;
    }
    return Time{std::chrono::nanoseconds(Clock::now() - begin_).count() * 1000};
  }

  // ---- on the caller's thread

  // Until the walker is back; false when it does not come.
  bool watch() {
    std::size_t last_done = 0;
    bool has_started = false;
    Clock::time_point last_progress = Clock::now();
    std::optional<Clock::time_point> ended;
    std::unique_lock lock(mutex_);
    while (!is_back_) {
      changed_.wait_for(lock, has_started ? kTick : kTick / 20);
      if (!has_started && is_joined_ && !failure_) {
        has_started = true;
        let_go();
        last_progress = begin_;
      }
      if (const std::size_t done = ops_done(); done != last_done) {
        last_done = done;
        last_progress = Clock::now();
      }
      if (!failure_) {
        look_for_trouble(std::chrono::duration<double>(Clock::now() - last_progress).count());
      }
      if (failure_ && !ended) {
        ended = Clock::now();
        lock.unlock();
        stop_all();
        lock.lock();
      }
      if (ended && !is_back_ && Clock::now() - *ended > kGrace) {
        return false;
      }
      if (options_.run.progress) {
        options_.run.progress(last_done, plan_.size());
      }
    }
    if (failure_ && !ended) {
      lock.unlock();
      stop_all();
    }
    return true;
  }

  void let_go() {
    begin_ = Clock::now();
    if (options_.run.others != nullptr) {
      options_.run.others->begun(begin_);
    }
    start_.raise();
  }

  // With the lock held.
  void look_for_trouble(double idle_s) {
    const RunOptions& run = options_.run;
    if (run.interrupted != nullptr && run.interrupted->load()) {
      failure_ = Failure{FailureKind::kInterrupted, no_id<OpId>(), "interrupted"};
    } else if (const auto trouble = communicators_.trouble()) {
      const auto op = head_of(index_of(trouble->stream));
      failure_ = Failure{
          FailureKind::kOpFailed, op.value_or(no_id<OpId>()),
          op ? fmt::format("{} failed: {}", on_device(*op), trouble->words) : trouble->words};
    } else if (run.others != nullptr) {
      failure_ = run.others->look(ops_done());
    } else if (idle_s > run.timeout_s) {
      failure_ = Failure{FailureKind::kTimeout, stuck_op(),
                         fmt::format("no op has ended for {:.1f} s", run.timeout_s)};
    }
  }

  void fail(Failure failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = std::move(failure);
    }
    changed_.notify_all();
  }

  void stop_all() {
    is_over_ = true;
    doing_ = what_streams_do();
    start_.stop();
    communicators_.abort();
  }

  // Whether all streams come to their ends, now that communicators are aborted: nothing can be
  // destroyed before.
  bool drain() {
    const auto until = Clock::now() + kGrace;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const std::uint32_t enqueued = streams_[i].enqueued.load();
      if (streams_[i].done.load() == enqueued) {
        continue;
      }
      const OpId last = plan_.stream_ops(id_at<StreamId>(i))[enqueued - 1];
      while (!is_over(in_flight_[index_of(last)].end)) {
        if (Clock::now() > until) {
          return false;
        }
        std::this_thread::sleep_for(kNap);
      }
    }
    return true;
  }

  // A device that only has errors left will not do any more either.
  [[nodiscard]] bool is_over(const GpuEvent& event) const {
    try {
      return runtime_.is_done(event);
    } catch (const std::exception&) {
      return true;
    }
  }

  [[nodiscard]] std::size_t ops_done() const { return done_.load(std::memory_order_relaxed); }

  // The op that a stream is at, if it is enqueued.
  [[nodiscard]] std::optional<OpId> head_of(std::size_t stream) const {
    const std::uint32_t done = streams_[stream].done.load(std::memory_order_acquire);
    const bool is_there = done < streams_[stream].enqueued.load(std::memory_order_acquire);
    return is_there ? std::optional(plan_.stream_ops(id_at<StreamId>(stream))[done]) : std::nullopt;
  }

  [[nodiscard]] bool has_begun(OpId op) const {
    return is_done(op) || is_over(in_flight_[index_of(op)].start);
  }
  [[nodiscard]] bool is_done(OpId op) const {
    return is_done_[index_of(op)].load(std::memory_order_acquire);
  }

  [[nodiscard]] OpId stuck_op() const {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (const auto op = head_of(i); op && has_begun(*op)) {
        return *op;
      }
    }
    return no_id<OpId>();
  }

  [[nodiscard]] std::string on_device(OpId op) const {
    return fmt::format("{} on {}", plan_.id(op), plan_.device_name(plan_.device(op)));
  }

  [[nodiscard]] std::string what_streams_do() const {
    std::vector<std::string> running;
    std::vector<std::string> waiting;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const auto op = head_of(i);
      if (!op) {
        continue;
      }
      const std::string awaited = awaited_by(*op);
      if (awaited.empty()) {
        running.push_back(on_device(*op));
      } else {
        waiting.push_back(fmt::format("{} for {}", on_device(*op), awaited));
      }
    }
    return words_of_streams(running, waiting);
  }

  // "" when nothing is missing.
  [[nodiscard]] std::string awaited_by(OpId op) const {
    if (!has_begun(op)) {
      for (const OpId before : plan_.predecessors(op)) {
        if (is_here(before) && !is_done(before)) {
          return on_device(before);
        }
      }
    }
    std::string out;
    if (meets_others(plan_.kind(op))) {
      graph_.for_each_op(graph_.node(op), [&](OpId other) {
        const bool has_come =
            is_here(other) && head_of(index_of(plan_.stream(other))) == other && has_begun(other);
        if (out.empty() && !has_come && !is_done(other)) {
          out = on_device(other);
        }
      });
    }
    return out;
  }

  // Those that start together start when the last of them is ready.
  [[nodiscard]] Trace trace() const {
    Trace out;
    out.source = "executed";
    out.ops.assign(plan_.size(), OpTimes{Time{}, Time{0}, Time{-1}});
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const OpId op = id_at<OpId>(i);
      if (!is_here(op) || !is_done(op)) {
        continue;
      }
      OpTimes times = times_[i];
      if (meets_others(plan_.kind(op))) {
        graph_.for_each_op(graph_.node(op), [&](OpId other) {
          if (is_here(other) && is_done(other)) {
            times.start = std::max(times.start, times_[index_of(other)].ready);
          }
        });
        times.start = std::min(times.start, times.end);
      }
      out.ops[i] = times;
      out.makespan = std::max(out.makespan, times.end);
    }
    for (std::size_t i = 0; i < plan_.instance_count(); ++i) {
      out.collectives.push_back({id_at<InstanceId>(i), "nccl", "", "", 0});
    }
    return out;
  }

  const Plan& plan_;
  GpuMachine& machine_;
  GpuRuntime& runtime_;
  OpWork& work_;
  Communicators& communicators_;
  const CudaRunOptions options_;  // a copy: a thread that is left behind still looks at it
  RunGraph graph_;
  EnqueueOrder order_;
  EventPool events_;
  GpuTraffic traffic_;
  EventClock clock_;
  Gate start_;
  Time zero_{};  // of the host's clock, where it is not the steady one
  std::atomic<bool> is_joined_{false};
  std::atomic<bool> is_over_{false};

  // ---- the walker's
  OpId at_ = no_id<OpId>();  // what it is about
  std::vector<OpId> here_;   // of the node at hand
  std::size_t enqueued_ = 0;
  std::vector<std::uint32_t> waits_left_;  // by op: streams that have not been told to wait for it
  std::vector<InFlight> in_flight_;        // by op
  std::vector<OpTimes> own_times_;
  OpTimes* const times_;  // by op

  std::vector<std::atomic<bool>> is_done_;  // by op
  std::vector<Stream> streams_;
  std::atomic<std::size_t> done_{0};
  Clock::time_point begin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_back_ = false;  // from here on under the mutex
  std::optional<Failure> failure_;
  std::string doing_;
};

}  // namespace

Outcome run_on_gpus(const Plan& plan,
                    GpuMachine& machine,
                    OpWork& work,
                    Communicators& communicators,
                    const CudaRunOptions& options) {
  auto run = std::make_unique<CudaRun>(plan, machine, work, communicators, options);
  run->prepare();
  Outcome outcome = run->run();
  if (outcome.left_threads) {
    leave_behind(std::move(run));
  }
  return outcome;
}

}  // namespace twinrun::exec
