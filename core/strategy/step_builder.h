#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/ids.h"
#include "core/model/model.h"
#include "core/plan/plan_builder.h"
#include "core/strategy/gradient_sync.h"
#include "core/strategy/job.h"
#include "core/strategy/layout.h"
#include "core/strategy/op_names.h"
#include "core/strategy/partition.h"
#include "core/strategy/pass_hook.h"
#include "core/strategy/payloads.h"
#include "core/strategy/pieces.h"
#include "core/strategy/schedule.h"
#include "core/topology/router.h"
#include "core/topology/topology.h"

namespace twinrun {

// Writes the plan of a job. A strategy says in which order passes run (a Schedule) and how replicas
// come to the same weights (a GradientSync); what all have in common is here:
//
//   rank r   compute   F0 F1 F2 B2 … update        pieces of its chunks; tensor-parallel
//                                                  collectives between them, in the same stream
//            recv-f0   →F0  →F1                    activations from the stage before
//            send-f0        F0→ F1→                … and to the next one
//            dp                     buckets        the GradientSync's
class StepBuilder {
 public:
  StepBuilder(const Job& job,
              const Model& model,
              const Topology& topology,
              Layout layout,
              std::int64_t steps,
              Diagnostics& diagnostics);

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] Diagnostics& diagnostics() { return diagnostics_; }
  PlanBuilder& plan() { return plan_; }

  // ---- what strategies set before run()
  void set_parts(std::vector<ChunkRange> parts);  // stages × virtual_stages of them
  // GPipe: a partition is recomputed as a whole, without waiting for the gradient to come.
  void recompute_whole_chunks() { recompute_whole_chunks_ = true; }
  // PipeDream: weights change after each micro-batch rather than each step.
  void update_each_micro_batch();
  [[nodiscard]] bool updates_each_micro_batch() const { return updates_each_micro_batch_; }
  // For a plan that is to be run for real.
  void set_workload(Workload workload);
  void set_warmup_steps(std::int64_t steps) { warmup_steps_ = steps; }
  [[nodiscard]] std::int64_t warmup_steps() const { return warmup_steps_; }

  // What the passes emitted from here on work on.
  void set_pass_data(const PassData& data) { pass_data_ = data; }
  [[nodiscard]] const PassData& pass_data() const { return pass_data_; }
  // So many batches are on a device, or on their way to it, at once.
  void keep_batches(std::int64_t count);
  // Where the first layers of this rank find their samples.
  void set_input_store(Store store) { input_store_ = store; }
  [[nodiscard]] Store gradient_store() const { return gradient_store_; }
  [[nodiscard]] const Payloads& payloads() const { return payloads_; }
  // Nothing, unless the plan is to be run for real.
  void set_payload(OpId op, const Payload& payload);
  // Elements of the model on a rank.
  [[nodiscard]] std::vector<CountRange> elements_on(const RankStep& at) const;
  [[nodiscard]] CountRange elements_of_block(std::size_t block) const;

  // Emits everything: memory that is there from the start, then each rank's program.
  void run(const Schedule& schedule, GradientSync& sync);

  // ---- parts of a plan that strategies use as well
  [[nodiscard]] const std::vector<LayerWork>& work() const { return work_; }
  [[nodiscard]] const std::vector<ChunkRange>& parts() const { return parts_; }
  [[nodiscard]] DeviceId device(std::size_t rank) const { return devices_[rank]; }
  [[nodiscard]] StreamId stream(std::size_t rank, std::string_view name);
  // A device that is no rank: a CPU that reads data, a server.
  DeviceId device_at(VertexId vertex);
  // The CPU nearest to a device.
  VertexId host_of(VertexId vertex);
  // Ranks of one (stage, tensor) over all replicas, and the other way round.
  GroupId replica_group(const RankStep& at);
  GroupId tensor_group(const RankStep& at);
  [[nodiscard]] std::string id(const RankStep& at, std::string_view what) const;
  [[nodiscard]] RankStep at(std::size_t rank, std::int64_t step) const;
  // Trained elements on a rank, and buffers (running statistics).
  [[nodiscard]] std::int64_t parameters_on(const RankStep& at) const;
  [[nodiscard]] std::int64_t buffers_on(const RankStep& at) const;
  [[nodiscard]] std::vector<std::size_t> blocks_on(const RankStep& at) const;
  [[nodiscard]] std::vector<std::size_t> layers_on(const RankStep& at) const;
  OpId add_update(const RankStep& at, std::int64_t parameters, const std::vector<OpId>& after);
  // What all ranks' ops of a piece have in common; before emit_pass, which prepare_chunks() does
  // for the pieces of the job's own parts.
  void prepare(std::span<Piece> pieces);
  // Emits the pieces of one pass; `after` must end before the first. Returns the last op.
  OpId emit_pass(const RankStep& at,
                 std::span<const Piece> pieces,
                 std::string_view micro,
                 const std::vector<OpId>& after,
                 GradientSync* sync,
                 bool completes_gradients);
  // Takes memory for the whole run.
  void hold(std::size_t rank, MemoryPart part, Bytes bytes);
  [[nodiscard]] const ChunkPieces& pieces_of(std::int64_t part) const {
    return chunks_[static_cast<std::size_t>(part)];
  }
  void prepare_chunks();
  // The same for one micro-batch: the last may keep what the others recompute.
  [[nodiscard]] const ChunkPieces& passes_of(std::int64_t part, std::int64_t micro) const;

 private:
  struct RankProgram;  // the state while one rank is emitted
  enum class Message : std::uint8_t {
    kReceiveForward,
    kReceiveBackward,
    kSendForward,
    kSendBackward
  };

  void emit_rank(std::size_t rank, const Schedule& schedule, GradientSync& sync);
  void forward(RankProgram& program, const StageAction& action);
  void backward(RankProgram& program, const StageAction& action);
  void update(RankProgram& program);
  StreamId message_stream(RankProgram& program, Message message, std::int64_t chunk);
  OpId receive(RankProgram& program, const StageAction& action, bool is_forward);
  OpId send(RankProgram& program, const StageAction& action, bool is_forward, OpId last);
  void emit_piece(const RankStep& at, const Piece& piece, std::string_view micro, OpId& op);
  OpId add_tensor_collective(const RankStep& at, const TensorCollective& what, std::string_view id);
  void say_what_is_updated(const RankStep& at, OpId update, const GradientSync& sync);
  [[nodiscard]] CountRange samples_of(const RankStep& at, std::int64_t micro) const;
  [[nodiscard]] PassData pass_data_of(const RankStep& at, std::int64_t micro) const;
  [[nodiscard]] std::size_t boundary_of(std::int64_t part, bool is_input) const;
  void say_what_moves(const RankStep& at, OpId op, std::int64_t micro, Store, std::size_t boundary);
  [[nodiscard]] bool keeps_gradients() const;
  void hold_state(std::size_t rank, bool updates);
  [[nodiscard]] bool should_merge() const;
  std::vector<ChunkPieces> chunks_with(Recompute recompute);
  struct PieceTime {
    Time time{};
    bool waits_for_host = false;  // the device would be done sooner
  };
  [[nodiscard]] PieceTime time_on(const Piece& piece, VertexId vertex) const;
  [[nodiscard]] std::string micro_text(std::int64_t micro) const;
  [[nodiscard]] std::string message_text(std::string_view what, std::int64_t part) const;
  [[nodiscard]] std::int64_t part_of(std::int64_t stage, std::int64_t chunk) const {
    return chunk * layout_.stages + stage;
  }

  const Job& job_;
  const Model& model_;
  const Topology& topology_;
  Layout layout_;
  std::int64_t steps_;
  std::int64_t warmup_steps_ = 0;
  Diagnostics& diagnostics_;
  Router router_;
  PlanBuilder plan_;
  std::vector<DeviceId> devices_;  // by rank
  std::vector<LayerWork> work_;    // by layer
  std::vector<ChunkRange> parts_;
  std::vector<ChunkPieces> chunks_;             // by part
  std::vector<ChunkPieces> last_micro_chunks_;  // … where the last micro-batch recomputes nothing
  Payloads payloads_;
  PassData pass_data_;
  Store input_store_ = Store::kSamples;
  Store gradient_store_ = Store::kGradients;  // where the update finds them
  bool merged_ = false;
  bool recompute_whole_chunks_ = false;
  bool updates_each_micro_batch_ = false;
  std::vector<OpId> setup_;              // by rank
  std::vector<StreamId> compute_;        // by rank
  std::vector<GroupId> tensor_groups_;   // by replica and stage; made when first asked for
  std::vector<GroupId> replica_groups_;  // by stage and tensor
  std::vector<std::array<ShapeId, kCollectiveKindNames.size()>>
      tensor_shapes_;                // by replica and stage
  std::vector<bool> is_like_first_;  // by rank: as fast as rank 0
  mutable OpNames names_;
  std::vector<std::unique_ptr<PassHook>> hooks_;  // options of the job
};

}  // namespace twinrun
