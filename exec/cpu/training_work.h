#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "core/plan/plan.h"
#include "exec/cpu/device_memory.h"
#include "exec/cpu/final_weights.h"
#include "exec/cpu/matrix_product.h"
#include "exec/cpu/op_work.h"
#include "exec/cpu/training_data.h"
#include "exec/cpu/update_rules.h"
#include "exec/local_devices.h"

namespace twinrun::exec {

// Forward, backward and update for real, as the payloads say; why_not_trainable() has nothing
// against the plan.
class TrainingWork : public OpWork {
 public:
  TrainingWork(const Plan& plan,
               const Products& products,
               TrainingData data,
               const LocalDevices& here = {});

  void compute(OpId op) override;
  MovedData moved(OpId op) override;

  // The newest step that is over, while the run goes on; -1 at first.
  [[nodiscard]] std::int64_t newest_step() const;
  [[nodiscard]] double loss_of_step(std::int64_t step) const;

  // ---- once the run is over, of the devices that are here
  // By step and sample; 0 of samples whose loss another process has.
  [[nodiscard]] const std::vector<double>& loss_of_samples() const { return loss_of_sample_; }
  [[nodiscard]] std::vector<UpdatedWeights> updated_weights() const;

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
  const LocalDevices here_;
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
