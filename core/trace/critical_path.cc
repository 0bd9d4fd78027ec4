#include "core/trace/critical_path.h"

#include <algorithm>
#include <cstdint>
#include <limits>

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
    } else if ((kind == OpKind::kSend || kind == OpKind::kRecv) &&
               plan_.message(op).partner != no_id<OpId>()) {  // none in part of a foreign trace
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

  // Of those that ended in the window; the first of several, no_id without any.
  [[nodiscard]] OpId last_to_end(const Interval& window) const {
    OpId last = no_id<OpId>();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const auto op = id_at<OpId>(i);
      if (end(op) > window.begin && end(op) <= window.end &&
          (last == no_id<OpId>() || end(op) > end(last))) {
        last = op;
      }
    }
    return last;
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
  return critical_path(plan, trace, {Time{-1}, Time{std::numeric_limits<std::int64_t>::max()}});
}

CriticalPath critical_path(const Plan& plan, const Trace& trace, const Interval& window) {
  CriticalPath path;
  const Walk walk(plan, trace);
  OpId op = walk.last_to_end(window);
  const Time from = std::max(window.begin, Time{});
  while (op != no_id<OpId>()) {
    path.ops.push_back(op);
    const Time start = std::max(walk.start(op), from);
    Time& share = is_communication(plan.kind(op)) ? path.communication : path.compute;
    share = share + (walk.end(op) - start);
    const OpId before = walk.cause(walk.last_ready(op));
    const bool is_first = before == no_id<OpId>() || walk.end(before) <= window.begin;
    path.wait = path.wait + (start - (is_first ? from : walk.end(before)));
    op = is_first ? no_id<OpId>() : before;
  }
  std::reverse(path.ops.begin(), path.ops.end());
  return path;
}

}  // namespace twinrun
