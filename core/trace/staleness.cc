#include "core/trace/staleness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

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
  const std::string_view name = name_within_step(id);
  if (name.starts_with(kPull)) {
    return ServerEvent{false, name.substr(kPull.size()), id.substr(id.rfind('@') + 1)};
  }
  const std::size_t slash = name.rfind('/');
  if (name.starts_with(kUpdate) && slash >= kUpdate.size()) {
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
bool may_be_server_event(std::string_view id) {
  const std::string_view rest = id.substr(std::min(id.size(), id.find('/') + 1));
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

}  // namespace

Staleness server_staleness(const Plan& plan, const Trace& trace, std::int64_t first_step) {
  Staleness out;
  std::int64_t count = 0;
  std::int64_t sum = 0;
  for (auto& [name, group] : events_by_group(plan, trace)) {
    std::sort(group.updates.begin(), group.updates.end());
    for (const auto& [key, gradient] : group.gradients) {
      if (key.first < first_step || !gradient.pulled || !gradient.applied) {
        continue;
      }
      // A worker's own updates are never between: it pulls after the last and before the next.
      const std::int64_t stale = updates_before(group.updates, *gradient.applied) -
                                 updates_before(group.updates, *gradient.pulled);
      out.max = std::max(out.max, stale);
      out.histogram.resize(static_cast<std::size_t>(out.max) + 1);
      ++out.histogram[static_cast<std::size_t>(stale)];
      sum += stale;
      ++count;
    }
  }
  out.mean = count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
  return out;
}

}  // namespace twinrun
