#include "core/trace/staleness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/trace/steps.h"

namespace twinrun {
namespace {

// What an id says: "pull/GROUP@WORKER" or "update/GROUP/WORKER@…".
struct ServerEvent {
  bool is_update = false;
  std::string_view group;
  std::string_view worker;
};

std::optional<ServerEvent> server_event_of(std::string_view id) {
  constexpr std::string_view kPull = "pull/";
  constexpr std::string_view kUpdate = "update/";
  constexpr std::string_view kServerUpdate = "update/server";
  const std::string_view name = name_within_step(id);
  if (name.starts_with(kPull)) {
    return ServerEvent{false, name.substr(kPull.size()), id.substr(id.rfind('@') + 1)};
  }
  const std::size_t slash = name.rfind('/');
  if (name.starts_with(kServerUpdate) && slash >= kServerUpdate.size()) {
    return ServerEvent{true, name.substr(kUpdate.size(), slash - kUpdate.size()),
                       name.substr(slash + 1)};
  }
  return std::nullopt;
}

// The order of events: by time, then by worker, who applies before it reads.
struct Moment {
  Time time{};
  std::size_t worker = 0;
  bool is_pull = false;
  auto operator<=>(const Moment&) const = default;
};

// Gradients of one worker in one step, for one group.
struct Gradient {
  std::optional<Moment> pulled;
  std::optional<Moment> applied;
};

struct GroupEvents {
  std::map<std::pair<std::int64_t, std::size_t>, Gradient> gradients;  // by step and worker
  std::vector<Moment> updates;
};

// A server answers once what the answer waits for is there; then it lies in queues.
Time answered(const Plan& plan, const Trace& trace, OpId pull) {
  const OpId answer = plan.kind(pull) == OpKind::kRecv ? plan.message(pull).partner : pull;
  Time ready{};
  for (const OpId before : plan.predecessors(answer)) {
    ready = std::max(ready, trace.ops[index_of(before)].end);
  }
  return ready;
}

// Tells most ops of a large plan apart at once: the first word after "step3/".
std::string_view after_step(std::string_view id) {
  return id.substr(std::min(id.size(), id.find('/') + 1));
}
bool may_be_server_event(std::string_view id) {
  const std::string_view rest = after_step(id);
  return rest.starts_with("pull/") || rest.starts_with("update/");
}

std::map<std::string, GroupEvents> events_by_group(const Plan& plan, const Trace& trace) {
  std::map<std::string, GroupEvents> groups;
  std::map<std::string, std::size_t> workers;  // by name: place of first occurrence
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    const auto step = may_be_server_event(id) ? step_of(id) : std::nullopt;
    const auto event = step ? server_event_of(id) : std::nullopt;
    if (!event) {
      continue;
    }
    const std::size_t worker =
        workers.try_emplace(std::string(event->worker), workers.size()).first->second;
    GroupEvents& group = groups[std::string(event->group)];
    Gradient& gradient = group.gradients[{*step, worker}];
    if (event->is_update) {
      gradient.applied = Moment{trace.ops[i].end, worker, false};
      group.updates.push_back(*gradient.applied);
    } else {
      gradient.pulled = Moment{answered(plan, trace, id_at<OpId>(i)), worker, true};
    }
  }
  return groups;
}

std::int64_t updates_before(const std::vector<Moment>& sorted, const Moment& moment) {
  return std::lower_bound(sorted.begin(), sorted.end(), moment) - sorted.begin();
}

// Until the first worker has applied its last: those that go on alone meet fewer updates.
Time all_work_until(const std::vector<Moment>& updates) {
  std::map<std::size_t, Time> last;  // by worker
  for (const Moment& update : updates) {
    last[update.worker] = std::max(last[update.worker], update.time);
  }
  const auto first_through = std::min_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return first_through == last.end() ? Time{} : first_through->second;
}

// When the first worker had applied its warm-up, all the others had applied something too or are
// too slow to be waited for.
Time warm_from(const GroupEvents& group, std::int64_t first_step) {
  std::optional<Time> from;
  for (const auto& [key, gradient] : group.gradients) {
    if (key.first + 1 == first_step && gradient.applied) {
      from = std::min(from.value_or(gradient.applied->time), gradient.applied->time);
    }
  }
  return from.value_or(Time{-1});
}

class Tally {
 public:
  void add(std::int64_t staleness) {
    out_.max = std::max(out_.max, staleness);
    out_.histogram.resize(static_cast<std::size_t>(out_.max) + 1);
    ++out_.histogram[static_cast<std::size_t>(staleness)];
    sum_ += staleness;
    ++count_;
  }
  [[nodiscard]] Staleness finish() && {
    out_.mean = count_ > 0 ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
    return std::move(out_);
  }

 private:
  Staleness out_;
  std::int64_t count_ = 0;
  std::int64_t sum_ = 0;
};

// What one stage does with the micro-batches, by step and the rest of the name: "mb2".
struct StagePasses {
  struct Pass {
    std::optional<Time> forward;  // where it begins
    std::optional<Time> update;   // where it ends
  };
  std::map<std::pair<std::int64_t, std::string_view>, Pass> of;
};

// "mb2" of "forward/layer3/mb2" and of "update/mb2"; "" where a step has one only.
std::string_view micro_batch_in(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return last.starts_with("mb") ? last : std::string_view();
}

bool is_stage_update(std::string_view name) {
  return name == "update" || name.starts_with("update/mb");
}

// One update of a stage has no other to come between: what large plans can be spared.
bool has_stage_with_two_updates(const Plan& plan) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    if (after_step(id).starts_with("update") && is_stage_update(name_within_step(id)) &&
        !seen.insert(id.substr(id.rfind('@'))).second) {
      return true;
    }
  }
  return false;
}

std::map<std::string_view, StagePasses> passes_by_stage(const Plan& plan, const Trace& trace) {
  std::map<std::string_view, StagePasses> stages;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    const std::string_view name = name_within_step(id);
    const auto step = step_of(id);
    const bool is_forward =
        name.starts_with("forward/") && plan.kind(id_at<OpId>(i)) == OpKind::kCompute;
    const bool is_update = is_stage_update(name);
    if (!step || (!is_forward && !is_update)) {
      continue;
    }
    StagePasses& stage = stages[id.substr(id.rfind('@') + 1)];
    StagePasses::Pass& pass = stage.of[{*step, micro_batch_in(name)}];
    if (is_update) {
      pass.update = trace.ops[i].end;
    } else {
      pass.forward = std::min(pass.forward.value_or(trace.ops[i].start), trace.ops[i].start);
    }
  }
  return stages;
}

// Those of the stage that end after the forward pass has begun, but for the last, its own.
std::int64_t updates_within(const std::vector<Time>& sorted, const StagePasses::Pass& pass) {
  return std::lower_bound(sorted.begin(), sorted.end(), *pass.update) -
         std::upper_bound(sorted.begin(), sorted.end(), *pass.forward);
}

}  // namespace

bool workers_are_independent(const Plan& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    const bool may_be = may_be_server_event(id) && step_of(id);
    const auto event = may_be ? server_event_of(id) : std::nullopt;
    if (event && event->is_update) {
      return true;
    }
  }
  return false;
}

Staleness server_staleness(const Plan& plan, const Trace& trace, std::int64_t first_step) {
  Tally tally;
  for (auto& [name, group] : events_by_group(plan, trace)) {
    std::sort(group.updates.begin(), group.updates.end());
    const Time from = warm_from(group, first_step);
    const Time until = all_work_until(group.updates);
    for (const auto& [key, gradient] : group.gradients) {
      const bool is_cold = key.first < std::min<std::int64_t>(first_step, 1);
      if (is_cold || !gradient.pulled || !gradient.applied || gradient.applied->time <= from ||
          gradient.applied->time > until) {
        continue;
      }
      // A worker's own updates are never between: it pulls after the last and before the next.
      tally.add(updates_before(group.updates, *gradient.applied) -
                updates_before(group.updates, *gradient.pulled));
    }
  }
  return std::move(tally).finish();
}

Staleness pipeline_staleness(const Plan& plan, const Trace& trace, std::int64_t first_step) {
  if (!has_stage_with_two_updates(plan)) {
    return {};
  }
  Tally tally;
  for (const auto& [name, stage] : passes_by_stage(plan, trace)) {
    std::vector<Time> updates;
    for (const auto& [key, pass] : stage.of) {
      if (pass.update) {
        updates.push_back(*pass.update);
      }
    }
    std::sort(updates.begin(), updates.end());
    for (const auto& [key, pass] : stage.of) {
      if (key.first >= first_step && pass.forward && pass.update) {
        tally.add(updates_within(updates, pass));
      }
    }
  }
  Staleness found = std::move(tally).finish();
  return found.max > 0 ? found : Staleness{};
}

}  // namespace twinrun
