#include "sim/collective/uncontended.h"

#include <algorithm>

namespace twinrun::sim {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

// Who may have a link to itself: the participants that every message over it has in common.
struct Claim {
  std::uint32_t a = kNobody;
  std::uint32_t b = kNobody;
  std::uint32_t step = kNobody;  // of the last message

  // False when a message meets another one, or might.
  bool admit(std::uint32_t from, std::uint32_t to, std::uint32_t now) {
    if (step == kNobody) {
      a = from;
      b = to;
    } else if (step == now) {
      return false;
    } else {
      a = a == from || a == to ? a : kNobody;
      b = b == from || b == to ? b : kNobody;
    }
    step = now;
    return a != kNobody || b != kNobody;
  }
};

class Run {
 public:
  Run(const CollectiveSchedule& schedule,
      std::span<const VertexId> participants,
      RouteCache& routes,
      const Topology& topology)
      : schedule_(schedule),
        participants_(participants),
        routes_(routes),
        topology_(topology),
        claims_(topology.link_count()),
        last_(participants.size()),
        next_ps_(participants.size(), 0) {
    out_.end_ps.assign(participants.size(), 0);
    out_.link_bytes.assign(topology.link_count(), 0);
  }

  std::optional<UncontendedRun> run() {
    const std::uint32_t steps = schedule_.steps();
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::uint32_t rank = 0; rank < participants_.size(); ++rank) {
        if (!run_step(rank, step)) {
          return std::nullopt;
        }
      }
      out_.end_ps = next_ps_;
    }
    return std::move(out_);
  }

 private:
  struct LastRoute {
    std::uint32_t peer = kNobody;
    CachedRoute route;
  };

  bool run_step(std::uint32_t rank, std::uint32_t step) {
    schedule_.transfers(rank, step, transfers_);
    for (const Transfer& send : transfers_.sends) {
      const CachedRoute& route = route_to(rank, send.peer);
      const auto bytes = static_cast<double>(send.from.size());
      for (const LinkId link : routes_.links(route)) {
        out_.link_bytes[index_of(link)] += bytes;
        if (!claims_[index_of(topology_.capacity_owner(link))].admit(rank, send.peer, step)) {
          return false;
        }
      }
      const double start = std::max(out_.end_ps[rank], out_.end_ps[send.peer]);
      const double drain = route.bytes_per_ps > 0 ? bytes / route.bytes_per_ps : 0;
      const double end = start + static_cast<double>(route.latency_ps) + drain;
      next_ps_[rank] = std::max(next_ps_[rank], end);
      next_ps_[send.peer] = std::max(next_ps_[send.peer], end);
      ++out_.messages;
    }
    return true;
  }

  // Most schedules send to the same peer again and again.
  const CachedRoute& route_to(std::uint32_t rank, std::uint32_t peer) {
    LastRoute& last = last_[rank];
    if (last.peer != peer) {
      last = {peer, routes_.find(participants_[rank], participants_[peer])};
    }
    return last.route;
  }

  const CollectiveSchedule& schedule_;
  std::span<const VertexId> participants_;
  RouteCache& routes_;
  const Topology& topology_;
  std::vector<Claim> claims_;  // by link
  std::vector<LastRoute> last_;
  std::vector<double> next_ps_;
  StepTransfers transfers_;
  UncontendedRun out_;
};

}  // namespace

std::optional<UncontendedRun> run_uncontended(const CollectiveSchedule& schedule,
                                              std::span<const VertexId> participants,
                                              RouteCache& routes,
                                              const Topology& topology) {
  return Run(schedule, participants, routes, topology).run();
}

}  // namespace twinrun::sim
