#include "core/strategy/server_sync.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/strategy/collective_server.h"
#include "core/strategy/detail/server_side.h"
#include "core/strategy/detail/server_traffic.h"

namespace twinrun {

ServerSync::ServerSync(StepBuilder& steps, const ServerSites& sites)
    : steps_(steps),
      traffic_(std::make_unique<ServerTraffic>(steps, sites)),
      block_of_layer_(steps.model().layers.size()) {
  const std::vector<Block>& blocks = steps.model().blocks;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    for (std::size_t i = 0; i < blocks[block].layer_count; ++i) {
      block_of_layer_[blocks[block].first_layer + i] = block;
    }
  }
}

ServerSync::~ServerSync() = default;

void ServerSync::begin_step(const RankStep& at) {
  const std::vector<ShardTransfer>& transfers =
      traffic_->families()[traffic_->family_of(at)].transfers;
  pulls_.clear();
  missing_.clear();
  for (const ShardTransfer& transfer : transfers) {
    missing_.push_back(transfer.layers.size());
  }
  ready_.assign(transfers.size(), no_id<OpId>());
  next_ = 0;
  for (std::size_t i = transfers.size(); i-- > 0;) {
    pull(at, i);
  }
}

void ServerSync::pull(const RankStep& at, std::size_t number) {
  const std::size_t family = traffic_->family_of(at);
  const ShardTransfer& transfer = traffic_->families()[family].transfers[number];
  const DeviceId peer = traffic_->peer_of(at.rank, transfer);
  const bool in_machine = traffic_->sums_in_machines();
  const std::string id = steps_.id(at, fmt::format("{}/{}", in_machine ? "pull-copy" : "pull",
                                                   traffic_->name_of(family, transfer)));
  const StreamId stream = steps_.stream(at.rank, fmt::format("pull-server{}", transfer.server));
  const OpId op =
      peer == steps_.device(at.rank)
          ? steps_.plan().add_marker(id, stream)
          : steps_.plan().add_recv(id, stream,
                                   {peer, traffic_->bytes_of(transfer),
                                    traffic_->tag_of(family, transfer, true, in_machine)});
  traffic_->pulled(at.step, family, number, at.replica) = op;
  if (steps_.payloads().wanted()) {
    Payload payload = traffic_->payload_of(family, transfer, Store::kParameters);
    const bool is_here = peer == steps_.device(at.rank);
    payload.verb = is_here ? Verb::kCopy : Verb::kMove;
    payload.source = Store::kServerParameters;
    steps_.set_payload(op, payload);
  }
  for (const std::size_t layer : transfer.layers) {
    std::vector<OpId>& of_block = pulls_[block_of_layer_[layer]];
    if (of_block.empty() || of_block.back() != op) {
      of_block.push_back(op);
    }
  }
}

// Without overlap the first block waits for all weights.
std::vector<OpId> ServerSync::before_block(const RankStep&, std::size_t block, Pass pass) {
  std::vector<OpId> wait;
  if (pass != Pass::kForward) {
    return wait;
  }
  const bool waits_for_all = !steps_.job().parallelism.overlap;
  for (auto& [of_block, ops] : pulls_) {
    if (of_block == block || waits_for_all) {
      wait.insert(wait.end(), ops.begin(), ops.end());
      ops.clear();
    }
  }
  std::sort(wait.begin(), wait.end());
  wait.erase(std::unique(wait.begin(), wait.end()), wait.end());
  return wait;
}

void ServerSync::gradients_ready(const RankStep& at,
                                 const std::vector<std::size_t>& layers,
                                 OpId op) {
  const ServerFamily& family = traffic_->families()[traffic_->family_of(at)];
  for (const std::size_t layer : layers) {
    for (const std::size_t transfer : family.of_layer.at(layer)) {
      --missing_[transfer];
      ready_[transfer] = op;
    }
  }
  last_ready_ = op;
  if (steps_.job().parallelism.overlap) {
    push_complete(at);
  }
}

void ServerSync::push_complete(const RankStep& at) {
  for (; next_ < missing_.size() && missing_[next_] == 0; ++next_) {
    push(at, next_, steps_.job().parallelism.overlap ? ready_[next_] : last_ready_);
  }
}

void ServerSync::push(const RankStep& at, std::size_t number, OpId ready) {
  const std::size_t family = traffic_->family_of(at);
  const ShardTransfer& transfer = traffic_->families()[family].transfers[number];
  const DeviceId peer = traffic_->peer_of(at.rank, transfer);
  OpId op = ready;
  if (peer != steps_.device(at.rank)) {
    const bool in_machine = traffic_->sums_in_machines();
    op = steps_.plan().add_send(
        steps_.id(at, fmt::format("push/{}", traffic_->name_of(family, transfer))),
        steps_.stream(at.rank, fmt::format("push-server{}", transfer.server)),
        {peer, traffic_->bytes_of(transfer),
         traffic_->tag_of(family, transfer, false, in_machine)});
    steps_.plan().depend(op, ready);
    if (steps_.payloads().wanted()) {
      steps_.set_payload(op, traffic_->payload_of(family, transfer, Store::kGradients));
    }
  }
  traffic_->pushed(at.step, family, number, at.replica) = op;
}

std::vector<OpId> ServerSync::reduced(const RankStep& at) {
  push_complete(at);
  return {};
}

void ServerSync::finish() { ServerSide(steps_, *traffic_).emit(); }

std::unique_ptr<GradientSync> make_server_sync(StepBuilder& steps, bool sums_in_machines) {
  if (steps.job().server.transport == ServerTransport::kCollectives) {
    return std::make_unique<CollectiveServer>(steps);
  }
  std::optional<ServerSites> sites =
      server_sites(steps.job(), steps.topology(), steps.layout(), steps.diagnostics());
  if (!sites) {
    return std::make_unique<GradientSync>();
  }
  if (sums_in_machines) {
    sum_in_machines(steps.job(), steps.topology(), steps.layout(), *sites);
  }
  return std::make_unique<ServerSync>(steps, *sites);
}

void set_server_warmup(StepBuilder& steps) {
  const Server& server = steps.job().server;
  const std::int64_t wanted = server.mode == ServerMode::kAsync ? 2
                              : server.mode == ServerMode::kBounded
                                  ? std::max<std::int64_t>(2, server.staleness + 1)
                                  : 0;
  steps.set_warmup_steps(std::min(wanted, std::max<std::int64_t>(steps.steps() - 1, 0)));
}

}  // namespace twinrun
