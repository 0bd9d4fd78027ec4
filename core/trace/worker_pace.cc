#include "core/trace/worker_pace.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "core/trace/steps.h"

namespace twinrun {
namespace {

using EndsByStep = std::map<std::int64_t, Time>;  // of one worker, by step

bool is_pass(std::string_view name) {
  return name.starts_with("forward/") || name.starts_with("backward/");
}

std::vector<EndsByStep> ends_by_worker(const Plan& plan, const Trace& trace) {
  std::vector<EndsByStep> workers;
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
      workers.emplace_back();
    }
    Time& end = workers[found->second][*step];
    end = std::max(end, trace.ops[i].end);
  }
  return workers;
}

// Steps a second between the first and the last end after the warm-up and up to `until`.
double pace_of(const EndsByStep& worker, std::int64_t warmup_steps, Time until) {
  Time first{};
  Time last{};
  std::int64_t ended = -1;  // the first end is where counting starts
  for (const auto& [step, end] : worker) {
    if (step + 1 < warmup_steps || end > until) {
      continue;
    }
    first = ended < 0 ? end : first;
    last = end;
    ++ended;
  }
  return ended > 0 && last > first ? static_cast<double>(ended) / to_seconds(last - first) : 0;
}

}  // namespace

WorkerPace worker_pace(const Plan& plan, const Trace& trace, std::int64_t warmup_steps) {
  const std::vector<EndsByStep> workers = ends_by_worker(plan, trace);
  WorkerPace pace;
  Time until = trace.makespan;
  for (const EndsByStep& worker : workers) {
    until = std::min(until, worker.rbegin()->second);
  }
  for (const EndsByStep& worker : workers) {
    pace.steps_per_s.push_back(pace_of(worker, warmup_steps, until));
    pace.sum += pace.steps_per_s.back();
  }
  return pace;
}

}  // namespace twinrun
