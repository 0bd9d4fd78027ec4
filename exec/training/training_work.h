#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/local_devices.h"
#include "exec/training/device_memory.h"
#include "exec/training/final_weights.h"
#include "exec/training/op_work.h"
#include "exec/training/tensor_machine.h"
#include "exec/training/training_data.h"
#include "exec/training/update_rules.h"

namespace twinrun::exec {

// What payloads mean: forward, backward and update for real, on whatever machine has the arrays.
// why_not_trainable() has nothing against the plan.
class TrainingWork : public OpWork {
 public:
  TrainingWork(const Plan& plan,
               TensorMachine& machine,
               TrainingData data,
               const LocalDevices& here = {});

  void compute(OpId op) override;
  MovedData moved(OpId op) override;
  void finished(OpId op) override;

  // The newest step that is over, while the run goes on; -1 at first.
  [[nodiscard]] std::int64_t newest_step() const;
  [[nodiscard]] double loss_of_step(std::int64_t step) const;

  // ---- once the run is over, of the devices that are here
  // By step and sample; 0 of samples whose loss another process has.
  [[nodiscard]] std::vector<double> loss_of_samples() const;
  [[nodiscard]] std::vector<UpdatedWeights> updated_weights() const;

 private:
  struct Pass;  // one layer on some samples

  void find_repeated();
  void make_scratch();
  void number_updates();
  void place_samples();
  void fill_weights();
  [[nodiscard]] Pass pass_of(OpId op, const Payload& payload);
  [[nodiscard]] bool tells_losses(OpId op, const Payload& payload) const;

  void run_pass(OpId op, const Payload& payload);
  void write_output(const Pass& pass, const std::function<void(std::span<float>)>& compute) const;
  [[nodiscard]] const float* input_of(const Pass& pass) const;
  void linear(const Pass& pass) const;
  void activation(const Pass& pass) const;
  void loss(const Pass& pass) const;
  void run_update(OpId op, const Payload& payload);
  void run_copy(OpId op, const Payload& payload);
  void run_add(OpId op, const Payload& payload);
  void add(OpId op, const Payload& payload);
  void begin_version(DeviceId device, const Payload& payload, TensorKernels& kernels) const;
  [[nodiscard]] std::span<float> rows(const Pass& pass, Store store, std::size_t boundary) const;
  [[nodiscard]] std::span<float> samples_on(DeviceId device,
                                            std::int64_t step,
                                            const CountRange& samples) const;

  const Plan& plan_;
  const LocalDevices here_;
  const Workload& workload_;
  TensorMachine& machine_;
  std::vector<LayerShare> shares_;  // by layer
  TrainingData data_;
  DeviceMemory memory_;
  Optimizer optimizer_;
  std::vector<std::int64_t> step_of_op_;
  std::vector<std::int64_t> update_number_;  // by op: of an update, from 0
  std::vector<bool> is_repeated_;            // by op: a forward pass that is recomputed
  std::vector<std::span<float>> scratch_;    // by stream: for outputs that are recomputed
  std::vector<SamplePlace> samples_;         // by device
  std::span<double> loss_of_sample_;         // by step and sample: each written by one op
  std::vector<std::atomic<std::int64_t>> samples_done_;  // by step: with their loss
};

}  // namespace twinrun::exec
