#include "sim/flows.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "core/topology/router.h"
#include "sim/net/max_min.h"
#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

class FlowRun {
 public:
  FlowRun(const Topology& topology,
          std::span<const FlowRequest> requests,
          std::size_t window,
          FlowNetwork& network)
      : topology_(topology),
        requests_(requests),
        window_(window),
        network_(network),
        router_(topology),
        order_(requests.size()) {
    results_.flows.resize(requests.size());
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    if (window == 0) {
      std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return requests[a].start < requests[b].start;
      });
    }
  }

  FlowResults run() {
    Time now{};
    start_due(now);
    std::vector<FlowId> finished;
    while (true) {
      const std::optional<Time> event = network_.next_event();
      const bool waits = window_ == 0 && next_ < order_.size();
      if (!event && !waits) {
        break;
      }
      const Time start = waits ? requests_[order_[next_]].start : kEndOfTime;
      now = std::min(event.value_or(kEndOfTime), start);
      if (now == kEndOfTime) {
        throw CannotRun(
            fmt::format("the flows take longer than {}, which is as far as the clock goes",
                        to_text(kEndOfTime)));
      }
      finished.clear();
      network_.advance_to(now, finished);
      for (const FlowId flow : finished) {
        results_.flows[index_of(flow)].end = now;
        --in_flight_;
      }
      start_due(now);
    }
    summarize();
    return std::move(results_);
  }

 private:
  [[nodiscard]] bool is_due(Time now) const {
    return next_ < order_.size() &&
           (window_ > 0 ? in_flight_ < window_ : requests_[order_[next_]].start <= now);
  }

  void start_due(Time now) {
    for (; is_due(now); ++next_) {
      const std::uint32_t flow = order_[next_];
      const FlowRequest& request = requests_[flow];
      if (!router_.links(request.from, request.to, flow, route_)) {
        throw CannotRun(fmt::format("there is no way from {} to {} in {}",
                                    topology_.name(request.from), topology_.name(request.to),
                                    topology_.name()));
      }
      network_.start(id_at<FlowId>(flow), route_, request.bytes, now);
      results_.flows[flow].start = now;
      ++in_flight_;
    }
  }

  void summarize() {
    double sum = 0;  // of whole picoseconds, so mostly exact
    for (const FlowTimes& flow : results_.flows) {
      results_.makespan = std::max(results_.makespan, flow.end);
      sum += static_cast<double>(flow.end.ps);
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, results_.flows.size()));
    results_.mean_completion_s = sum / count / 1e12;
  }

  const Topology& topology_;
  std::span<const FlowRequest> requests_;
  std::size_t window_;
  FlowNetwork& network_;
  Router router_;
  std::vector<LinkId> route_;
  std::vector<std::uint32_t> order_;  // of starting
  std::size_t next_ = 0;              // in order_
  std::size_t in_flight_ = 0;
  FlowResults results_;
};

}  // namespace

FlowResults simulate_flows(const Topology& topology,
                           std::span<const FlowRequest> requests,
                           std::size_t window,
                           FlowNetwork& network) {
  return FlowRun(topology, requests, window, network).run();
}

FlowResults simulate_flows(const Topology& topology,
                           std::span<const FlowRequest> requests,
                           std::size_t window) {
  MaxMin network(shared_links(topology));
  return simulate_flows(topology, requests, window, network);
}

}  // namespace twinrun::sim
