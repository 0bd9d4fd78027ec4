#include "core/trace/phases.h"

#include "core/trace/device_use.h"
#include "core/trace/steps.h"

namespace twinrun {
namespace {

bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != std::string_view::npos;
       at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || name[at - 1] == '/') && (end == name.size() || name[end] == '/')) {
      return true;
    }
  }
  return false;
}

Phase phase_of_compute(std::string_view name) {
  if (has_part(name, "update")) {
    return Phase::kUpdate;
  }
  if (has_part(name, "recompute")) {
    return Phase::kRecompute;
  }
  if (name.starts_with("forward")) {
    return Phase::kForward;
  }
  return name.starts_with("backward") ? Phase::kBackward : Phase::kOtherCompute;
}

}  // namespace

Phase phase_of(const Plan& plan, OpId op) {
  const OpKind kind = plan.kind(op);
  const std::string_view name = name_within_step(plan.id(op));
  if (kind == OpKind::kMarker) {
    return Phase::kMarker;
  }
  if (name.starts_with("input/")) {
    return Phase::kInput;
  }
  if (kind == OpKind::kCompute) {
    return phase_of_compute(name);
  }
  return is_communication(kind) ? Phase::kCommunication : Phase::kHost;
}

}  // namespace twinrun
