#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/plan/payload.h"
#include "core/plan/workload.h"
#include "core/strategy/job.h"
#include "core/strategy/layout.h"
#include "core/strategy/pieces.h"

namespace twinrun {

// The training of a job, where every layer has a real kernel; else why it cannot be trained.
struct TrainedJob {
  Workload workload;
  std::string why_not;  // a sentence; "" when it can
};
// In fp32, or also with products of tf32, fp16 and bf16; weights are fp32 in any case.
TrainedJob trained_job(const Job& job,
                       const Model& model,
                       const Layout& layout,
                       bool in_short_types);

// What a pass works on.
struct PassData {
  CountRange samples = {};
  bool accumulates = false;       // gradients of earlier micro-batches are there
  Store input = Store::kSamples;  // where the first layer finds its samples
  std::uint32_t version = 0;      // of the weights, …
  std::uint32_t versions = 1;     // … of so many that are kept
};

// Makes the payloads of ops; a plan that is only simulated has none.
class Payloads {
 public:
  Payloads() = default;
  explicit Payloads(Workload workload);

  [[nodiscard]] bool wanted() const { return workload_.is_trained(); }
  [[nodiscard]] const Workload& workload() const { return workload_; }

  // Elements of a layer, and of one of its tensors, in the order of registration.
  [[nodiscard]] CountRange layer(std::size_t layer) const;
  [[nodiscard]] CountRange tensor(std::size_t layer, std::size_t tensor) const;

  // Whether tensor-parallel ranks hold different parts of what goes over a boundary.
  [[nodiscard]] bool is_divided(std::size_t boundary) const;

  [[nodiscard]] static Payload pass(const Piece& piece, const PassData& data, std::int64_t tensor);
  // Rows of a boundary between layers, in a message or collective.
  [[nodiscard]] static Payload rows(Store store, std::size_t boundary, CountRange samples);
  [[nodiscard]] static Payload elements(
      Verb verb, Store source, Store target, std::int64_t tensor, std::vector<CountRange> ranges);
  // In a message or collective.
  [[nodiscard]] static Payload elements(Store store,
                                        std::int64_t tensor,
                                        std::vector<CountRange> ranges);

 private:
  Workload workload_;
  std::vector<LayerShare> shares_;  // by layer
};

// Sorted, neighbours as one.
std::vector<CountRange> joined(std::vector<CountRange> ranges);

}  // namespace twinrun
