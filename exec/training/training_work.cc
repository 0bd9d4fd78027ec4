#include "exec/training/training_work.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/trace/steps.h"
#include "exec/training/linear_layer.h"

namespace twinrun::exec {

struct TrainingWork::Pass {
  const Payload& payload;
  const WorkLayer& layer;
  const LayerShare& share;
  DeviceId device;
  std::int64_t step;
  bool is_repeated;
  std::span<float> scratch;
  TensorKernels& kernels;
};

TrainingWork::TrainingWork(const Plan& plan,
                           TensorMachine& machine,
                           TrainingData data,
                           const LocalDevices& here)
    : plan_(plan),
      here_(here),
      workload_(plan.workload()),
      machine_(machine),
      shares_(layer_shares(plan.workload())),
      data_(std::move(data)),
      memory_(plan, machine, here),
      optimizer_(optimizer_named(plan.workload().optimizer)),
      samples_(plan.device_count()),
      loss_of_sample_(machine.allocate_losses(
          static_cast<std::size_t>(workload_.steps * workload_.global_batch))),
      samples_done_(static_cast<std::size_t>(workload_.steps)) {
  step_of_op_.reserve(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    step_of_op_.push_back(step_of(plan.id(id_at<OpId>(i))).value_or(0));
  }
  find_repeated();
  make_scratch();
  number_updates();
  place_samples();
  fill_weights();
}

// Adam corrects for how many updates there were: of a step, unless each micro-batch has its own.
void TrainingWork::number_updates() {
  update_number_ = step_of_op_;
  if (workload_.samples_per_update == workload_.global_batch) {
    return;
  }
  std::map<DeviceId, std::int64_t> updates;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const Payload* const payload = plan_.payload(id_at<OpId>(i));
    if (payload != nullptr && payload->verb == Verb::kUpdate) {
      update_number_[i] = updates[plan_.device(id_at<OpId>(i))]++;
    }
  }
}

void TrainingWork::find_repeated() {
  std::set<std::tuple<std::int64_t, DeviceId, std::uint32_t, std::int64_t>> done;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const Payload* const payload = plan_.payload(op);
    const bool is_forward = payload != nullptr && payload->verb == Verb::kForward;
    is_repeated_.push_back(is_forward && !done.insert({step_of_op_[i], plan_.device(op),
                                                       payload->layer, payload->samples.begin})
                                              .second);
  }
}

void TrainingWork::make_scratch() {
  std::vector<std::size_t> wanted(plan_.stream_count());
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (is_repeated_[i] && here_.has(plan_.device(op))) {
      const Payload& payload = *plan_.payload(op);
      std::size_t& of_stream = wanted[index_of(plan_.stream(op))];
      of_stream = std::max(of_stream, static_cast<std::size_t>(payload.samples.size() *
                                                               memory_.width(payload.layer + 1)));
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    scratch_.push_back(wanted[i] == 0
                           ? std::span<float>()
                           : machine_.allocate(plan_.stream_device(id_at<StreamId>(i)), wanted[i]));
  }
}

// On devices whose ops read them: the first layer, the loss, and those that hand them on.
void TrainingWork::place_samples() {
  std::vector<bool> reads(plan_.device_count());
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const Payload* const payload = plan_.payload(op);
    if (payload == nullptr || !here_.has(plan_.device(op))) {
      continue;
    }
    const bool is_loss = payload->layer + 1 == workload_.layers.size() &&
                         (payload->verb == Verb::kForward || payload->verb == Verb::kBackwardInput);
    if (payload->source == Store::kSamples || is_loss) {
      reads[index_of(plan_.device(op))] = true;
    }
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (reads[i]) {
      samples_[i] = machine_.place_samples(id_at<DeviceId>(i), data_);
    }
  }
}

void TrainingWork::fill_weights() {
  std::map<std::uint32_t, std::vector<float>> by_tensor_rank;
  memory_.for_each([&](const DeviceMemory::Key& key, std::span<float> array) {
    const bool is_weights =
        (key.store == Store::kParameters || key.store == Store::kServerParameters ||
         key.store == Store::kHostParameters) &&
        key.moment == 0;
    if (!is_weights) {
      return;
    }
    auto [known, is_new] = by_tensor_rank.try_emplace(key.number);
    if (is_new) {
      known->second = data_.initial_weights(key.number);
    }
    machine_.write(known->second, array);
  });
}

void TrainingWork::compute(OpId op) {
  const Payload* const payload = plan_.payload(op);
  if (payload == nullptr) {
    return;
  }
  switch (payload->verb) {
    case Verb::kForward:
    case Verb::kBackwardInput:
    case Verb::kBackwardWeight:
      return run_pass(op, *payload);
    case Verb::kUpdate:
      return run_update(op, *payload);
    case Verb::kCopy:
      return run_copy(op, *payload);
    case Verb::kAdd:
      return run_add(op, *payload);
    case Verb::kNothing:
    case Verb::kMove:
      return;
  }
}

MovedData TrainingWork::moved(OpId op) {
  const Payload& payload = *plan_.payload(op);
  const bool exchanges = is_exchange(plan_, op);
  const bool is_whole =
      plan_.kind(op) == OpKind::kCollective && divides_ranges(plan_.shape(op).kind);
  const bool is_read = plan_.kind(op) == OpKind::kSend || exchanges;
  const Store store = is_read ? payload.source : payload.target;
  const DeviceId device = plan_.device(op);
  const std::int64_t step = step_of_op_[index_of(op)];
  if (store == Store::kSamples) {
    return {{samples_on(device, step, payload.samples)}};
  }
  MovedData out;
  out.ranges = memory_.ranges({device, store, step, is_whole}, payload);
  out.is_taken = is_sum(store);
  out.is_shared = is_sum(store) || store == Store::kServerParameters;
  out.lock = out.is_shared ? machine_.lock_of(device) : nullptr;
  Payload from = payload;
  for (const DeviceId sender :
       exchanges ? plan_.group_devices(plan_.shape(op).group) : std::span<const DeviceId>()) {
    from.sender = sender;
    out.from_each.push_back(memory_.ranges({device, payload.target, step}, from));
  }
  return out;
}

std::span<float> TrainingWork::samples_on(DeviceId device,
                                          std::int64_t step,
                                          const CountRange& samples) const {
  const std::size_t width = data_.input_width();
  return {samples_[index_of(device)].inputs + data_.row_of(step, samples.begin) * width,
          static_cast<std::size_t>(samples.size()) * width};
}

// ---- layers

std::span<float> TrainingWork::rows(const Pass& pass, Store store, std::size_t boundary) const {
  const CountRange& samples = pass.payload.samples;
  return {memory_.row(pass.device, store, boundary, pass.step, samples.begin),
          static_cast<std::size_t>(samples.size() * memory_.width(boundary))};
}

TrainingWork::Pass TrainingWork::pass_of(OpId op, const Payload& payload) {
  return {payload,
          workload_.layers[payload.layer],
          shares_[payload.layer],
          plan_.device(op),
          step_of_op_[index_of(op)],
          is_repeated_[index_of(op)],
          scratch_[index_of(plan_.stream(op))],
          machine_.kernels(op)};
}

void TrainingWork::run_pass(OpId op, const Payload& payload) {
  const Pass pass = pass_of(op, payload);
  switch (pass.layer.kind) {
    case WorkKind::kLinear:
      return linear(pass);
    case WorkKind::kRelu:
    case WorkKind::kTanh:
      return activation(pass);
    case WorkKind::kSoftmaxCrossEntropy:
    case WorkKind::kMeanSquares:
      return loss(pass);
  }
}

// What is recomputed may still be on its way to the next stage: it is compared, and written only if
// it were different.
void TrainingWork::write_output(const Pass& pass,
                                const std::function<void(std::span<float>)>& compute) const {
  const std::span<float> output = rows(pass, Store::kActivations, pass.payload.layer + 1);
  if (!pass.is_repeated) {
    return compute(output);
  }
  const std::span<float> again = pass.scratch.first(output.size());
  compute(again);
  pass.kernels.replace(again, output);
}

const float* TrainingWork::input_of(const Pass& pass) const {
  if (pass.payload.source == Store::kSamples) {
    return samples_on(pass.device, pass.step, pass.payload.samples).data();
  }
  return rows(pass, pass.payload.source, pass.payload.layer).data();
}

void TrainingWork::linear(const Pass& pass) const {
  const std::size_t in = pass.payload.layer;
  const LinearShape shape{pass.payload.samples.size(), pass.share.inputs, pass.share.outputs};
  const float* const input = input_of(pass);
  const auto of_layer = [&](Store store) {
    return memory_.array(DeviceMemory::key_of(pass.device, store, pass.payload)) +
           pass.share.first_element;
  };
  const auto bias_size = static_cast<std::size_t>(pass.share.bias);
  float* const weight = of_layer(Store::kParameters);
  if (pass.payload.verb == Verb::kForward) {
    const bool adds_bias =
        pass.layer.division != LayerDivision::kRows || pass.payload.tensor_rank == 0;
    const std::span<const float> bias(weight + pass.share.weight, adds_bias ? bias_size : 0);
    return write_output(pass, [&](std::span<float> output) {
      linear_forward(pass.kernels, shape, input, weight, bias, output.data());
    });
  }
  const float* const gradient = rows(pass, Store::kActivationGradients, in + 1).data();
  if (pass.payload.verb == Verb::kBackwardInput) {
    linear_backward_input(pass.kernels, shape, gradient, weight,
                          rows(pass, Store::kActivationGradients, in).data());
    return;
  }
  float* const weight_gradient = of_layer(Store::kGradients);
  linear_backward_weight(pass.kernels, shape, gradient, input,
                         {weight_gradient,
                          {weight_gradient + pass.share.weight, bias_size},
                          pass.payload.accumulates});
}

void TrainingWork::activation(const Pass& pass) const {
  const std::size_t in = pass.payload.layer;
  const bool is_relu = pass.layer.kind == WorkKind::kRelu;
  const Activation kind = is_relu ? Activation::kRelu : Activation::kTanh;
  if (pass.payload.verb == Verb::kForward) {
    return write_output(pass, [&](std::span<float> output) {
      pass.kernels.activate(kind, rows(pass, Store::kActivations, in), output);
    });
  }
  // Of relu either will do, and what went into a block is what it keeps.
  pass.kernels.activate_backward(kind, rows(pass, Store::kActivations, is_relu ? in : in + 1),
                                 rows(pass, Store::kActivationGradients, in + 1),
                                 rows(pass, Store::kActivationGradients, in));
}

void TrainingWork::loss(const Pass& pass) const {
  const std::size_t in = pass.payload.layer;
  const CountRange& samples = pass.payload.samples;
  const SamplePlace& place = samples_[index_of(pass.device)];
  const std::size_t row = data_.row_of(pass.step, samples.begin);
  LossRows loss;
  loss.kind = data_.is_integer()                                  ? LossKind::kDistance
              : pass.layer.kind == WorkKind::kSoftmaxCrossEntropy ? LossKind::kSoftmaxCrossEntropy
                                                                  : LossKind::kMeanSquares;
  loss.rows = samples.size();
  loss.width = memory_.width(in);
  loss.output = rows(pass, Store::kActivations, in).data();
  loss.targets = place.targets + row * data_.target_width();
  loss.labels = place.labels + row;
  loss.scale = 1.0F / static_cast<float>(workload_.samples_per_update);
  if (pass.payload.verb != Verb::kForward) {
    pass.kernels.loss_gradient(loss, rows(pass, Store::kActivationGradients, in).data());
  } else if (pass.payload.tensor_rank == 0) {  // the others know the same
    pass.kernels.losses(
        loss, loss_of_sample_.subspan(
                  static_cast<std::size_t>(pass.step * workload_.global_batch + samples.begin),
                  static_cast<std::size_t>(samples.size())));
  }
}

bool TrainingWork::tells_losses(OpId op, const Payload& payload) const {
  return payload.verb == Verb::kForward && payload.layer + 1 == workload_.layers.size() &&
         payload.tensor_rank == 0 && !is_repeated_[index_of(op)];
}

void TrainingWork::finished(OpId op) {
  const Payload* const payload = plan_.payload(op);
  if (payload != nullptr && tells_losses(op, *payload)) {
    samples_done_[static_cast<std::size_t>(step_of_op_[index_of(op)])].fetch_add(
        payload->samples.size(), std::memory_order_release);
  }
}

std::int64_t TrainingWork::newest_step() const {
  std::int64_t step = workload_.steps - 1;
  while (step >= 0 && samples_done_[static_cast<std::size_t>(step)].load(
                          std::memory_order_acquire) != workload_.global_batch) {
    --step;
  }
  return step;
}

double TrainingWork::loss_of_step(std::int64_t step) const {
  const auto batch = static_cast<std::size_t>(workload_.global_batch);
  const std::span<const double> losses =
      loss_of_sample_.subspan(static_cast<std::size_t>(step) * batch, batch);
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(batch);
}

std::vector<double> TrainingWork::loss_of_samples() const {
  return {loss_of_sample_.begin(), loss_of_sample_.end()};
}

// ---- elements of the model

// A version of the weights that is not the one before it begins as its copy.
void TrainingWork::begin_version(DeviceId device,
                                 const Payload& payload,
                                 TensorKernels& kernels) const {
  if (payload.versions == 1) {
    return;
  }
  Payload before = payload;
  before.version = (payload.version + payload.versions - 1) % payload.versions;
  const auto from = memory_.ranges({device, payload.target}, before);
  const auto into = memory_.ranges({device, payload.target}, payload);
  for (std::size_t i = 0; i < from.size(); ++i) {
    kernels.copy(from[i], into[i], false);
  }
}

void TrainingWork::run_update(OpId op, const Payload& payload) {
  const DeviceId device = plan_.device(op);
  const UpdateNumbers rule = numbers_of({optimizer_, static_cast<float>(workload_.learning_rate),
                                         update_number_[index_of(op)], data_.is_integer()});
  const auto gradients = memory_.ranges({device, payload.source}, payload);
  const auto weights = memory_.ranges({device, payload.target}, payload);
  const DeviceMemory::Key key = DeviceMemory::key_of(device, payload.target, payload);
  const float* const base = memory_.array(key);
  const auto moment = [&](int number, std::span<float> of) -> std::span<float> {
    if (number > moments_of(optimizer_)) {
      return {};
    }
    return {memory_.array(DeviceMemory::moment_key(key, number)) + (of.data() - base), of.size()};
  };
  TensorKernels& kernels = machine_.kernels(op);
  kernels.exclusively(device, [&] {
    begin_version(device, payload, kernels);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      kernels.update(rule, {weights[i], gradients[i], moment(1, weights[i]), moment(2, weights[i]),
                            is_sum(payload.source)});
    }
  });
}

void TrainingWork::run_copy(OpId op, const Payload& payload) {
  const std::int64_t step = step_of_op_[index_of(op)];
  const DeviceId device = plan_.device(op);
  const auto from = payload.source == Store::kSamples
                        ? std::vector{samples_on(device, step, payload.samples)}
                        : memory_.ranges({device, payload.source, step}, payload);
  const auto into = memory_.ranges({target_device(plan_, op), payload.target, step}, payload);
  TensorKernels& kernels = machine_.kernels(op);
  const auto copy = [&] {
    for (std::size_t i = 0; i < from.size(); ++i) {
      kernels.copy(from[i], into[i], false);
      if (payload.target == Store::kHostActivations) {  // who reads them too soon, shows
        kernels.fill(from[i], std::numeric_limits<float>::quiet_NaN());
      }
    }
  };
  if (payload.source == Store::kServerParameters) {
    kernels.exclusively(device, copy);
  } else {
    copy();
  }
}

void TrainingWork::run_add(OpId op, const Payload& payload) {
  const bool adds_all = payload.source == Store::kArrived && payload.sender == no_id<DeviceId>();
  if (!adds_all) {
    return add(op, payload);
  }
  Payload of_one = payload;
  for (const DeviceId sender : memory_.senders(plan_.device(op), payload.tensor_rank)) {
    of_one.sender = sender;
    add(op, of_one);
  }
}

void TrainingWork::add(OpId op, const Payload& payload) {
  const DeviceId to = target_device(plan_, op);
  const auto from = memory_.ranges({plan_.device(op), payload.source}, payload);
  const auto into = memory_.ranges({to, payload.target}, payload);
  TensorKernels& kernels = machine_.kernels(op);
  kernels.exclusively(to, [&] {
    for (std::size_t i = 0; i < from.size(); ++i) {
      kernels.add(from[i], into[i], is_sum(payload.source));
    }
  });
}

}  // namespace twinrun::exec
