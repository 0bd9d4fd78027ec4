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

#include "exec/cuda/gpu_walk.h"
#include "exec/gate.h"
#include "exec/left_behind.h"
#include "exec/stream_words.h"

namespace twinrun::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(20);
constexpr auto kTickWhileJoining = std::chrono::milliseconds(1);
constexpr auto kNap = std::chrono::milliseconds(1);
constexpr auto kGrace = std::chrono::seconds(2);  // to notice that it is over

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
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
        communicators_(communicators),
        options_(options),
        graph_(plan),
        walk_(plan, machine, work, communicators, options_) {
    walk_.prepare();
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
  [[nodiscard]] bool is_here(OpId op) const { return machine_.place_of(op).is_here; }

  // ---- on the walker's thread

  void walk() {
    try {
      communicators_.join(options_.spread_ids);
      if (options_.estimates != nullptr) {
        *options_.estimates = walk_.estimates();
      }
      is_joined_ = true;
      start_.wait_for(1);
      walk_.set_zero(begin_);
      walk_.walk();
    } catch (const Stopped&) {  // somebody else has said why
    } catch (const std::exception& error) {
      const OpId op = walk_.at();
      fail({FailureKind::kOpFailed, op,
            op == no_id<OpId>() ? error.what()
                                : fmt::format("{} failed: {}", on_device(op), error.what())});
    }
    const std::lock_guard lock(mutex_);
    is_back_ = true;
    changed_.notify_all();
  }

  void fail(Failure failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = std::move(failure);
    }
    changed_.notify_all();
  }

  // ---- on the caller's thread

  // Until the walker is back; false when it does not come.
  bool watch() {
    std::size_t last_done = 0;
    Clock::time_point last_progress = Clock::now();
    std::optional<Clock::time_point> ended;
    std::unique_lock lock(mutex_);
    while (!is_back_) {
      changed_.wait_for(lock, has_started_ ? kTick : kTickWhileJoining);
      if (is_joined_ && !has_started_ && !failure_) {
        let_go();
        last_progress = begin_;
      }
      if (const std::size_t done = walk_.ops_done(); done != last_done) {
        last_done = done;
        last_progress = Clock::now();
      }
      if (!failure_ && !is_back_) {
        look_for_trouble(seconds_since(last_progress));
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
    has_started_ = true;
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
      const auto op = walk_.head_of(trouble->stream);
      failure_ = Failure{
          FailureKind::kOpFailed, op.value_or(no_id<OpId>()),
          op ? fmt::format("{} failed: {}", on_device(*op), trouble->words) : trouble->words};
    } else if (run.others != nullptr) {
      failure_ = run.others->look(walk_.ops_done());
    } else if (idle_s > run.timeout_s) {
      failure_ = Failure{FailureKind::kTimeout, stuck_op(),
                         fmt::format("no op has ended for {:.1f} s", run.timeout_s)};
    }
  }

  void stop_all() {
    walk_.stop();
    doing_ = what_streams_do();
    start_.stop();
    communicators_.abort();
  }

  // Whether all streams come to their ends, now that communicators are aborted: nothing can be
  // destroyed before.
  bool drain() {
    const auto until = Clock::now() + kGrace;
    for (std::size_t i = 0; i < plan_.stream_count(); ++i) {
      while (!walk_.is_drained(id_at<StreamId>(i))) {
        if (Clock::now() > until) {
          return false;
        }
        std::this_thread::sleep_for(kNap);
      }
    }
    return true;
  }

  // ---- words

  [[nodiscard]] OpId stuck_op() const {
    for (std::size_t i = 0; i < plan_.stream_count(); ++i) {
      if (const auto op = walk_.head_of(id_at<StreamId>(i)); op && awaited_by(*op).empty()) {
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
    for (std::size_t i = 0; i < plan_.stream_count(); ++i) {
      const auto op = walk_.head_of(id_at<StreamId>(i));
      if (!op) {
        continue;
      }
      if (const std::string awaited = awaited_by(*op); awaited.empty()) {
        running.push_back(on_device(*op));
      } else {
        waiting.push_back(fmt::format("{} for {}", on_device(*op), awaited));
      }
    }
    return words_of_streams(running, waiting);
  }

  // Of an op that is enqueued; "" when nothing is missing.
  [[nodiscard]] std::string awaited_by(OpId op) const {
    if (!walk_.has_begun(op)) {
      for (const OpId before : plan_.predecessors(op)) {
        if (is_here(before) && !walk_.is_done(before)) {
          return on_device(before);
        }
      }
    }
    std::string out;
    if (meets_others(plan_.kind(op))) {
      graph_.for_each_op(graph_.node(op), [&](OpId other) {
        if (out.empty() && !has_come(other)) {
          out = on_device(other);
        }
      });
    }
    return out;
  }

  [[nodiscard]] bool has_come(OpId op) const {
    return walk_.is_done(op) ||
           (is_here(op) && walk_.head_of(plan_.stream(op)) == op && walk_.has_begun(op));
  }

  // Those that start together start when the last of them is ready.
  [[nodiscard]] Time joint_start(OpId op) const {
    Time start = walk_.times(op).start;
    graph_.for_each_op(graph_.node(op), [&](OpId other) {
      if (walk_.is_done(other)) {
        start = std::max(start, walk_.times(other).ready);
      }
    });
    return start;
  }

  [[nodiscard]] Trace trace() const {
    Trace out;
    out.source = "executed";
    out.ops.assign(plan_.size(), OpTimes{Time{}, Time{0}, Time{-1}});
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const OpId op = id_at<OpId>(i);
      if (!is_here(op) || !walk_.is_done(op)) {
        continue;
      }
      OpTimes times = walk_.times(op);
      if (options_.run.others == nullptr) {  // else whoever has the times of all sees to it
        times.start = std::min(joint_start(op), times.end);
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
  Communicators& communicators_;
  const CudaRunOptions options_;  // a copy: a thread that is left behind still looks at it
  RunGraph graph_;
  GpuWalk walk_;
  Gate start_;
  bool has_started_ = false;
  Clock::time_point begin_;
  std::atomic<bool> is_joined_{false};
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
  Outcome outcome = run->run();
  if (outcome.left_threads) {
    leave_behind(std::move(run));
  }
  return outcome;
}

}  // namespace twinrun::exec
