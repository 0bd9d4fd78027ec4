#include "core/trace/critical_path.h"

#include <algorithm>

#include "core/trace/device_use.h"

namespace twinrun {
namespace {

class Walk {
 public:
  Walk(const Plan& plan, const Trace& trace) : plan_(plan), trace_(trace) {}

  // Of the ops that started together with this one, the one that was ready last held the others up.
  [[nodiscard]] OpId last_ready(OpId op) const {
    OpId last = op;
    const auto consider = [&](OpId other) {
      if (trace_.ops[index_of(other)].ready > trace_.ops[index_of(last)].ready) {
        last = other;
      }
    };
    const OpKind kind = plan_.kind(op);
    if (kind == OpKind::kCollective) {
      for (const OpId other : plan_.instance_ops(plan_.collective(op).instance)) {
        consider(other);
      }
    } else if (kind == OpKind::kSend || kind == OpKind::kRecv) {
      consider(plan_.message(op).partner);
    }
    return last;
  }

  // What ended last of all that had to end before; the smallest id of several.
  [[nodiscard]] OpId cause(OpId op) const {
    OpId best = previous_in_stream(op);
    for (const OpId before : plan_.predecessors(op)) {
      if (best == no_id<OpId>() || end(before) > end(best) ||
          (end(before) == end(best) && before < best)) {
        best = before;
      }
    }
    return best;
  }

  [[nodiscard]] Time start(OpId op) const { return trace_.ops[index_of(op)].start; }
  [[nodiscard]] Time end(OpId op) const { return trace_.ops[index_of(op)].end; }

 private:
  // Looked up, as few ops are on the path; a stream has its ops in the order of their ids.
  [[nodiscard]] OpId previous_in_stream(OpId op) const {
    const auto ops = plan_.stream_ops(plan_.stream(op));
    const auto at = std::lower_bound(ops.begin(), ops.end(), op);
    return at == ops.begin() ? no_id<OpId>() : *(at - 1);
  }

  const Plan& plan_;
  const Trace& trace_;
};

}  // namespace

CriticalPath critical_path(const Plan& plan, const Trace& trace) {
  CriticalPath path;
  if (plan.size() == 0) {
    return path;
  }
  const Walk walk(plan, trace);
  OpId op = id_at<OpId>(0);
  for (std::size_t i = 1; i < plan.size(); ++i) {
    if (walk.end(id_at<OpId>(i)) > walk.end(op)) {
      op = id_at<OpId>(i);
    }
  }
  while (op != no_id<OpId>()) {
    path.ops.push_back(op);
    const Time took = walk.end(op) - walk.start(op);
    Time& share = is_communication(plan.kind(op)) ? path.communication : path.compute;
    share = share + took;
    const OpId before = walk.cause(walk.last_ready(op));
    const Time since = before == no_id<OpId>() ? Time{} : walk.end(before);
    path.wait = path.wait + (walk.start(op) - since);
    op = before;
  }
  std::reverse(path.ops.begin(), path.ops.end());
  return path;
}

}  // namespace twinrun
