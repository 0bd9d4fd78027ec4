#include "exec/runner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/gate.h"
#include "exec/left_behind.h"
#include "exec/stream_threads.h"
#include "exec/stream_words.h"

namespace twinrun::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostStreams = 2000;
constexpr auto kTick = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(2);  // for threads to notice that it is over

enum class Phase : std::uint8_t { kBefore, kDependencies, kPartners, kRunning, kAfter };

class PlanRun {
 public:
  PlanRun(const Plan& plan, Backend& backend, const RunOptions& options)
      : plan_(plan),
        backend_(backend),
        options_(options),
        done_(plan.size()),
        instances_(plan.instance_count()),
        messages_(plan.size()),
        own_times_(options.live_times == nullptr ? plan.size() : 0),
        times_(options.live_times == nullptr ? own_times_.data() : options.live_times),
        streams_(plan.stream_count()),
        threads_(plan, options.here, options.others != nullptr) {}

  [[nodiscard]] std::size_t walked_streams() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      count += is_walked(id_at<StreamId>(i)) ? 1U : 0U;
    }
    return count;
  }

  Outcome run() {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (is_walked(id_at<StreamId>(i))) {
        ++alive_;
        threads.emplace_back([this, i] { walk(id_at<StreamId>(i)); });
      }
    }
    begin_ = Clock::now();
    if (options_.others != nullptr) {
      options_.others->begun(begin_);
    }
    start_.raise();
    const bool all_back = watch();
    for (std::thread& thread : threads) {
      if (all_back) {
        thread.join();
      } else {
        thread.detach();
      }
    }
    if (failure_ && options_.others == nullptr) {
      failure_->message += "; " + doing_;
    }
    Trace kept = trace();
    kept.failure = failure_ ? failure_->message : "";
    return {std::move(kept), std::move(failure_), std::move(doing_), begin_, !all_back};
  }

 private:
  struct alignas(64) Stream {
    std::atomic<std::uint32_t> position{0};  // ops done
    std::atomic<Phase> phase{Phase::kBefore};
  };

  [[nodiscard]] bool is_walked(StreamId stream) const {
    return !plan_.stream_ops(stream).empty() && options_.here.has(plan_.stream_device(stream));
  }
  [[nodiscard]] bool is_here(OpId op) const { return options_.here.has(plan_.device(op)); }

  // ---- on a stream's thread

  void walk(StreamId stream) {
    try {
      threads_.prepare(stream);
      start_.wait_for(1);
      Stream& state = streams_[index_of(stream)];
      for (const OpId op : plan_.stream_ops(stream)) {
        step(op, stream, state);
      }
      state.phase.store(Phase::kAfter, std::memory_order_relaxed);
    } catch (const Stopped&) {  // somebody else has said why
    }
    const std::lock_guard lock(mutex_);
    --alive_;
    changed_.notify_all();
  }

  void step(OpId op, StreamId stream, Stream& state) {
    if (is_over_.load(std::memory_order_relaxed)) {  // it may have nothing to wait for
      throw Stopped{};
    }
    state.phase.store(Phase::kDependencies, std::memory_order_relaxed);
    for (const OpId before : plan_.predecessors(op)) {
      if (plan_.stream(before) != stream) {
        wait_until_done(before);
      }
    }
    OpTimes& times = times_[index_of(op)];
    times.ready = now();
    times.start = times.ready;
    if (starts_with_others(op) && options_.others == nullptr) {
      state.phase.store(Phase::kPartners, std::memory_order_relaxed);
      meet(op);
      times.start = now();
    }
    state.phase.store(Phase::kRunning, std::memory_order_relaxed);
    work(op);
    if (!options_.pace.empty()) {
      keep_pace(times.start + options_.pace[index_of(op)]);
    }
    times.end = std::max(now(), Time{1});
    done_[index_of(op)].raise();
    if (options_.others != nullptr) {
      options_.others->announce(op);
    }
    state.position.fetch_add(1, std::memory_order_relaxed);
  }

  void wait_until_done(OpId op) {
    if (is_here(op)) {
      return done_[index_of(op)].wait_for(1);
    }
    if (!done_[index_of(op)].has(1)) {
      options_.others->await(op);
      done_[index_of(op)].raise();
    }
  }

  [[nodiscard]] bool starts_with_others(OpId op) const {
    const OpKind kind = plan_.kind(op);
    return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
  }

  void meet(OpId op) {
    if (plan_.kind(op) == OpKind::kCollective) {
      const InstanceId instance = plan_.collective(op).instance;
      Gate& gate = instances_[index_of(instance)];
      gate.raise();
      gate.wait_for(static_cast<std::uint32_t>(plan_.instance_ops(instance).size()));
      return;
    }
    messages_[index_of(op)].raise();
    messages_[index_of(plan_.message(op).partner)].wait_for(1);
  }

  void work(OpId op) {
    try {
      backend_.run(op);
    } catch (const std::exception& error) {
      fail({FailureKind::kOpFailed, op,
            fmt::format("{} on {} failed: {}", plan_.id(op), plan_.device_name(plan_.device(op)),
                        error.what())});
      throw Stopped{};
    }
  }

  // Sleeps until then. Sleeping ops overlap on any number of devices, whatever cores there are.
  void keep_pace(Time until) const {
    for (Time left = until - now(); left.ps > 0; left = until - now()) {
      if (is_over_.load(std::memory_order_relaxed)) {
        throw Stopped{};
      }
      const auto nap = std::chrono::nanoseconds(left.ps / 1000 + 1);
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(nap, kTick));
    }
  }

  [[nodiscard]] Time now() const {
    return Time{std::chrono::nanoseconds(Clock::now() - begin_).count() * 1000};
  }

  // ---- on the caller's thread

  // Until all threads are back; false when some do not come.
  bool watch() {
    std::size_t last_done = 0;
    Clock::time_point last_progress = Clock::now();
    std::optional<Clock::time_point> ended;
    std::unique_lock lock(mutex_);
    while (alive_ > 0) {
      changed_.wait_for(lock, kTick);
      const std::size_t done = ops_done();
      if (done != last_done) {
        last_done = done;
        last_progress = Clock::now();
      }
      if (!ended && !failure_) {
        look_for_trouble(std::chrono::duration<double>(Clock::now() - last_progress).count(), done);
      }
      if (failure_ && !ended) {
        ended = Clock::now();
        doing_ = what_streams_do();
        stop_all();
      }
      if (ended && alive_ > 0 && Clock::now() - *ended > kGrace) {
        return false;
      }
      if (options_.progress) {
        options_.progress(done, plan_.size());
      }
    }
    return true;
  }

  // With the lock held.
  void look_for_trouble(double idle_s, std::size_t done) {
    if (options_.interrupted != nullptr && options_.interrupted->load()) {
      failure_ = Failure{FailureKind::kInterrupted, no_id<OpId>(), "interrupted"};
    } else if (options_.others != nullptr) {
      failure_ = options_.others->look(done);
    } else if (idle_s > options_.timeout_s) {
      failure_ = Failure{FailureKind::kTimeout, running_op(),
                         fmt::format("no op has ended for {:.1f} s", options_.timeout_s)};
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
    for (std::vector<Gate>* const gates : {&done_, &instances_, &messages_}) {
      for (Gate& gate : *gates) {
        gate.stop();
      }
    }
    backend_.stop();
  }

  [[nodiscard]] std::size_t ops_done() const {
    std::size_t sum = 0;
    for (const Stream& stream : streams_) {
      sum += stream.position.load(std::memory_order_relaxed);
    }
    return sum;
  }

  // The op a stream is at, and whether it is in that phase.
  [[nodiscard]] std::optional<OpId> op_in(std::size_t stream, Phase phase) const {
    const auto ops = plan_.stream_ops(id_at<StreamId>(stream));
    const std::uint32_t at = streams_[stream].position.load(std::memory_order_relaxed);
    const bool is_in = streams_[stream].phase.load(std::memory_order_relaxed) == phase;
    return is_in && at < ops.size() ? std::optional(ops[at]) : std::nullopt;
  }

  [[nodiscard]] OpId running_op() const {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (const auto op = op_in(i, Phase::kRunning)) {
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
      if (const auto op = op_in(i, Phase::kRunning)) {
        const std::string awaited = backend_.awaited_by(*op);
        if (awaited.empty()) {
          running.push_back(on_device(*op));
        } else {
          waiting.push_back(fmt::format("{} for {}", on_device(*op), awaited));
        }
      } else if (const auto meets = op_in(i, Phase::kPartners)) {
        waiting.push_back(fmt::format("{} for {}", on_device(*meets), missing_partner(*meets)));
      } else if (const auto waits = op_in(i, Phase::kDependencies)) {
        waiting.push_back(fmt::format("{} for {}", on_device(*waits), missing_predecessor(*waits)));
      }
    }
    return words_of_streams(running, waiting);
  }

  [[nodiscard]] std::string missing_predecessor(OpId op) const {
    for (const OpId before : plan_.predecessors(op)) {
      if (!done_[index_of(before)].has(1)) {
        return on_device(before);
      }
    }
    return "nothing any more";
  }

  [[nodiscard]] std::string missing_partner(OpId op) const {
    if (plan_.kind(op) != OpKind::kCollective) {
      return on_device(plan_.message(op).partner);
    }
    for (const OpId other : plan_.instance_ops(plan_.collective(op).instance)) {
      const StreamId stream = plan_.stream(other);
      if (op_in(index_of(stream), Phase::kPartners) != other && !done_[index_of(other)].has(1)) {
        return on_device(other);
      }
    }
    return "nothing any more";
  }

  [[nodiscard]] Trace trace() const {
    Trace out;
    out.source = "executed";
    out.ops.assign(plan_.size(), OpTimes{Time{}, Time{0}, Time{-1}});
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      // A thread that was left behind may still write the others.
      if (done_[i].has(1) && is_here(id_at<OpId>(i))) {
        out.ops[i] = times_[i];
        out.makespan = std::max(out.makespan, times_[i].end);
      }
    }
    for (std::size_t i = 0; i < plan_.instance_count(); ++i) {
      const auto instance = id_at<InstanceId>(i);
      out.collectives.push_back({instance, backend_.algorithm(instance), "", "", 0});
    }
    return out;
  }

  const Plan& plan_;
  Backend& backend_;
  const RunOptions options_;  // a copy: threads that are left behind still look at it
  Gate start_;
  std::atomic<bool> is_over_{false};
  std::vector<Gate> done_;       // by op
  std::vector<Gate> instances_;  // by collective: who has come
  std::vector<Gate> messages_;   // by op: a send or recv has come
  std::vector<OpTimes> own_times_;
  OpTimes* const times_;  // by op, written by its stream's thread alone
  std::vector<Stream> streams_;
  const StreamThreads threads_;
  Clock::time_point begin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t alive_ = 0;  // threads; from here on under the mutex
  std::optional<Failure> failure_;
  std::string doing_;  // what the streams did when it failed
};

}  // namespace

Outcome run_plan(const Plan& plan, Backend& backend, const RunOptions& options) {
  auto run = std::make_unique<PlanRun>(plan, backend, options);
  if (run->walked_streams() > kMostStreams) {
    throw CannotRun(
        fmt::format("the plan has {} streams, each of which needs a thread; at most {} "
                    "can be run in one process",
                    run->walked_streams(), kMostStreams));
  }
  Outcome outcome = run->run();
  if (outcome.left_threads) {
    leave_behind(std::move(run));  // they still use it
  }
  return outcome;
}

}  // namespace twinrun::exec
