#include "exec/cpu/training_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "core/base/check.h"
#include "core/trace/steps.h"
#include "exec/cpu/layer_kernels.h"

namespace twinrun::exec {

struct TrainingWork::Pass {
  const Payload& payload;
  const WorkLayer& layer;
  const LayerShare& share;
  DeviceId device;
  std::int64_t step;
  bool is_repeated;
};

TrainingWork::TrainingWork(const Plan& plan,
                           const Products& products,
                           TrainingData data,
                           const LocalDevices& here)
    : plan_(plan),
      here_(here),
      workload_(plan.workload()),
      products_(products),
      shares_(layer_shares(plan.workload())),
      data_(std::move(data)),
      memory_(plan, here),
      optimizer_(optimizer_named(plan.workload().optimizer)),
      loss_of_sample_(static_cast<std::size_t>(workload_.steps * workload_.global_batch)),
      samples_done_(static_cast<std::size_t>(workload_.steps)),
      servers_(plan.device_count()) {
  step_of_op_.reserve(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    step_of_op_.push_back(step_of(plan.id(id_at<OpId>(i))).value_or(0));
  }
  find_repeated();
  number_updates();
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

void TrainingWork::fill_weights() {
  std::map<std::uint32_t, std::vector<float>> by_tensor_rank;
  memory_.for_each([&](const DeviceMemory::Key& key, float* array) {
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
    std::copy(known->second.begin(), known->second.end(), array);
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
    return {{data_.inputs(step, payload.samples)}};
  }
  MovedData out;
  out.ranges = memory_.ranges({device, store, step, is_whole}, payload);
  out.is_taken = is_sum(store);
  const bool may_change = is_sum(store) || store == Store::kServerParameters;
  out.lock = may_change ? &servers_[index_of(device)] : nullptr;
  Payload from = payload;
  for (const DeviceId sender :
       exchanges ? plan_.group_devices(plan_.shape(op).group) : std::span<const DeviceId>()) {
    from.sender = sender;
    out.from_each.push_back(memory_.ranges({device, payload.target, step}, from));
  }
  return out;
}

// ---- layers

std::span<float> TrainingWork::rows(const Pass& pass, Store store, std::size_t boundary) const {
  const CountRange& samples = pass.payload.samples;
  return {memory_.row(pass.device, store, boundary, pass.step, samples.begin),
          static_cast<std::size_t>(samples.size() * memory_.width(boundary))};
}

void TrainingWork::run_pass(OpId op, const Payload& payload) {
  const Pass pass{payload,          workload_.layers[payload.layer], shares_[payload.layer],
                  plan_.device(op), step_of_op_[index_of(op)],       is_repeated_[index_of(op)]};
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
  std::vector<float> again(output.size());
  compute(again);
  if (!std::equal(again.begin(), again.end(), output.begin())) {
    std::copy(again.begin(), again.end(), output.begin());
  }
}

const float* TrainingWork::input_of(const Pass& pass) {
  if (pass.payload.source == Store::kSamples) {
    return data_.inputs(pass.step, pass.payload.samples).data();
  }
  return rows(pass, pass.payload.source, pass.payload.layer).data();
}

void TrainingWork::linear(const Pass& pass) {
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
      linear_forward(products_, shape, input, weight, bias, output.data());
    });
  }
  const float* const gradient = rows(pass, Store::kActivationGradients, in + 1).data();
  if (pass.payload.verb == Verb::kBackwardInput) {
    linear_backward_input(products_, shape, gradient, weight,
                          rows(pass, Store::kActivationGradients, in).data());
    return;
  }
  float* const weight_gradient = of_layer(Store::kGradients);
  linear_backward_weight(products_, shape, gradient, input,
                         {weight_gradient,
                          {weight_gradient + pass.share.weight, bias_size},
                          pass.payload.accumulates});
}

void TrainingWork::activation(const Pass& pass) {
  const std::size_t in = pass.payload.layer;
  const bool is_relu = pass.layer.kind == WorkKind::kRelu;
  if (pass.payload.verb == Verb::kForward) {
    write_output(pass, [&](std::span<float> output) {
      (is_relu ? relu_forward : tanh_forward)(rows(pass, Store::kActivations, in), output);
    });
  } else {
    // Of relu either will do, and what went into a block is what it keeps.
    (is_relu ? relu_backward : tanh_backward)(
        rows(pass, Store::kActivations, is_relu ? in : in + 1),
        rows(pass, Store::kActivationGradients, in + 1),
        rows(pass, Store::kActivationGradients, in));
  }
}

void TrainingWork::loss(const Pass& pass) {
  const CountRange& samples = pass.payload.samples;
  for (std::int64_t sample = samples.begin; sample < samples.end; ++sample) {
    if (pass.payload.verb != Verb::kForward) {
      loss_gradient_of_sample(pass, sample);
    } else if (pass.payload.tensor_rank == 0) {  // the others know the same
      loss_of_sample(pass, sample);
    }
  }
  if (pass.payload.verb == Verb::kForward && pass.payload.tensor_rank == 0 && !pass.is_repeated) {
    samples_done_[static_cast<std::size_t>(pass.step)].fetch_add(samples.size(),
                                                                 std::memory_order_release);
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
  const auto batch = static_cast<std::ptrdiff_t>(workload_.global_batch);
  const auto first = loss_of_sample_.begin() + static_cast<std::ptrdiff_t>(step) * batch;
  return std::accumulate(first, first + batch, 0.0) / static_cast<double>(batch);
}

void TrainingWork::loss_of_sample(const Pass& pass, std::int64_t sample) {
  const std::size_t in = pass.payload.layer;
  const std::span<const float> output(
      memory_.row(pass.device, Store::kActivations, in, pass.step, sample),
      static_cast<std::size_t>(memory_.width(in)));
  double& loss =
      loss_of_sample_[static_cast<std::size_t>(pass.step * workload_.global_batch + sample)];
  if (data_.is_integer()) {
    loss = distance(output, data_.target(pass.step, sample));
  } else if (pass.layer.kind == WorkKind::kSoftmaxCrossEntropy) {
    loss = softmax_cross_entropy(output, data_.label(pass.step, sample));
  } else {
    loss = mean_squares(output, data_.target(pass.step, sample));
  }
}

void TrainingWork::loss_gradient_of_sample(const Pass& pass, std::int64_t sample) {
  const std::size_t in = pass.payload.layer;
  const auto width = static_cast<std::size_t>(memory_.width(in));
  const std::span<const float> output(
      memory_.row(pass.device, Store::kActivations, in, pass.step, sample), width);
  const std::span<float> gradient(
      memory_.row(pass.device, Store::kActivationGradients, in, pass.step, sample), width);
  const float scale = 1.0F / static_cast<float>(workload_.samples_per_update);
  if (data_.is_integer()) {
    distance_gradient(output, data_.target(pass.step, sample), gradient);
  } else if (pass.layer.kind == WorkKind::kSoftmaxCrossEntropy) {
    softmax_cross_entropy_gradient(output, data_.label(pass.step, sample), scale, gradient);
  } else {
    mean_squares_gradient(output, data_.target(pass.step, sample), scale, gradient);
  }
}

// ---- elements of the model

// A version of the weights that is not the one before it begins as its copy.
void TrainingWork::begin_version(DeviceId device, const Payload& payload) {
  if (payload.versions == 1) {
    return;
  }
  Payload before = payload;
  before.version = (payload.version + payload.versions - 1) % payload.versions;
  const auto from = memory_.ranges({device, payload.target}, before);
  const auto into = memory_.ranges({device, payload.target}, payload);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::copy(from[i].begin(), from[i].end(), into[i].begin());
  }
}

void TrainingWork::run_update(OpId op, const Payload& payload) {
  const DeviceId device = plan_.device(op);
  const UpdateRule rule{optimizer_, static_cast<float>(workload_.learning_rate),
                        update_number_[index_of(op)], data_.is_integer()};
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
  const std::lock_guard lock(servers_[index_of(device)]);
  begin_version(device, payload);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    update(rule, weights[i], gradients[i], moment(1, weights[i]), moment(2, weights[i]));
    if (is_sum(payload.source)) {
      std::fill(gradients[i].begin(), gradients[i].end(), 0.0F);
    }
  }
}

void TrainingWork::run_copy(OpId op, const Payload& payload) {
  const std::int64_t step = step_of_op_[index_of(op)];
  const DeviceId device = plan_.device(op);
  const auto from = payload.source == Store::kSamples
                        ? std::vector{data_.inputs(step, payload.samples)}
                        : memory_.ranges({device, payload.source, step}, payload);
  const auto into = memory_.ranges({target_device(plan_, op), payload.target, step}, payload);
  const auto lock = payload.source == Store::kServerParameters
                        ? std::unique_lock(servers_[index_of(device)])
                        : std::unique_lock<std::mutex>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::copy(from[i].begin(), from[i].end(), into[i].begin());
    if (payload.target == Store::kHostActivations) {  // who reads them before they are back, shows
      std::fill(from[i].begin(), from[i].end(), std::numeric_limits<float>::quiet_NaN());
    }
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
  const std::lock_guard lock(servers_[index_of(to)]);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::transform(from[i].begin(), from[i].end(), into[i].begin(), into[i].begin(),
                   [](float a, float b) { return a + b; });
    if (is_sum(payload.source)) {
      std::fill(from[i].begin(), from[i].end(), 0.0F);
    }
  }
}

}  // namespace twinrun::exec
