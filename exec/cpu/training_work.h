#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cpu/device_memory.h"
#include "exec/cpu/matrix_product.h"
#include "exec/cpu/op_work.h"
#include "exec/cpu/training_data.h"
#include "exec/cpu/update_rules.h"

namespace twinrun::exec {

// Forward, backward and update for real, as the payloads say; why_not_trainable() has nothing
// against the plan.
class TrainingWork : public OpWork {
 public:
  TrainingWork(const Plan& plan, const Products& products, TrainingData data);

  void compute(OpId op) override;
  MovedData moved(OpId op) override;

  // The newest step that is over, while the run goes on; -1 at first.
  [[nodiscard]] std::int64_t newest_step() const;
  [[nodiscard]] double loss_of_step(std::int64_t step) const;

  // ---- once the run is over
  // By step: the mean over the batch.
  [[nodiscard]] std::vector<double> losses() const;
  // The whole model, layer by layer, from the devices that update it.
  [[nodiscard]] std::vector<float> weights() const;
  // Between devices that update the same element: 0 when all replicas agree.
  [[nodiscard]] float largest_disagreement() const;

 private:
  struct Pass;  // one layer on some samples

  void run_pass(OpId op, const Payload& payload);
  void find_repeated();
  void number_updates();
  void write_output(const Pass& pass, const std::function<void(std::span<float>)>& compute) const;
  const float* input_of(const Pass& pass);
  void linear(const Pass& pass);
  void activation(const Pass& pass);
  void loss(const Pass& pass);
  void loss_of_sample(const Pass& pass, std::int64_t sample);
  void loss_gradient_of_sample(const Pass& pass, std::int64_t sample);
  void run_update(OpId op, const Payload& payload);
  void run_copy(OpId op, const Payload& payload);
  void run_add(OpId op, const Payload& payload);
  void add(OpId op, const Payload& payload);
  void begin_version(DeviceId device, const Payload& payload);
  [[nodiscard]] std::span<float> rows(const Pass& pass, Store store, std::size_t boundary) const;
  void fill_weights();

  const Plan& plan_;
  const Workload& workload_;
  const Products& products_;
  std::vector<LayerShare> shares_;  // by layer
  TrainingData data_;
  DeviceMemory memory_;
  Optimizer optimizer_;
  std::vector<std::int64_t> step_of_op_;
  std::vector<std::int64_t> update_number_;  // by op: of an update, from 0
  std::vector<bool> is_repeated_;            // by op: a forward pass that is recomputed
  std::vector<double> loss_of_sample_;       // by step and sample: each written by one op
  std::vector<std::atomic<std::int64_t>> samples_done_;  // by step: with their loss
  std::vector<std::mutex> servers_;  // by device: a server's streams write the same arrays
};

}  // namespace twinrun::exec
