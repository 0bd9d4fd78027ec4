#include "core/trace/folded_run.h"

#include <algorithm>

#include "core/base/check.h"

namespace twinrun {

std::string_view id_within_step(std::string_view id) {
  if (!step_of(id)) {
    return id;
  }
  return id.substr(id.find('/') + 1);
}

FoldedRun::FoldedRun(const RunView& run)
    : plan_(run.plan),
      trace_(run.trace),
      steps_(counted_steps(run)),
      folded_of_(run.plan.size(), no_id<FoldedId>()) {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::size_t at = steps_.position_of(plan_.id(op));
    if (at < steps_.spans.size()) {
      add(op, id_within_step(plan_.id(op)), steps_.spans[at]);
    }
  }
  std::vector<FoldedId> rows;
  std::vector<OpId> ops;
  for (std::size_t i = 0; i < folded_of_.size(); ++i) {
    if (folded_of_[i] != no_id<FoldedId>()) {
      rows.push_back(folded_of_[i]);
      ops.push_back(id_at<OpId>(i));
    }
  }
  ops_of_ = Csr<FoldedId, OpId>::from_pairs(ops_.size(), rows, ops);
  for (FoldedOp& op : ops_) {
    const auto count = static_cast<double>(op.count);
    op.ready_s /= count;
    op.start_s /= count;
    op.end_s /= count;
  }
}

void FoldedRun::add(OpId op, std::string_view name, const StepSpan& step) {
  const auto [index, is_new] =
      by_name_.find_or_insert(hash_of(name), static_cast<std::uint32_t>(ops_.size()),
                              [&](std::uint32_t other) { return ops_[other].name == name; });
  if (is_new) {
    ops_.push_back({name, op, 0, 0, 0, 0});
  }
  FoldedOp& folded = ops_[index];
  const OpTimes& times = trace_.ops[index_of(op)];
  folded.op = op;
  ++folded.count;
  folded.ready_s += to_seconds(times.ready - step.begin);
  folded.start_s += to_seconds(times.start - step.begin);
  folded.end_s += to_seconds(times.end - step.begin);
  folded_of_[index_of(op)] = FoldedId{index};
}

FoldedId FoldedRun::find(std::string_view name) const {
  const std::uint32_t index =
      by_name_.find(hash_of(name), [&](std::uint32_t other) { return ops_[other].name == name; });
  return index == HashIndex::kNone ? no_id<FoldedId>() : FoldedId{index};
}

std::size_t FoldedRun::step_position(OpId op) const {
  TWINRUN_DCHECK(folded(op) != no_id<FoldedId>());
  return steps_.position_of(plan_.id(op));
}

OpId FoldedRun::op_at(FoldedId id, std::size_t position) const {
  const auto ops = ops_of_[id];
  const auto is_there = [&](OpId op) { return step_position(op) == position; };
  if (position < ops.size() && is_there(ops[position])) {
    return ops[position];  // the usual: every step has it, in order
  }
  const auto found = std::find_if(ops.begin(), ops.end(), is_there);
  return found == ops.end() ? no_id<OpId>() : *found;
}

}  // namespace twinrun
