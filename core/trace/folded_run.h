#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/csr.h"
#include "core/base/hash_index.h"
#include "core/base/ids.h"
#include "core/plan/plan.h"
#include "core/trace/counted_steps.h"
#include "core/trace/trace.h"

namespace twinrun {

enum class FoldedId : std::uint32_t {};

// An op of the mean step: the same op of all counted steps laid over each other.
struct FoldedOp {
  std::string_view name;  // the id without its step: "forward/fc1@rank0"
  OpId op{};              // of the last counted step
  std::int64_t count = 0;
  // Means, in seconds; times since the step began (negative when it began before).
  double ready_s = 0;
  double start_s = 0;
  double end_s = 0;
  [[nodiscard]] double working_s() const { return end_s - start_s; }
  [[nodiscard]] double waiting_s() const { return start_s - ready_s; }
};

// A run as its mean step, so that runs of different numbers of steps can be laid beside each other.
// Ops that belong to no step are left out where ids name steps: they set up. Plan and trace must
// outlive it.
class FoldedRun {
 public:
  explicit FoldedRun(const RunView& run);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] const CountedSteps& steps() const { return steps_; }
  [[nodiscard]] std::size_t size() const { return ops_.size(); }
  [[nodiscard]] const FoldedOp& operator[](FoldedId id) const { return ops_[index_of(id)]; }
  // By name; no_id when there is none.
  [[nodiscard]] FoldedId find(std::string_view name) const;
  // What an op of the plan became; no_id when its step does not count.
  [[nodiscard]] FoldedId folded(OpId op) const { return folded_of_[index_of(op)]; }
  // The position of the op's step among the counted ones; only of ops that were folded.
  [[nodiscard]] std::size_t step_position(OpId op) const;
  // The op of the step in this position; no_id when that step does not have it.
  [[nodiscard]] OpId op_at(FoldedId id, std::size_t position) const;

 private:
  void add(OpId op, std::string_view name, const StepSpan& step);

  const Plan& plan_;
  const Trace& trace_;
  CountedSteps steps_;
  std::vector<FoldedOp> ops_;
  std::vector<FoldedId> folded_of_;  // by OpId
  Csr<FoldedId, OpId> ops_of_;       // in the order of the plan
  HashIndex by_name_;
};

// The id without its step: "forward/fc1@rank0" of "step3/forward/fc1@rank0".
std::string_view id_within_step(std::string_view id);

}  // namespace twinrun
