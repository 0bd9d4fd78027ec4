#include "sim/memory_meter.h"

namespace twinrun::sim {

MemoryMeter::MemoryMeter(const Plan& plan)
    : plan_(plan), now_(plan.device_count()), peaks_(plan.device_count()) {}

void MemoryMeter::apply(OpId op, MemoryWhen when, Time now) {
  const std::span<const MemoryEffect> effects = plan_.memory_effects(op);
  if (effects.empty()) {
    return;
  }
  const std::size_t device = index_of(plan_.device(op));
  Now& held = now_[device];
  for (const MemoryEffect& effect : effects) {
    if (effect.when() == when) {
      held.total += effect.bytes().count;
      held.parts[static_cast<std::size_t>(effect.part())].count += effect.bytes().count;
    }
  }
  // Looked at after all effects of the op: what it gives back and takes at once is no peak.
  if (held.total > peaks_[device].peak.count) {
    peaks_[device] = {{held.total}, op, now, held.parts};
  }
}

}  // namespace twinrun::sim
