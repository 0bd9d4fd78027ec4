#include "sim/collective/profile.h"

#include <algorithm>

namespace twinrun::sim {
namespace {

class Profiler {
 public:
  explicit Profiler(const Topology& topology)
      : topology_(topology), of_step_(topology.link_count()), total_(topology.link_count()) {}

  void message(std::span<const LinkId> links, std::int64_t latency_ps, double bytes) {
    step_latency_ps_ = std::max(step_latency_ps_, latency_ps);
    for (const LinkId link : links) {
      const std::size_t owner = index_of(topology_.capacity_owner(link));
      if (of_step_[owner] == 0) {
        touched_.push_back(owner);
      }
      of_step_[owner] += bytes;
    }
  }

  void end_step() {
    double slowest_ps = 0;
    for (const std::size_t owner : touched_) {
      const double rate = topology_.bandwidth(id_at<LinkId>(owner)).bytes_per_s * 1e-12;
      slowest_ps = std::max(slowest_ps, of_step_[owner] / rate);
      total_[owner] += of_step_[owner];
      of_step_[owner] = 0;
    }
    touched_.clear();
    out_.latency = out_.latency + Time{step_latency_ps_};
    out_.lockstep_ps += static_cast<double>(step_latency_ps_) + slowest_ps;
    step_latency_ps_ = 0;
  }

  ScheduleProfile finish() {
    for (std::size_t owner = 0; owner < total_.size(); ++owner) {
      if (total_[owner] > 0) {
        out_.loads.push_back({id_at<LinkId>(owner), total_[owner]});
      }
    }
    return std::move(out_);
  }

 private:
  const Topology& topology_;
  std::vector<double> of_step_;  // bytes by capacity, in this step
  std::vector<double> total_;
  std::vector<std::size_t> touched_;
  std::int64_t step_latency_ps_ = 0;
  ScheduleProfile out_;
};

}  // namespace

ScheduleProfile profile(const CollectiveSchedule& schedule,
                        std::span<const VertexId> participants,
                        RouteCache& routes,
                        const Topology& topology) {
  Profiler profiler(topology);
  StepTransfers transfers;
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    for (std::uint32_t rank = 0; rank < schedule.participants(); ++rank) {
      schedule.transfers(rank, step, transfers);
      for (const Transfer& send : transfers.sends) {
        const CachedRoute& route = routes.find(participants[rank], participants[send.peer]);
        profiler.message(routes.links(route), route.latency_ps,
                         static_cast<double>(send.from.size()));
      }
    }
    profiler.end_step();
  }
  return profiler.finish();
}

}  // namespace twinrun::sim
