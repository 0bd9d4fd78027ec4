#include "core/strategy/step_builder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/compute/compute_time.h"
#include "core/strategy/optimizer_state.h"
#include "core/strategy/pipedream.h"
#include "core/strategy/tied_weights.h"

namespace twinrun {
namespace {

// Above so many ops a step, layers between two communications become one op.
constexpr double kMostFineOps = 1e6;

constexpr std::array<std::string_view, 4> kMessageWords = {"recv-f", "recv-b", "send-f", "send-b"};

// For ops whose names have the micro-batch already.
RankStep without_micro(RankStep at) {
  at.micro = -1;
  return at;
}

}  // namespace

struct StepBuilder::RankProgram {
  RankStep at;
  GradientSync& sync;
  OpId last_send = no_id<OpId>();        // that compute waits for when nothing may overlap
  OpId last_backward = no_id<OpId>();    // of the step
  std::vector<bool> has_gradients = {};  // by chunk: a micro-batch of the step has left some
  // By direction (Message), then by chunk; made when first asked for.
  std::array<std::vector<StreamId>, kMessageWords.size()> message_streams = {};
};

StepBuilder::StepBuilder(const Job& job,
                         const Model& model,
                         const Topology& topology,
                         Layout layout,
                         std::int64_t steps,
                         Diagnostics& diagnostics)
    : job_(job),
      model_(model),
      topology_(topology),
      layout_(std::move(layout)),
      steps_(steps),
      diagnostics_(diagnostics),
      router_(topology),
      plan_(job.name) {
  plan_.text().topology = job.topology_name;
  for (const VertexId vertex : layout_.devices) {
    devices_.push_back(plan_.add_device(topology.name(vertex)));
  }
  for (const DeviceId device : devices_) {
    compute_.push_back(plan_.stream(device, "compute"));
  }
  const auto speed = [&](VertexId vertex) {
    return std::tuple(topology.device(vertex), topology.compute_scale(vertex),
                      topology.memory_bandwidth_scale(vertex));
  };
  for (const VertexId vertex : layout_.devices) {
    is_like_first_.push_back(speed(vertex) == speed(layout_.devices.front()));
  }
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  tensor_groups_.assign(size(layout_.replicas * layout_.stages), no_id<GroupId>());
  replica_groups_.assign(size(layout_.stages * layout_.tensor), no_id<GroupId>());
  tensor_shapes_.resize(tensor_groups_.size());
  for (auto& of_group : tensor_shapes_) {
    of_group.fill(no_id<ShapeId>());
  }
  work_ = layer_work(model, {layout_.micro_batch, job.training.dtype, layout_.tensor,
                             job.parallelism.sequence_parallel, fusion_of(job.training)});
  set_parts({{0, model.blocks.size()}});
}

void StepBuilder::set_parts(std::vector<ChunkRange> parts) {
  parts_ = std::move(parts);
  copy_tied_weights(model_, parts_, layout_.stages, work_);
}

void StepBuilder::set_workload(Workload workload) {
  workload.steps = steps_;
  plan_.set_workload(workload);
  payloads_ = Payloads(std::move(workload));
}

void StepBuilder::set_payload(OpId op, const Payload& payload) {
  if (payloads_.wanted()) {
    plan_.set_payload(op, payload);
  }
}

// Of step k + 1 the first micro-batches may run while the last ones of step k are on their way back
// (pipedream_schedule): a stage is at most so many passes ahead of the last one.
void StepBuilder::update_each_micro_batch() {
  updates_each_micro_batch_ = true;
  if (payloads_.wanted()) {
    Workload workload = payloads_.workload();
    workload.samples_per_update = layout_.replicas * layout_.micro_batch;
    workload.steps_in_flight =
        1 + (layout_.stages - 1 + layout_.micro_batches - 1) / layout_.micro_batches;
    workload.batches_on_device += workload.steps_in_flight - 1;
    set_workload(std::move(workload));
  }
}

void StepBuilder::keep_batches(std::int64_t count) {
  if (payloads_.wanted()) {
    Workload workload = payloads_.workload();
    workload.batches_on_device = count + workload.steps_in_flight - 1;
    set_workload(std::move(workload));
  }
}

bool StepBuilder::should_merge() const {
  if (payloads_.wanted()) {
    return false;
  }
  double layers = 0;
  for (const LayerWork& work : work_) {
    layers += work.backward_input && work.backward_weight ? 3 : 2;
  }
  const auto ranks = static_cast<double>(layout_.replicas * layout_.tensor);
  return layers * ranks * static_cast<double>(layout_.micro_batches * steps_) > kMostFineOps;
}

void StepBuilder::prepare_chunks() {
  merged_ = should_merge();
  const bool spares_last = job_.training.recompute == Recompute::kExceptLast;
  chunks_ = chunks_with(spares_last ? Recompute::kFull : job_.training.recompute);
  last_micro_chunks_ = spares_last ? chunks_with(Recompute::kNone) : std::vector<ChunkPieces>();
}

std::vector<ChunkPieces> StepBuilder::chunks_with(Recompute recompute) {
  const PieceOptions options{recompute,
                             recompute_whole_chunks_,
                             merged_,
                             job_.training.dtype,
                             layout_.micro_batch,
                             job_.parallelism.sequence_parallel ? layout_.tensor : 1};
  std::vector<ChunkPieces> chunks;
  for (const ChunkRange& part : parts_) {
    ChunkPieces& chunk =
        chunks.emplace_back(chunk_pieces(model_, work_, part.first, part.end, options));
    prepare(chunk.forward);
    prepare(chunk.backward);
  }
  return chunks;
}

const ChunkPieces& StepBuilder::passes_of(std::int64_t part, std::int64_t micro) const {
  const bool is_spared = !last_micro_chunks_.empty() && micro == layout_.micro_batches - 1;
  return (is_spared ? last_micro_chunks_ : chunks_)[static_cast<std::size_t>(part)];
}

StreamId StepBuilder::stream(std::size_t rank, std::string_view name) {
  return plan_.stream(devices_[rank], name);
}

DeviceId StepBuilder::device_at(VertexId vertex) {
  return plan_.add_device(topology_.name(vertex));
}

VertexId StepBuilder::host_of(VertexId vertex) {
  if (topology_.kind(vertex) == VertexKind::kCpu) {
    return vertex;
  }
  VertexId best = no_id<VertexId>();
  std::size_t fewest = 0;
  const NodeId node = topology_.node_of(vertex);
  for (const std::uint32_t local : topology_.shape(node).of_kind(VertexKind::kCpu)) {
    const VertexId other = topology_.vertex_in(node, local);
    const auto route = router_.wires(other, vertex);
    if (route && (best == no_id<VertexId>() || route->links.size() < fewest)) {
      best = other;
      fewest = route->links.size();
    }
  }
  return best;
}

GroupId StepBuilder::replica_group(const RankStep& at) {
  GroupId& known = replica_groups_[static_cast<std::size_t>(at.stage * layout_.tensor + at.tensor)];
  if (known != no_id<GroupId>()) {
    return known;
  }
  std::vector<DeviceId> members;
  for (std::int64_t replica = 0; replica < layout_.replicas; ++replica) {
    members.push_back(devices_[layout_.rank(replica, at.stage, at.tensor)]);
  }
  known = plan_.add_group(fmt::format("dp-s{}-t{}", at.stage, at.tensor), members);
  return known;
}

GroupId StepBuilder::tensor_group(const RankStep& at) {
  GroupId& known = tensor_groups_[static_cast<std::size_t>(at.replica * layout_.stages + at.stage)];
  if (known != no_id<GroupId>()) {
    return known;
  }
  std::vector<DeviceId> members;
  for (std::int64_t tensor = 0; tensor < layout_.tensor; ++tensor) {
    members.push_back(devices_[layout_.rank(at.replica, at.stage, tensor)]);
  }
  known = plan_.add_group(fmt::format("tp-r{}-s{}", at.replica, at.stage), members);
  return known;
}

std::string StepBuilder::id(const RankStep& at, std::string_view what) const {
  return std::string(names_.name(at, what, at.micro < 0 ? std::string() : micro_text(at.micro)));
}

RankStep StepBuilder::at(std::size_t rank, std::int64_t step) const {
  const auto number = static_cast<std::int64_t>(rank);
  return {rank, number / layout_.replica_stride % layout_.replicas,
          number / layout_.stage_stride % layout_.stages,
          number / layout_.tensor_stride % layout_.tensor, step};
}

std::vector<std::size_t> StepBuilder::blocks_on(const RankStep& at) const {
  std::vector<std::size_t> blocks;
  for (std::int64_t chunk = 0; chunk < layout_.virtual_stages; ++chunk) {
    const ChunkRange& part = parts_[static_cast<std::size_t>(part_of(at.stage, chunk))];
    for (std::size_t block = part.first; block < part.end; ++block) {
      blocks.push_back(block);
    }
  }
  return blocks;
}

std::vector<std::size_t> StepBuilder::layers_on(const RankStep& at) const {
  std::vector<std::size_t> layers;
  for (const std::size_t block : blocks_on(at)) {
    for (std::size_t i = 0; i < model_.blocks[block].layer_count; ++i) {
      layers.push_back(model_.blocks[block].first_layer + i);
    }
  }
  return layers;
}

std::int64_t StepBuilder::parameters_on(const RankStep& at) const {
  std::int64_t sum = 0;
  for (const std::size_t layer : layers_on(at)) {
    sum += twinrun::parameters_of(work_[layer]);
  }
  return sum;
}

std::int64_t StepBuilder::buffers_on(const RankStep& at) const {
  std::int64_t sum = 0;
  for (const std::size_t layer : layers_on(at)) {
    sum += work_[layer].buffers;
  }
  return sum;
}

std::vector<CountRange> StepBuilder::elements_on(const RankStep& at) const {
  std::vector<CountRange> ranges;
  for (const std::size_t layer : layers_on(at)) {
    ranges.push_back(payloads_.layer(layer));
  }
  return joined(std::move(ranges));
}

CountRange StepBuilder::elements_of_block(std::size_t block) const {
  const Block& layers = model_.blocks[block];
  return {payloads_.layer(layers.first_layer).begin,
          payloads_.layer(layers.first_layer + layers.layer_count - 1).end};
}

CountRange StepBuilder::samples_of(const RankStep& at, std::int64_t micro) const {
  const std::int64_t begin = at.replica * layout_.local_batch + micro * layout_.micro_batch;
  return {begin, begin + layout_.micro_batch};
}

// Where each micro-batch updates the weights, a pass sees those of the update that was the last
// before its forward pass, and backward the same ones (Harlap et al., arXiv:1806.03377).
PassData StepBuilder::pass_data_of(const RankStep& at, std::int64_t micro) const {
  PassData data{samples_of(at, micro), false, input_store_};
  if (updates_each_micro_batch_) {
    const std::int64_t versions = pipedream_versions(layout_.stages, at.stage);
    const std::int64_t updates = at.step * layout_.micro_batches + micro - (versions - 1);
    data.version = static_cast<std::uint32_t>(std::max<std::int64_t>(updates, 0) % versions);
    data.versions = static_cast<std::uint32_t>(versions);
  }
  return data;
}

std::size_t StepBuilder::boundary_of(std::int64_t part, bool is_input) const {
  const ChunkRange& blocks = parts_[static_cast<std::size_t>(part)];
  const Block& block = model_.blocks[is_input ? blocks.first : blocks.end - 1];
  return block.first_layer + (is_input ? 0 : block.layer_count);
}

// Of a pipeline's message: each tensor-parallel rank moves its share.
void StepBuilder::say_what_moves(
    const RankStep& at, OpId op, std::int64_t micro, Store store, std::size_t boundary) {
  if (!payloads_.wanted() || payloads_.is_divided(boundary)) {  // then they hold different tensors
    return;
  }
  Payload payload = Payloads::rows(store, boundary, samples_of(at, micro));
  payload.share = static_cast<std::uint32_t>(at.tensor);
  payload.shares = static_cast<std::uint32_t>(layout_.tensor);
  plan_.set_payload(op, payload);
}

// Sharded state is divided block by block.
void StepBuilder::say_what_is_updated(const RankStep& at, OpId update, const GradientSync& sync) {
  if (!payloads_.wanted() || plan_.has_payload(update)) {  // an option of the job has said so
    return;
  }
  const auto shards = static_cast<std::uint32_t>(sync.update_shards());
  std::vector<CountRange> ranges = elements_on(at);
  if (shards > 1) {
    ranges.clear();
    for (const std::size_t block : blocks_on(at)) {
      ranges.push_back(elements_of_block(block));
    }
  }
  Payload payload = Payloads::elements(Verb::kUpdate, sync.gradient_store(), Store::kParameters,
                                       at.tensor, std::move(ranges));
  payload.share = static_cast<std::uint32_t>(at.replica) % shards;
  payload.shares = shards;
  if (updates_each_micro_batch_) {
    const std::int64_t versions = pipedream_versions(layout_.stages, at.stage);
    const std::int64_t number = at.step * layout_.micro_batches + at.micro + 1;
    payload.version = static_cast<std::uint32_t>(number % versions);
    payload.versions = static_cast<std::uint32_t>(versions);
  }
  plan_.set_payload(update, payload);
}

// Gradients of a micro-batch stay on the rank, for the next one to add to.
bool StepBuilder::keeps_gradients() const {
  return !updates_each_micro_batch_ &&
         std::none_of(hooks_.begin(), hooks_.end(),
                      [](const auto& hook) { return hook->takes_gradients(); });
}

void StepBuilder::hold(std::size_t rank, MemoryPart part, Bytes bytes) {
  if (setup_.empty()) {
    for (std::size_t i = 0; i < layout_.ranks(); ++i) {
      setup_.push_back(plan_.add_marker(fmt::format("setup@rank{}", i), compute_[i]));
    }
  }
  if (bytes.count > 0) {
    plan_.add_memory_effect(setup_[rank], {part, bytes, MemoryWhen::kStart});
  }
}

// What a rank holds from the first moment to the last (Rajbhandari et al., arXiv:1910.02054): stage
// 1 shards the optimizer's state, 2 the gradients as well, 3 the weights too.
void StepBuilder::hold_state(std::size_t rank, bool updates) {
  const RankStep where = at(rank, 0);
  const std::int64_t count = parameters_on(where);
  const StateBytes state = state_bytes(job_.training.dtype, job_.training.optimizer);
  const auto share = [&](std::int64_t stage) {
    return layout_.zero_stage >= stage ? layout_.shards : 1;
  };
  const auto part_of_state = [&](std::int64_t bytes, std::int64_t stage) {
    return Bytes{(count * bytes + share(stage) - 1) / share(stage)};
  };
  hold(rank, MemoryPart::kBuffers, {buffers_on(where) * 4});
  if (std::any_of(hooks_.begin(), hooks_.end(),
                  [](const auto& hook) { return hook->holds_state(); })) {
    return;
  }
  hold(rank, MemoryPart::kParameters, part_of_state(state.weight, 3));
  hold(rank, MemoryPart::kGradients, part_of_state(state.gradient, 2));
  if (updates) {
    hold(rank, MemoryPart::kOptimizer, part_of_state(state.optimizer, 1));
  }
}

void StepBuilder::run(const Schedule& schedule, GradientSync& sync) {
  prepare_chunks();
  hooks_ = make_pass_hooks(*this);
  for (std::size_t rank = 0; rank < layout_.ranks(); ++rank) {
    hold_state(rank, sync.updates_on_ranks());
  }
  const PlanBuilder::Mark before = plan_.mark();
  for (std::size_t rank = 0; rank < layout_.ranks(); ++rank) {
    emit_rank(rank, schedule, sync);
    if (rank == 0) {
      plan_.reserve_repeats(before, layout_.ranks() - 1);
    }
  }
  sync.finish();
}

void StepBuilder::emit_rank(std::size_t rank, const Schedule& schedule, GradientSync& sync) {
  RankProgram program{at(rank, 0), sync};
  input_store_ = Store::kSamples;
  for (const auto& hook : hooks_) {
    input_store_ = hook->brings_samples(rank) ? Store::kBatches : input_store_;
  }
  std::int64_t begun = -1;
  for (const StageAction& action :
       schedule({layout_.stages, layout_.virtual_stages, layout_.micro_batches, steps_},
                program.at.stage)) {
    program.at.step = action.step;
    program.at.micro = updates_each_micro_batch_ ? action.micro : -1;
    if (action.step > begun) {
      begun = action.step;
      program.has_gradients.assign(static_cast<std::size_t>(layout_.virtual_stages), false);
      sync.begin_step(program.at);
    }
    switch (action.kind) {
      case ActionKind::kForward:
        forward(program, action);
        break;
      case ActionKind::kBackward:
        backward(program, action);
        break;
      case ActionKind::kUpdate:
        update(program);
        break;
    }
  }
}

void StepBuilder::update(RankProgram& program) {
  GradientSync& sync = program.sync;
  std::vector<OpId> after = sync.reduced(program.at);
  OpId last = program.last_backward;
  if (sync.updates_on_ranks()) {
    if (!updates_each_micro_batch_) {  // else copies of a tied tensor go their own ways
      std::vector<OpId> gradients = after;
      gradients.push_back(last);
      const std::vector<OpId> sums = sum_tied_gradients(
          *this, program.at, layout_.zero_stage > 0 ? layout_.shards : 1, gradients);
      after.insert(after.end(), sums.begin(), sums.end());
    }
    const std::int64_t shards = sync.update_shards();
    gradient_store_ = sync.gradient_store();
    last = add_update(program.at, (parameters_on(program.at) + shards - 1) / shards, after);
    say_what_is_updated(program.at, last, sync);
    sync.updated(program.at, last);
  }
  for (const auto& hook : hooks_) {
    hook->step_ended(program.at, last);
  }
}

std::string StepBuilder::micro_text(std::int64_t micro) const {
  return layout_.micro_batches > 1 ? fmt::format("/mb{}", micro) : std::string();
}

// Stages with several chunks say which part of the model a message is for.
std::string StepBuilder::message_text(std::string_view what, std::int64_t part) const {
  return layout_.virtual_stages > 1 ? fmt::format("{}/part{}", what, part) : std::string(what);
}

void StepBuilder::forward(RankProgram& program, const StageAction& action) {
  const ChunkPieces& chunk = passes_of(part_of(program.at.stage, action.chunk), action.micro);
  std::vector<OpId> after;
  if (const OpId received = receive(program, action, true); received != no_id<OpId>()) {
    after.push_back(received);
  }
  if (program.last_send != no_id<OpId>()) {
    after.push_back(program.last_send);
  }
  set_pass_data(pass_data_of(program.at, action.micro));
  const OpId last =
      emit_pass(program.at, chunk.forward, micro_text(action.micro), after, &program.sync, false);
  const OpId sent = send(program, action, true, last);
  program.last_send = job_.parallelism.overlap ? no_id<OpId>() : sent;
}

void StepBuilder::backward(RankProgram& program, const StageAction& action) {
  std::span<const Piece> pieces =
      passes_of(part_of(program.at.stage, action.chunk), action.micro).backward;
  const std::string micro = micro_text(action.micro);
  std::vector<bool>::reference has_gradients =
      program.has_gradients[static_cast<std::size_t>(action.chunk)];
  PassData data = pass_data_of(program.at, action.micro);
  data.accumulates = has_gradients && keeps_gradients();
  set_pass_data(data);
  has_gradients = true;
  std::vector<OpId> after;
  if (program.last_send != no_id<OpId>()) {
    after.push_back(program.last_send);
  }
  if (recompute_whole_chunks_) {  // it needs nothing from the stage behind
    const auto first = std::find_if(pieces.begin(), pieces.end(), [](const Piece& piece) {
      return piece.pass == Pass::kBackward;
    });
    const auto count = static_cast<std::size_t>(first - pieces.begin());
    emit_pass(program.at, pieces.first(count), micro, after, &program.sync, false);
    pieces = pieces.subspan(count);
  }
  if (const OpId received = receive(program, action, false); received != no_id<OpId>()) {
    after.push_back(received);
  }
  const OpId last =
      emit_pass(program.at, pieces, micro, after, &program.sync, action.completes_gradients);
  program.last_backward = last;
  const OpId sent = send(program, action, false, last);
  program.last_send = job_.parallelism.overlap ? no_id<OpId>() : sent;
}

// Plans have hundreds of thousands of messages and few streams: a name is formatted once.
StreamId StepBuilder::message_stream(RankProgram& program, Message message, std::int64_t chunk) {
  const auto kind = static_cast<std::size_t>(message);
  std::vector<StreamId>& of_chunks = program.message_streams[kind];
  of_chunks.resize(static_cast<std::size_t>(layout_.virtual_stages), no_id<StreamId>());
  StreamId& known = of_chunks[static_cast<std::size_t>(chunk)];
  if (known == no_id<StreamId>()) {
    known = stream(program.at.rank, fmt::format("{}{}", kMessageWords[kind], chunk));
  }
  return known;
}

// Forward, part g gets its input from part g − 1; backward, its gradient from part g + 1. A message
// into part g has tag 2g forward and 2g + 1 backward. Tensor-parallel ranks hold the same tensor,
// so each sends its share and they gather it on the other side (arXiv:2104.04473, section 4.1).
OpId StepBuilder::receive(RankProgram& program, const StageAction& action, bool is_forward) {
  const RankStep at = without_micro(program.at);
  const std::int64_t part = part_of(at.stage, action.chunk);
  const auto last_part = static_cast<std::int64_t>(parts_.size()) - 1;
  if (part == (is_forward ? 0 : last_part) || layout_.stages == 1) {
    return no_id<OpId>();
  }
  const std::int64_t from = (is_forward ? part - 1 : part + 1) % layout_.stages;
  const Bytes whole = is_forward ? pieces_of(part).input : pieces_of(part).output;
  const MessageSpec spec{devices_[layout_.rank(at.replica, from, at.tensor)],
                         {(whole.count + layout_.tensor - 1) / layout_.tensor},
                         static_cast<std::int32_t>(2 * part + (is_forward ? 0 : 1))};
  const std::string what = message_text(is_forward ? "forward/recv" : "backward/recv", part);
  const std::string micro = micro_text(action.micro);
  const OpId received = plan_.add_recv(
      names_.name(at, what, micro),
      message_stream(program, is_forward ? Message::kReceiveForward : Message::kReceiveBackward,
                     action.chunk),
      spec);
  const Store store = is_forward ? Store::kActivations : Store::kActivationGradients;
  say_what_moves(at, received, action.micro, store, boundary_of(part, is_forward));
  if (layout_.tensor == 1 || job_.parallelism.sequence_parallel) {
    return received;
  }
  const OpId gathered = add_tensor_collective(at, {CollectiveKind::kAllGather, whole},
                                              names_.tensor_name(at, what, micro, "/gather"));
  plan_.depend(gathered, received);
  set_payload(gathered,
              Payloads::rows(store, boundary_of(part, is_forward), samples_of(at, action.micro)));
  return gathered;
}

OpId StepBuilder::send(RankProgram& program,
                       const StageAction& action,
                       bool is_forward,
                       OpId last) {
  const RankStep at = without_micro(program.at);
  const std::int64_t part = part_of(at.stage, action.chunk);
  const auto last_part = static_cast<std::int64_t>(parts_.size()) - 1;
  if (part == (is_forward ? last_part : 0) || layout_.stages == 1) {
    return no_id<OpId>();
  }
  const std::int64_t next = is_forward ? part + 1 : part - 1;
  const Bytes whole = is_forward ? pieces_of(part).output : pieces_of(part).input;
  const MessageSpec spec{devices_[layout_.rank(at.replica, next % layout_.stages, at.tensor)],
                         {(whole.count + layout_.tensor - 1) / layout_.tensor},
                         static_cast<std::int32_t>(2 * next + (is_forward ? 0 : 1))};
  const OpId sent = plan_.add_send(
      names_.name(at, message_text(is_forward ? "forward/send" : "backward/send", part),
                  micro_text(action.micro)),
      message_stream(program, is_forward ? Message::kSendForward : Message::kSendBackward,
                     action.chunk),
      spec);
  plan_.depend(sent, last);
  say_what_moves(at, sent, action.micro,
                 is_forward ? Store::kActivations : Store::kActivationGradients,
                 boundary_of(part, !is_forward));
  return sent;
}

OpId StepBuilder::add_tensor_collective(const RankStep& at,
                                        const TensorCollective& what,
                                        std::string_view id) {
  ShapeId& shape = tensor_shapes_[static_cast<std::size_t>(at.replica * layout_.stages + at.stage)]
                                 [static_cast<std::size_t>(what.kind)];
  if (shape == no_id<ShapeId>()) {
    shape = plan_.intern(CollectiveOpSpec{.kind = what.kind,
                                          .group = tensor_group(at),
                                          .algorithm = "auto",
                                          .dtype = job_.training.dtype});
  }
  return plan_.add_collective(id, compute_[at.rank], shape, what.bytes);
}

OpId StepBuilder::emit_pass(const RankStep& at,
                            std::span<const Piece> pieces,
                            std::string_view micro,
                            const std::vector<OpId>& after,
                            GradientSync* sync,
                            bool completes_gradients) {
  OpId last = no_id<OpId>();
  const RankStep of_pieces = without_micro(at);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    std::vector<OpId> wait = i == 0 ? after : std::vector<OpId>();
    if (piece.opens_block && sync != nullptr) {
      const std::vector<OpId> weights = sync->before_block(at, piece.block, piece.pass);
      wait.insert(wait.end(), weights.begin(), weights.end());
    }
    for (std::size_t k = 0; k < (piece.opens_block ? hooks_.size() : 0); ++k) {
      const std::vector<OpId> more =
          hooks_[k]->before_block(of_pieces, piece.block, piece.pass, micro);
      wait.insert(wait.end(), more.begin(), more.end());
    }
    const std::size_t first = plan_.size();
    emit_piece(of_pieces, piece, micro, last);
    for (const OpId op : wait) {
      plan_.depend(id_at<OpId>(first), op);
    }
    const bool leaves_block =
        i + 1 == pieces.size() || pieces[i + 1].block != piece.block || pieces[i + 1].opens_block;
    for (std::size_t k = 0; k < (leaves_block ? hooks_.size() : 0); ++k) {
      hooks_[k]->after_block(of_pieces, piece.block, piece.pass, micro, last);
    }
    if (sync != nullptr && leaves_block) {
      sync->after_block(at, piece.block, piece.pass, last);
    }
    if (sync != nullptr && completes_gradients && !piece.gradients_of.empty()) {
      sync->gradients_ready(at, piece.gradients_of, last);
    }
  }
  return last;
}

void StepBuilder::prepare(std::span<Piece> pieces) {
  for (Piece& piece : pieces) {
    piece.label =
        fmt::format("{}/{}", kPassWords[static_cast<std::size_t>(piece.pass)], piece.name);
    ComputeSpec spec = piece.parts.front();
    for (std::size_t i = 1; i < piece.parts.size(); ++i) {
      spec.flops += piece.parts[i].flops;
      spec.bytes.count += piece.parts[i].bytes.count;
    }
    const VertexId first = layout_.devices.front();
    const PieceTime time = time_on(piece, first);
    if (piece.parts.size() > 1) {
      spec.kernel.reset();
    }
    if (piece.parts.size() > 1 || time.waits_for_host) {
      piece.time = time.time;
    }
    piece.compute = plan_.intern(spec);
  }
}

void StepBuilder::emit_piece(const RankStep& at,
                             const Piece& piece,
                             std::string_view micro,
                             OpId& op) {
  if (piece.label.empty()) {  // not of our chunks: a strategy's own
    Piece own = piece;
    prepare(std::span(&own, 1));
    return emit_piece(at, own, micro, op);
  }
  if (piece.before) {
    op = add_tensor_collective(at, *piece.before,
                               names_.tensor_name(at, piece.label, micro, "/gather"));
  }
  op = plan_.add_interned_compute(names_.name(at, piece.label, micro), compute_[at.rank],
                                  piece.compute);
  if (payloads_.wanted()) {
    plan_.set_payload(op, Payloads::pass(piece, pass_data_, at.tensor));
  }
  if (piece.time) {
    plan_.set_duration(
        op, is_like_first_[at.rank] ? *piece.time : time_on(piece, layout_.devices[at.rank]).time);
  }
  const auto effect = [&](MemoryPart part, std::int64_t bytes, MemoryWhen when) {
    if (bytes != 0) {
      plan_.add_memory_effect(op, {part, {bytes}, when});
    }
  };
  effect(MemoryPart::kActivations, piece.taken.count, MemoryWhen::kStart);
  effect(MemoryPart::kWorkspace, piece.passing.count, MemoryWhen::kStart);
  effect(MemoryPart::kWorkspace, -piece.passing.count, MemoryWhen::kEnd);
  effect(MemoryPart::kActivations, -piece.given.count, MemoryWhen::kEnd);
  if (piece.after) {
    op = add_tensor_collective(at, *piece.after,
                               names_.tensor_name(at, piece.label, micro, "/reduce"));
    const bool is_backward = piece.pass == Pass::kBackward;
    set_payload(op,
                Payloads::rows(is_backward ? Store::kActivationGradients : Store::kActivations,
                               is_backward ? piece.layer : piece.layer + 1, pass_data_.samples));
  }
}

// A merged op takes as long as its kernels one after the other, which its sums alone cannot tell;
// and no kernel of a layer takes less than the host needs to ask for it.
StepBuilder::PieceTime StepBuilder::time_on(const Piece& piece, VertexId vertex) const {
  const DeviceSpec* const spec = topology_.device(vertex);
  TWINRUN_CHECK(spec != nullptr);
  const ComputeScales scales{topology_.compute_scale(vertex),
                             topology_.memory_bandwidth_scale(vertex)};
  const Time asked = topology_.kind(vertex) != VertexKind::kGpu ? Time{}
                     : piece.pass == Pass::kBackward            ? job_.host.backward
                                                                : job_.host.forward;
  PieceTime sum;
  for (const ComputeSpec& part : piece.parts) {
    const ComputeOp op{part.flops, part.bytes, no_id<KernelId>(), part.dtype};
    const Kernel* const kernel = part.kernel ? &*part.kernel : nullptr;
    const Time once = compute_time(*spec, op, kernel, scales).time;
    const bool has_kernel = kernel != nullptr && (part.flops > 0 || part.bytes.count > 0);
    const bool waits = has_kernel && once < asked;
    sum.time = sum.time + (waits ? asked : once);
    sum.waits_for_host = sum.waits_for_host || waits;
  }
  return sum;
}

OpId StepBuilder::add_update(const RankStep& at,
                             std::int64_t parameters,
                             const std::vector<OpId>& after) {
  for (const auto& hook : hooks_) {
    if (const OpId update = hook->update(at, parameters, after); update != no_id<OpId>()) {
      return update;
    }
  }
  const UpdateWork work = update_work(job_.training.dtype, job_.training.optimizer);
  const OpId update = plan_.add_compute(id(at, "update"), compute_[at.rank],
                                        {work.flops * static_cast<double>(parameters),
                                         {work.bytes * parameters},
                                         Dtype::kFp32,
                                         Kernel{KernelKind::kUpdate, 0, 0, 0, "all", {}}});
  for (const OpId op : after) {
    plan_.depend(update, op);
  }
  return update;
}

}  // namespace twinrun
