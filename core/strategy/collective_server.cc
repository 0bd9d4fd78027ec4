#include "core/strategy/collective_server.h"

#include <utility>

#include <fmt/format.h>

#include "core/strategy/tied_weights.h"

namespace twinrun {

CollectiveServer::CollectiveServer(StepBuilder& steps)
    : steps_(steps), is_sharded_(steps.job().server.count.value_or(1) > 1) {
  const Server& server = steps.job().server;
  if (server.mode != ServerMode::kSync) {
    steps.diagnostics().error("E0909", place_in(steps.job(), "/server/mode"),
                              "servers made of collectives wait for all workers",
                              "\"mode\": \"sync\", or \"transport\": \"messages\"");
  }
  if (server.placement.value_or(ServerSite::kGpu0) != ServerSite::kGpu0) {
    steps.diagnostics().error("E0909", place_in(steps.job(), "/server/placement"),
                              "servers made of collectives are ranks themselves",
                              "\"placement\": \"gpu0\", or \"transport\": \"messages\"");
  }
  if (is_sharded_ && *server.count != steps.layout().replicas) {
    steps.diagnostics().error(
        "E0909", place_in(steps.job(), "/server/count"),
        fmt::format("{} servers made of collectives among {} replicas", *server.count,
                    steps.layout().replicas),
        fmt::format("1, or {}: one on every replica", steps.layout().replicas));
  }
}

void CollectiveServer::begin_step(const RankStep& at) {
  if (at.step == 0) {
    weights_.clear();
  }
}

std::vector<OpId> CollectiveServer::before_block(const RankStep&, std::size_t, Pass pass) {
  return pass == Pass::kForward ? std::exchange(weights_, {}) : std::vector<OpId>();
}

void CollectiveServer::gradients_ready(const RankStep&, const std::vector<std::size_t>&, OpId op) {
  last_ready_ = op;
}

std::int64_t CollectiveServer::share_of(std::int64_t parameters) const {
  const std::int64_t replicas = steps_.layout().replicas;
  return is_sharded_ ? (parameters + replicas - 1) / replicas : parameters;
}

OpId CollectiveServer::add(const RankStep& at, CollectiveKind kind, OpId after) {
  const Dtype dtype = steps_.job().training.dtype;
  const std::size_t root = steps_.layout().rank(0, at.stage, at.tensor);
  const OpId op = steps_.plan().add_collective(
      steps_.id(at, fmt::format("{}/server-s{}t{}", name_of(kind), at.stage, at.tensor)),
      steps_.stream(at.rank, "dp"),
      {.kind = kind,
       .group = steps_.replica_group(at),
       .bytes = {steps_.parameters_on(at) * stored_bytes(dtype)},
       .algorithm = "auto",
       .dtype = dtype,
       .root = has_root(kind) ? steps_.device(root) : no_id<DeviceId>()});
  steps_.plan().depend(op, after);
  const bool gathers = kind == CollectiveKind::kReduce || kind == CollectiveKind::kAllToAll;
  const Store store = gathers ? Store::kGradients : Store::kParameters;
  say_what(at, op, Verb::kMove, store, kind == CollectiveKind::kAllToAll ? Store::kArrived : store);
  return op;
}

// Of sharded servers, each has its share of the elements.
void CollectiveServer::say_what(
    const RankStep& at, OpId op, Verb verb, Store source, Store target) {
  if (!steps_.payloads().wanted()) {
    return;
  }
  Payload payload = Payloads::elements(verb, source, target, at.tensor, steps_.elements_on(at));
  if (is_sharded_) {
    payload.shares = static_cast<std::uint32_t>(steps_.layout().replicas);
    payload.share = static_cast<std::uint32_t>(at.replica);
  }
  steps_.set_payload(op, payload);
}

// Adds up what came from every replica: each is read once, the sum written.
OpId CollectiveServer::sum_shares(const RankStep& at, std::int64_t share, OpId after) {
  const Dtype dtype = steps_.job().training.dtype;
  const std::int64_t replicas = steps_.layout().replicas;
  const OpId sum =
      steps_.plan().add_compute(steps_.id(at, "server/sum"), steps_.stream(at.rank, "compute"),
                                {static_cast<double>(share * (replicas - 1)),
                                 {share * (replicas + 1) * stored_bytes(dtype)},
                                 dtype,
                                 std::nullopt});
  steps_.plan().depend(sum, after);
  say_what(at, sum, Verb::kAdd, Store::kArrived, Store::kServerSums);
  return sum;
}

// Where stages share a tensor, the servers of both have to know the other's gradient.
OpId CollectiveServer::update(const RankStep& at, std::int64_t share, OpId arrived) {
  std::vector<OpId> after =
      sum_tied_gradients(steps_, at, is_sharded_ ? steps_.layout().replicas : 1, {arrived});
  after.push_back(arrived);
  const OpId op = steps_.add_update(at, share, after);
  const bool is_summed = is_sharded_ && steps_.layout().replicas > 1;
  say_what(at, op, Verb::kUpdate, is_summed ? Store::kServerSums : Store::kGradients,
           Store::kParameters);
  return op;
}

std::vector<OpId> CollectiveServer::reduced(const RankStep& at) {
  const std::int64_t share = share_of(steps_.parameters_on(at));
  if (steps_.layout().replicas == 1) {
    update(at, share, last_ready_);
    return {};
  }
  OpId arrived =
      add(at, is_sharded_ ? CollectiveKind::kAllToAll : CollectiveKind::kReduce, last_ready_);
  if (is_sharded_) {
    arrived = sum_shares(at, share, arrived);
  }
  const bool serves = is_sharded_ || at.replica == 0;
  const OpId updated = serves ? update(at, share, arrived) : arrived;
  weights_ = {
      add(at, is_sharded_ ? CollectiveKind::kAllGather : CollectiveKind::kBroadcast, updated)};
  return {};
}

}  // namespace twinrun
