#include "core/strategy/input_feed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr auto kNoFeed = static_cast<std::size_t>(-1);

Time seconds_up(double seconds) { return {static_cast<std::int64_t>(std::ceil(seconds * 1e12))}; }

}  // namespace

InputFeed::InputFeed(StepBuilder& steps)
    : steps_(steps),
      feed_of_(steps.layout().ranks(), kNoFeed),
      ready_(steps.layout().ranks()),
      last_(steps.layout().ranks(), no_id<OpId>()),
      begun_(steps.layout().ranks(), -1),
      is_copied_(steps.layout().ranks(), false) {
  steps.keep_batches(steps.job().input.prefetch + 1);
  find_feeds();
  for (std::int64_t step = 0; step < steps.steps(); ++step) {
    for (Feed& feed : feeds_) {
      emit(feed, step);
    }
  }
}

void InputFeed::find_feeds() {
  std::map<std::pair<NodeId, std::int64_t>, std::size_t> known;  // by machine and replica
  for (std::size_t rank = 0; rank < steps_.layout().ranks(); ++rank) {
    const RankStep at = steps_.at(rank, 0);
    if (at.stage != 0) {
      continue;
    }
    const NodeId node = steps_.topology().node_of(steps_.layout().devices[rank]);
    const auto [feed, is_new] = known.try_emplace({node, at.replica}, feeds_.size());
    if (is_new) {
      feeds_.emplace_back();
    }
    feeds_[feed->second].ranks.push_back(rank);
    feed_of_[rank] = feed->second;
  }
}

// The first CPU of a machine stands for its storage and its decoding; the rank where there is none.
DeviceId InputFeed::machine_of(std::size_t rank) {
  const Topology& topology = steps_.topology();
  const NodeId node = topology.node_of(steps_.layout().devices[rank]);
  const auto cpus = topology.shape(node).of_kind(VertexKind::kCpu);
  return cpus.empty() ? steps_.device(rank)
                      : steps_.device_at(topology.vertex_in(node, cpus.front()));
}

double InputFeed::decode_samples_per_s(std::size_t rank) const {
  const InputPipeline& input = steps_.job().input;
  std::int64_t cores = input.decode_cores;
  if (cores == 0) {
    const Topology& topology = steps_.topology();
    const NodeId node = topology.node_of(steps_.layout().devices[rank]);
    for (const std::uint32_t local : topology.shape(node).of_kind(VertexKind::kCpu)) {
      const DeviceSpec* const cpu = topology.device(topology.vertex_in(node, local));
      cores += cpu == nullptr ? 0 : cpu->cores;
    }
  }
  return static_cast<double>(std::max<std::int64_t>(cores, 1)) * input.decode_samples_per_core;
}

void InputFeed::emit(Feed& feed, std::int64_t step) {
  const InputPipeline& input = steps_.job().input;
  const std::size_t rank = feed.ranks.front();
  const RankStep at = steps_.at(rank, step);
  const std::int64_t samples = steps_.layout().local_batch;
  const std::int64_t element = stored_bytes(steps_.job().training.dtype);
  const std::int64_t on_device = steps_.model().inputs * element;
  const DeviceId machine = machine_of(rank);
  PlanBuilder& plan = steps_.plan();
  feed.first.emplace_back();
  OpId last = no_id<OpId>();
  if (input.storage_bandwidth) {
    const std::int64_t stored = input.sample_bytes > 0 ? input.sample_bytes : on_device;
    chain(feed, last,
          plan.add_host(steps_.id(at, "input/read"), plan.stream(machine, "storage"),
                        transfer_time({samples * stored}, *input.storage_bandwidth)));
  }
  if (input.decode_samples_per_core > 0) {
    chain(feed, last,
          plan.add_host(steps_.id(at, "input/decode"), plan.stream(machine, "decode"),
                        seconds_up(static_cast<double>(samples) / decode_samples_per_s(rank))));
  }
  const OpId decoded = last;
  for (const std::size_t to : feed.ranks) {
    const VertexId vertex = steps_.layout().devices[to];
    const VertexId host = steps_.host_of(vertex);
    last = decoded;
    if (host != no_id<VertexId>() && host != vertex) {
      chain(feed, last,
            plan.add_copy(steps_.id(steps_.at(to, step), "input/copy"),
                          plan.stream(steps_.device_at(host), fmt::format("input-rank{}", to)),
                          steps_.device(to), {samples * on_device}));
      Payload payload =
          Payloads::rows(Store::kSamples, 0, {at.replica * samples, (at.replica + 1) * samples});
      payload.verb = Verb::kCopy;
      payload.target = Store::kBatches;
      steps_.set_payload(last, payload);
      is_copied_[to] = true;
    }
    ready_[to].push_back(last);
  }
}

void InputFeed::chain(Feed& feed, OpId& last, OpId op) {
  if (last != no_id<OpId>()) {
    steps_.plan().depend(op, last);
  } else {
    feed.first.back().push_back(op);
  }
  last = op;
}

// The first micro-batch of a step waits; the others come after it anyway.
std::vector<OpId> InputFeed::before_block(const RankStep& at,
                                          std::size_t block,
                                          Pass pass,
                                          std::string_view /*micro*/) {
  const bool is_first = feed_of_[at.rank] != kNoFeed && block == 0 && pass == Pass::kForward &&
                        at.step > begun_[at.rank];
  if (!is_first) {
    return {};
  }
  begun_[at.rank] = at.step;
  allow_batch(at);
  const OpId ready = ready_[at.rank][static_cast<std::size_t>(at.step)];
  return ready == no_id<OpId>() ? std::vector<OpId>() : std::vector<OpId>{ready};
}

void InputFeed::allow_batch(const RankStep& at) {
  const std::vector<std::vector<OpId>>& first = feeds_[feed_of_[at.rank]].first;
  const auto batch = static_cast<std::size_t>(at.step + steps_.job().input.prefetch);
  if (last_[at.rank] == no_id<OpId>() || batch >= first.size()) {
    return;
  }
  for (const OpId op : first[batch]) {
    steps_.plan().depend(op, last_[at.rank]);
  }
}

void InputFeed::after_block(const RankStep& at,
                            std::size_t /*block*/,
                            Pass /*pass*/,
                            std::string_view /*micro*/,
                            OpId last) {
  last_[at.rank] = last;
}

void InputFeed::step_ended(const RankStep& at, OpId last) { last_[at.rank] = last; }

}  // namespace twinrun
