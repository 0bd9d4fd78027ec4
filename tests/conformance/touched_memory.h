#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/trace/steps.h"
#include "exec/cpu/cpu_machine.h"
#include "exec/training/device_memory.h"

namespace twinrun {

// A part of memory that an op reads or writes.
struct Touch {
  const float* begin = nullptr;
  const float* end = nullptr;
  bool writes = false;
  bool adds = false;  // which may be done in any order
};

// What every op of a plan touches, by its payload.
class TouchedMemory {
 public:
  explicit TouchedMemory(const Plan& plan)
      : plan_(plan), machine_(plan, exec::ProductLibrary::kBuiltIn), memory_(plan, machine_) {
    const std::vector<LayerShare> shares = layer_shares(plan.workload());
    for (std::size_t i = 0; i < plan.size(); ++i) {
      touches_.emplace_back();
      if (const Payload* const payload = plan.payload(id_at<OpId>(i))) {
        add_op(id_at<OpId>(i), *payload, shares);
      }
    }
  }

  // Whether the two may not run at the same time.
  [[nodiscard]] bool conflict(OpId a, OpId b) const {
    const auto& of_b = touches_[index_of(b)];
    return std::any_of(touches_[index_of(a)].begin(), touches_[index_of(a)].end(),
                       [&](const Touch& one) {
                         return std::any_of(of_b.begin(), of_b.end(), [&](const Touch& other) {
                           const bool meet = one.begin < other.end && other.begin < one.end;
                           return meet && (one.writes || other.writes) && !(one.adds && other.adds);
                         });
                       });
  }

 private:
  void add_op(OpId op, const Payload& payload, const std::vector<LayerShare>& shares) {
    op_ = op;
    step_ = step_of(plan_.id(op)).value_or(0);
    device_ = plan_.device(op);
    switch (payload.verb) {
      case Verb::kForward:
      case Verb::kBackwardInput:
      case Verb::kBackwardWeight:
        return add_pass(payload, shares[payload.layer]);
      case Verb::kUpdate:
        reads(device_, payload.source, payload);
        if (is_sum(payload.source)) {
          writes(device_, payload.source, payload);
        }
        return writes(device_, payload.target, payload);
      case Verb::kCopy:
        reads(device_, payload.source, payload);
        return writes(exec::target_device(plan_, op), payload.target, payload);
      case Verb::kAdd:
        reads(device_, payload.source, payload);
        return touch(exec::target_device(plan_, op), payload.target, payload, true, true);
      case Verb::kMove:
        if (plan_.kind(op) != OpKind::kRecv) {
          reads(device_, payload.source, payload);
        }
        if (plan_.kind(op) != OpKind::kSend) {
          writes(device_, payload.target, payload);
        }
        return;
      case Verb::kNothing:
        return;
    }
  }

  void add_pass(const Payload& payload, const LayerShare& share) {
    Payload rows = payload;
    Payload elements = payload;
    elements.elements = {{share.first_element, share.first_element + share.weight + share.bias}};
    const bool has_weights = share.weight > 0;
    if (payload.verb != Verb::kBackwardInput || !has_weights) {
      reads(device_, payload.source, payload);
    }
    if (payload.verb != Verb::kBackwardWeight && has_weights) {
      reads(device_, Store::kParameters, elements);
    }
    if (payload.verb == Verb::kBackwardWeight) {
      writes(device_, Store::kGradients, elements);
    }
    if (payload.verb == Verb::kBackwardInput) {
      writes(device_, Store::kActivationGradients, rows);
    }
    rows.layer = payload.layer + 1;
    if (payload.verb == Verb::kForward) {
      writes(device_, Store::kActivations, rows);
    } else {
      reads(device_, Store::kActivationGradients, rows);
    }
  }

  void reads(DeviceId device, Store store, const Payload& payload) {
    touch(device, store, payload, false, false);
  }
  void writes(DeviceId device, Store store, const Payload& payload) {
    touch(device, store, payload, true, false);
  }
  void touch(DeviceId device, Store store, const Payload& payload, bool writes, bool adds) {
    const bool is_unknown = store == Store::kArrived && payload.sender == no_id<DeviceId>();
    if (store == Store::kNone || store == Store::kSamples || is_unknown) {
      return;
    }
    const bool is_whole = plan_.kind(op_) == OpKind::kCollective;
    for (const std::span<float> range : memory_.ranges({device, store, step_, is_whole}, payload)) {
      touches_.back().push_back({range.data(), range.data() + range.size(), writes, adds});
    }
  }

  const Plan& plan_;
  exec::CpuMachine machine_;
  exec::DeviceMemory memory_;
  std::vector<std::vector<Touch>> touches_;  // by op
  OpId op_{};                                // the one at hand, …
  std::int64_t step_ = 0;                    // … its step
  DeviceId device_{};                        // … and device
};

}  // namespace twinrun
