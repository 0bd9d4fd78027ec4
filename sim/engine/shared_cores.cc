#include "sim/engine/shared_cores.h"

#include <cmath>

namespace twinrun::sim {

SharedCores::SharedCores(const Topology& topology, double cores)
    : topology_(topology), cores_(cores) {}

SharedLinks SharedCores::with_links(SharedLinks links) {
  for (const Topology::CoreGroup& group : topology_.core_groups()) {
    const double count = cores_ > 0 ? cores_ : group.cores;
    link_of_group_.push_back(links.add({count * group.moves.bytes_per_s}));
  }
  return links;
}

std::optional<SharedCores::Task> SharedCores::task(VertexId device, Time work) const {
  const auto number = topology_.core_group(device);
  if (!number) {
    return std::nullopt;
  }
  const Bandwidth moves = topology_.core_groups()[*number].moves;
  const double bytes = std::ceil(to_seconds(work) * moves.bytes_per_s);
  return Task{link_of_group_[*number], {static_cast<std::int64_t>(bytes)}, moves};
}

Time SharedCores::wake(VertexId device) const {
  const auto number = empty() ? std::nullopt : topology_.core_group(device);
  return number ? topology_.core_groups()[*number].wake : Time{};
}

std::span<const LinkId> SharedCores::with_cores(std::span<const LinkId> links,
                                                VertexId from,
                                                VertexId to) {
  scratch_.assign(links.begin(), links.end());
  const auto cost = [&](VertexId end, bool is_receiver) {
    const auto number = topology_.core_group(end);
    if (number && (is_receiver || topology_.core_groups()[*number].moved_by == MovedBy::kBoth)) {
      scratch_.push_back(link_of_group_[*number]);
    }
  };
  cost(from, false);
  cost(to, true);
  return scratch_;
}

}  // namespace twinrun::sim
