#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "core/model/ddp_buckets.h"
#include "core/strategy/detail/builders.h"
#include "core/strategy/detail/strategy_limits.h"
#include "core/strategy/optimizer_state.h"
#include "core/strategy/step_builder.h"

// PyTorch's nn.DataParallel: one process drives all GPUs of a machine. In every iteration GPU 0
// scatters the batch, broadcasts the model, gathers the outputs, computes the loss, scatters its
// gradient, and takes the sum of all gradients; only it updates:
//
//   python  launch 0 | launch 1 | …                          a layer of each replica in turn (GIL)
//   gpu0    scatter  broadcast  F  gather  loss  scatter  B  reduce  update
//   gpu1    recv     broadcast  F  send          recv     B  reduce
//
// Everything is on the GPUs' own streams, so nothing runs beside compute: the backward of the
// broadcast, which sums the gradients, is one node of the graph and waits for all of them.

namespace twinrun {
namespace {

constexpr std::int64_t kCoalesced = std::int64_t{10} << 20;  // bytes that broadcast and reduce join

// The module: the model up to its loss, which is outside of it.
Model without_loss(const Model& model) {
  Model body = model;
  if (body.layers.empty() || body.layers.back().kind != LayerKind::kLoss) {
    return body;
  }
  body.layers.pop_back();
  if (--body.blocks.back().layer_count == 0) {
    body.blocks.pop_back();
  }
  if (!body.layers.empty()) {
    body.blocks.back().boundary = body.layers.back().outputs;
  }
  return body;
}

class DataParallel {
 public:
  explicit DataParallel(StepBuilder& steps)
      : steps_(steps),
        body_(without_loss(steps.model())),
        replicas_(static_cast<std::size_t>(steps.layout().replicas)),
        element_(stored_bytes(steps.job().training.dtype)) {
    split_batch();
    if (body_.layers.size() < steps.model().layers.size()) {
      make_loss();
    }
    coalesce();
    const VertexId host = steps.host_of(steps.layout().devices.front());
    python_ = steps.plan().stream(
        host == no_id<VertexId>() ? steps.device(0) : steps.device_at(host), "python");
  }

  void emit() {
    hold_state();
    for (std::int64_t step = 0; step < steps_.steps(); ++step) {
      for (std::int64_t micro = 0; micro < steps_.layout().micro_batches; ++micro) {
        step_ = step;
        first_sample_ = micro * batch_;
        micro_ = steps_.layout().micro_batches > 1 ? fmt::format("/mb{}", micro) : std::string();
        iteration();
      }
      updated_ = steps_.add_update(at(0), parameters(), {});
      if (steps_.payloads().wanted()) {
        steps_.set_payload(
            updated_, Payloads::elements(Verb::kUpdate, Store::kGradients, Store::kParameters, 0,
                                         steps_.elements_on(at(0))));
      }
    }
  }

 private:
  [[nodiscard]] RankStep at(std::size_t rank) const { return steps_.at(rank, step_); }
  [[nodiscard]] std::int64_t parameters() const { return steps_.parameters_on(steps_.at(0, 0)); }
  [[nodiscard]] StreamId stream(std::size_t rank) { return steps_.stream(rank, "compute"); }
  [[nodiscard]] std::string id(std::string_view what, std::size_t rank) const {
    return steps_.id(at(rank), fmt::format("{}{}", what, micro_));
  }

  // torch.chunk: all parts as large as the first but the last.
  void split_batch() {
    const Layout& layout = steps_.layout();
    std::int64_t rest = layout.global_batch / layout.micro_batches;
    batch_ = rest;
    for (std::size_t rank = 0; rank < replicas_; ++rank) {
      samples_.push_back(std::min(rest, layout.micro_batch));
      rest -= samples_.back();
    }
    for (const std::int64_t samples : samples_) {
      if (passes_.find(samples) == passes_.end()) {
        ChunkPieces& pieces = passes_[samples] = pieces_for(samples);
        steps_.prepare(pieces.forward);
        steps_.prepare(pieces.backward);
      }
    }
  }

  [[nodiscard]] ChunkPieces pieces_for(std::int64_t samples) const {
    const Training& training = steps_.job().training;
    const std::vector<LayerWork> work =
        layer_work(body_, {samples, training.dtype, 1, false, fusion_of(training)});
    return chunk_pieces(body_, work, 0, body_.blocks.size(),
                        {training.recompute, false, false, training.dtype, samples});
  }

  // Tensors in the order of registration, joined until 10 MiB are reached. (The rule of DDP's
  // buckets, which takes them from the last to the first.)
  void coalesce() {
    std::vector<std::int64_t> tensors = tensors_of(steps_.model());
    std::reverse(tensors.begin(), tensors.end());
    for (const std::int64_t elements :
         ddp_buckets(tensors, {{kCoalesced}, {kCoalesced}, element_})) {
      chunks_.push_back({elements * element_});
      chunk_elements_.push_back(elements);
    }
  }

  void hold_state() {
    const Training& training = steps_.job().training;
    const StateBytes state = state_bytes(training.dtype, training.optimizer);
    Bytes largest{};
    for (const Bytes chunk : chunks_) {
      largest = std::max(largest, chunk);
    }
    for (std::size_t rank = 0; rank < replicas_; ++rank) {
      // GPU 0 has the sum of all gradients beside those of its own replica.
      const std::int64_t gradients = rank == 0 && replicas_ > 1 ? 2 : 1;
      steps_.hold(rank, MemoryPart::kParameters, {parameters() * state.weight});
      steps_.hold(rank, MemoryPart::kGradients, {gradients * parameters() * state.gradient});
      steps_.hold(rank, MemoryPart::kBuffers,
                  {steps_.buffers_on(steps_.at(0, 0)) * 4 + (replicas_ > 1 ? largest.count : 0)});
    }
    steps_.hold(0, MemoryPart::kOptimizer, {parameters() * state.optimizer});
  }

  void iteration() {
    exchange("scatter", true, body_.inputs, {Store::kSamples, Store::kActivations, 0});
    replicate();
    forward();
    const std::int64_t outputs = body_.layers.empty() ? 0 : body_.layers.back().outputs;
    const std::size_t end = body_.layers.size();
    const OpId first_output =
        exchange("gather", false, outputs, {Store::kActivations, Store::kActivations, end});
    steps_.set_pass_data({{first_sample_, first_sample_ + batch_}});
    const OpId loss = steps_.emit_pass(at(0), loss_, micro_, {}, nullptr, false);
    const OpId last_gradient =
        exchange("scatter-gradient", true, outputs,
                 {Store::kActivationGradients, Store::kActivationGradients, end});
    hold_outputs(first_output, last_gradient == no_id<OpId>() ? loss : last_gradient, outputs);
    for (std::size_t rank = 0; rank < replicas_; ++rank) {
      set_pass_data(rank);
      steps_.emit_pass(at(rank), passes_.at(samples_[rank]).backward, micro_, {}, nullptr, false);
    }
    reduce();
  }

  // For real runs: GPU 0 has the sum of what came before, the others begin anew.
  void set_pass_data(std::size_t rank) {
    steps_.set_pass_data({samples_of(rank), rank == 0 && first_sample_ > 0,
                          rank == 0 ? Store::kSamples : Store::kActivations});
  }

  [[nodiscard]] CountRange samples_of(std::size_t rank) const {
    std::int64_t begin = first_sample_;
    for (std::size_t i = 0; i < rank; ++i) {
      begin += samples_[i];
    }
    return {begin, begin + samples_[rank]};
  }

  // Where rows are read and written, and of which boundary between layers.
  struct Rows {
    Store sent = Store::kNone;
    Store received = Store::kNone;
    std::size_t boundary = 0;
  };

  // Between GPU 0 and each of the others, one after the other. GPU 0's first or last op.
  OpId exchange(std::string_view what, bool from_first, std::int64_t elements, const Rows& rows) {
    OpId end = no_id<OpId>();
    for (std::size_t rank = 1; rank < replicas_; ++rank) {
      const Bytes bytes{samples_[rank] * elements * element_};
      const std::string name = fmt::format("{}/rank{}", what, rank);
      const std::size_t from = from_first ? 0 : rank;
      const std::size_t to = from_first ? rank : 0;
      const OpId sent =
          steps_.plan().add_send(id(name, from), stream(from), {steps_.device(to), bytes, 0});
      const OpId received =
          steps_.plan().add_recv(id(name, to), stream(to), {steps_.device(from), bytes, 0});
      steps_.set_payload(sent, Payloads::rows(rows.sent, rows.boundary, samples_of(rank)));
      steps_.set_payload(received, Payloads::rows(rows.received, rows.boundary, samples_of(rank)));
      end = from_first ? sent : (rank == 1 ? received : end);
    }
    return end;
  }

  void replicate() {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      collective(CollectiveKind::kBroadcast, fmt::format("broadcast/chunk{}", i), chunks_[i],
                 elements(i, Store::kParameters));
    }
    const std::int64_t buffers = steps_.buffers_on(steps_.at(0, 0));
    if (buffers > 0) {
      collective(CollectiveKind::kBroadcast, "broadcast/buffers", {buffers * 4}, {});
    }
  }

  void reduce() {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      collective(CollectiveKind::kReduce, fmt::format("reduce/chunk{}", i), chunks_[i],
                 elements(i, Store::kGradients));
    }
  }

  // A chunk as it stands in the model: they follow each other.
  [[nodiscard]] Payload elements(std::size_t chunk, Store store) const {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < chunk; ++i) {
      begin += chunk_elements_[i];
    }
    return Payloads::elements(store, 0, {{begin, begin + chunk_elements_[chunk]}});
  }

  void collective(CollectiveKind kind,
                  const std::string& what,
                  Bytes bytes,
                  const Payload& payload) {
    for (std::size_t rank = 0; replicas_ > 1 && rank < replicas_; ++rank) {
      const OpId op = steps_.plan().add_collective(id(what, rank), stream(rank),
                                                   {.kind = kind,
                                                    .group = steps_.replica_group(at(0)),
                                                    .bytes = bytes,
                                                    .dtype = steps_.job().training.dtype,
                                                    .root = steps_.device(0)});
      steps_.set_payload(op, payload);
    }
  }

  // The interpreter's lock goes round: each replica launches a layer, then the next one may. So all
  // begin within one round, and none can end before the last layer of all is launched. The loop
  // comes here when the last update is done, as it reads the loss. Backward is launched without the
  // interpreter.
  void forward() {
    std::vector<OpId> first;  // by rank
    for (std::size_t rank = 0; rank < replicas_; ++rank) {
      first.push_back(launch("launch/first", rank, 1));
    }
    OpId all = first.back();
    for (std::size_t rank = 0; rank < replicas_; ++rank) {
      const std::size_t layers = passes_.at(samples_[rank]).forward.size();
      all = launch("launch/others", rank, std::max<std::size_t>(layers, 1) - 1);
    }
    for (std::size_t rank = 0; rank < replicas_; ++rank) {
      const std::span<const Piece> layers = passes_.at(samples_[rank]).forward;
      if (layers.empty()) {
        continue;
      }
      set_pass_data(rank);
      steps_.emit_pass(at(rank), layers.first(layers.size() - 1), micro_, {first[rank]}, nullptr,
                       false);
      steps_.emit_pass(at(rank), layers.last(1), micro_, {first[rank], all}, nullptr, false);
    }
  }

  OpId launch(std::string_view what, std::size_t rank, std::size_t layers) {
    const OpId op = steps_.plan().add_host(
        id(what, rank), python_,
        Time{steps_.job().host.launch.ps * static_cast<std::int64_t>(layers)});
    if (updated_ != no_id<OpId>()) {
      steps_.plan().depend(op, updated_);
    }
    return op;
  }

  // On the whole batch, forward and backward.
  void make_loss() {
    const Model& model = steps_.model();
    const Training& training = steps_.job().training;
    const LayerWork work = layer_work(model, {batch_, training.dtype, 1, false, {}}).back();
    Piece piece;
    piece.name = model.layers.back().name;
    piece.parts = {work.forward};
    piece.taken = work.saved;
    piece.verb = Verb::kForward;
    piece.layer = model.layers.size() - 1;
    loss_.push_back(piece);
    piece.pass = Pass::kBackward;
    piece.verb = Verb::kBackwardInput;
    piece.parts = {work.backward_input.value_or(ComputeSpec{})};
    piece.taken = {};
    piece.given = work.saved;
    piece.passing = work.passing;
    loss_.push_back(piece);
    steps_.prepare(loss_);
  }

  // The outputs of all replicas lie on GPU 0 until the gradient of the loss has been scattered.
  void hold_outputs(OpId first, OpId last, std::int64_t outputs) {
    const Bytes bytes{batch_ * outputs * element_};
    if (first == no_id<OpId>() || last == no_id<OpId>()) {
      return;
    }
    steps_.plan().add_memory_effect(first, {MemoryPart::kActivations, bytes, MemoryWhen::kStart});
    steps_.plan().add_memory_effect(last,
                                    {MemoryPart::kActivations, {-bytes.count}, MemoryWhen::kEnd});
  }

  StepBuilder& steps_;
  Model body_;
  std::size_t replicas_;
  std::int64_t element_;
  std::int64_t batch_ = 0;                      // samples of an iteration, over all replicas
  std::vector<std::int64_t> samples_;           // … by rank
  std::map<std::int64_t, ChunkPieces> passes_;  // by samples
  std::vector<Piece> loss_;                     // empty when the model has none
  std::vector<Bytes> chunks_;
  std::vector<std::int64_t> chunk_elements_;
  StreamId python_{};
  OpId updated_ = no_id<OpId>();
  std::int64_t step_ = 0;
  std::int64_t first_sample_ = 0;  // of the iteration, in the step's batch
  std::string micro_;
};

}  // namespace

void build_data_parallel(StepBuilder& steps) {
  if (needs_one_machine(steps, "data_parallel", "ddp") &&
      needs_whole_models(steps, "data_parallel")) {
    warn_of_unused_options(steps, "data_parallel");
    DataParallel(steps).emit();
  }
}

}  // namespace twinrun
