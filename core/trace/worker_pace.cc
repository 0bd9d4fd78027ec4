#include "core/trace/worker_pace.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "core/trace/steps.h"

namespace twinrun {
namespace {

struct WorkerEnds {
  DeviceId device{};
  std::map<std::int64_t, Time> by_step;
};

bool is_pass(std::string_view name) {
  return name.starts_with("forward/") || name.starts_with("backward/");
}

std::vector<WorkerEnds> ends_by_worker(const Plan& plan, const Trace& trace) {
  std::vector<WorkerEnds> workers;
  std::map<std::string, std::size_t, std::less<>> known;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    const auto step = step_of(id);
    if (!step || !is_pass(name_within_step(id))) {
      continue;
    }
    const std::string_view name = id.substr(id.rfind('@') + 1);
    auto found = known.find(name);
    if (found == known.end()) {
      found = known.emplace(name, workers.size()).first;
      workers.push_back({plan.device(id_at<OpId>(i)), {}});
    }
    Time& end = workers[found->second].by_step[*step];
    end = std::max(end, trace.ops[i].end);
  }
  return workers;
}

// The steps after the warm-up that end by then.
Worker counted(const WorkerEnds& ends, std::int64_t warmup_steps, Time until) {
  Worker worker{ends.device, {}, 0};
  for (const auto& [step, end] : ends.by_step) {
    if (step < warmup_steps) {
      worker.counted = {end, end};
    } else if (end <= until) {
      worker.counted.end = end;
      ++worker.steps;
    }
  }
  return worker;
}

}  // namespace

double Worker::steps_per_s() const {
  const double seconds = to_seconds(counted.end - counted.begin);
  return seconds > 0 ? static_cast<double>(steps) / seconds : 0;
}

double WorkerPace::step_s() const {
  return sum > 0 ? static_cast<double>(workers.size()) / sum : 0;
}

WorkerPace worker_pace(const Plan& plan, const Trace& trace, std::int64_t warmup_steps) {
  const std::vector<WorkerEnds> all = ends_by_worker(plan, trace);
  Time until = trace.makespan;
  for (const WorkerEnds& ends : all) {
    until = std::min(until, ends.by_step.rbegin()->second);
  }
  WorkerPace pace;
  for (const WorkerEnds& ends : all) {
    Worker worker = counted(ends, warmup_steps, until);
    if (worker.steps == 0) {
      worker = counted(ends, warmup_steps, trace.makespan);
    }
    pace.sum += worker.steps_per_s();
    pace.workers.push_back(worker);
  }
  return pace;
}

}  // namespace twinrun
