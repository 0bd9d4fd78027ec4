#include "exec/check_payloads.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace twinrun::exec {
namespace {

using Reason = std::optional<std::string>;

bool needs_payload(OpKind kind) { return kind != OpKind::kHost && kind != OpKind::kMarker; }

bool is_within(const CountRange& range, std::int64_t size) {
  return range.begin >= 0 && range.begin <= range.end && range.end <= size;
}

bool is_pass(Verb verb) {
  return verb == Verb::kForward || verb == Verb::kBackwardInput || verb == Verb::kBackwardWeight;
}

class Checker {
 public:
  explicit Checker(const Plan& plan)
      : plan_(plan), workload_(plan.workload()), elements_(element_count(plan.workload())) {}

  Reason run() const {
    if (Reason reason = wrong_layers()) {
      return reason;
    }
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const OpId op = id_at<OpId>(i);
      const Payload* const payload = plan_.payload(op);
      if (payload == nullptr && needs_payload(plan_.kind(op))) {
        return fmt::format(
            "{} does not say which tensors it works on: what it stands for is simulated only, and "
            "cannot be run for real yet",
            plan_.id(op));
      }
      if (payload != nullptr && !names_what_exists(*payload)) {
        return fmt::format("{} works on layers, samples or elements that the workload has not",
                           plan_.id(op));
      }
    }
    return wrong_sizes();
  }

 private:
  // Each layer reads what the one before it writes, and only the last is a loss.
  [[nodiscard]] Reason wrong_layers() const {
    const std::vector<LayerShare> shares = layer_shares(workload_);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const WorkKind kind = workload_.layers[i].kind;
      const bool is_loss = kind == WorkKind::kSoftmaxCrossEntropy || kind == WorkKind::kMeanSquares;
      const bool is_last = i + 1 == shares.size();
      const bool fits = is_last || shares[i].outputs == shares[i + 1].inputs;
      if (is_loss != is_last || !fits || shares[i].inputs < 1) {
        return fmt::format("layer {} does not fit the layers around it", workload_.layers[i].name);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool names_what_exists(const Payload& payload) const {
    const std::size_t layers = workload_.layers.size();
    const bool has_ranges = payload.verb == Verb::kUpdate || payload.verb == Verb::kCopy ||
                            payload.verb == Verb::kAdd || payload.verb == Verb::kMove;
    const bool has_stores = payload.source != Store::kNone && payload.target != Store::kNone;
    return payload.layer < layers && payload.share < payload.shares &&
           payload.tensor_rank < workload_.tensor_ranks && (!has_ranges || has_stores) &&
           is_within(payload.samples, workload_.global_batch) &&
           (!is_pass(payload.verb) || payload.source != Store::kNone) &&
           std::all_of(payload.elements.begin(), payload.elements.end(),
                       [&](const CountRange& range) { return is_within(range, elements_); });
  }

  // What an op moves, in the words of its payload: equal for all that take part.
  [[nodiscard]] static bool is_same_amount(const Payload& a, const Payload& b) {
    const bool rows = has_rows(a.source);
    return rows == has_rows(b.source) && a.shares == b.shares && a.elements == b.elements &&
           (!rows || (a.layer == b.layer && a.samples.size() == b.samples.size()));
  }

  [[nodiscard]] Reason wrong_sizes() const {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const OpId op = id_at<OpId>(i);
      const OpKind kind = plan_.kind(op);
      const bool is_message = kind == OpKind::kSend || kind == OpKind::kRecv;
      if (!is_message && kind != OpKind::kCollective) {
        continue;
      }
      const OpId other = is_message ? plan_.message(op).partner
                                    : plan_.instance_ops(plan_.collective(op).instance).front();
      if (!is_same_amount(*plan_.payload(op), *plan_.payload(other))) {
        return fmt::format("{} and {} do not move the same tensors", plan_.id(op), plan_.id(other));
      }
    }
    return std::nullopt;
  }

  const Plan& plan_;
  const Workload& workload_;
  std::int64_t elements_;
};

}  // namespace

std::optional<std::string> why_not_trainable(const Plan& plan) { return Checker(plan).run(); }

}  // namespace twinrun::exec
