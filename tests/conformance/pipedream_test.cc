#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exec/cpu/cpu_machine.h"
#include "exec/cpu/layer_kernels.h"
#include "exec/training/linear_layer.h"
#include "exec/training/training_data.h"
#include "exec/training/update_rules.h"
#include "tests/conformance/trained_runs.h"

// PipeDream does not end with the weights of one device: each stage learns with weights that are
// some updates old, and goes back with those it came forward with. What it must end with is told
// here pass by pass, without a plan: w(j + 1) = w(j) - gradient at w(j - ahead of the stage).

namespace twinrun {
namespace {

using exec::LinearShape;

constexpr std::int64_t kBatch = 12;
constexpr std::int64_t kSteps = 10;
const std::string kModel = "mlp-12-16-8-16-8-4";

struct Shape {
  std::int64_t stages = 2;
  std::int64_t micro_batch = 3;  // of a replica
  std::int64_t replicas = 1;
};

Job pipedream_job(const Shape& shape) {
  Job job;
  job.name = "pipedream";
  job.parallelism.strategy = "pipedream";
  job.parallelism.pipeline_parallel_degree = shape.stages;
  job.training.global_batch_size = kBatch;
  job.training.micro_batch_size = shape.micro_batch;
  job.training.learning_rate = 0.05;
  return job;
}

std::string machine_of(const Shape& shape) {
  return "dgx1-v100:gpus=" + std::to_string(shape.stages * shape.replicas);
}

// One pass after the other over the whole model.
class Reference {
 public:
  Reference(const CompiledJob& compiled, bool uses_integers)
      : workload_(compiled.plan.workload()),
        layout_(compiled.layout),
        shares_(layer_shares(workload_)),
        data_(workload_, uses_integers ? exec::DataKind::kIntegers : exec::DataKind::kClusters, 1),
        versions_{data_.initial_weights(0)},
        first_moments_(versions_[0].size()),
        second_moments_(versions_[0].size()) {
    find_stages(compiled.plan);
  }

  std::vector<float> train() {
    for (std::int64_t pass = 0; pass < workload_.steps * layout_.micro_batches; ++pass) {
      gradient_.assign(versions_[0].size(), 0.0F);
      for (std::int64_t replica = 0; replica < layout_.replicas; ++replica) {
        learn(pass, replica);
      }
      std::vector<float> next = versions_.back();
      exec::update_weights(
          exec::numbers_of({exec::optimizer_named(workload_.optimizer),
                            static_cast<float>(workload_.learning_rate), pass, data_.is_integer()}),
          {next, gradient_, first_moments_, second_moments_});
      versions_.push_back(next);
    }
    return versions_.back();
  }

 private:
  void find_stages(const Plan& plan) {
    stage_of_.resize(workload_.layers.size());
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const Payload* const payload = plan.payload(id_at<OpId>(i));
      if (payload != nullptr && payload->verb == Verb::kForward) {
        const auto rank = static_cast<std::int64_t>(index_of(plan.device(id_at<OpId>(i))));
        stage_of_[payload->layer] = rank / layout_.stage_stride % layout_.stages;
      }
    }
  }

  const float* weights(std::size_t layer, std::int64_t pass) const {
    const std::int64_t ahead = layout_.stages - 1 - stage_of_[layer];
    const auto version = static_cast<std::size_t>(std::max<std::int64_t>(0, pass - ahead));
    return versions_[version].data() + shares_[layer].first_element;
  }

  void learn(std::int64_t pass, std::int64_t replica) {
    const std::int64_t step = pass / layout_.micro_batches;
    const std::int64_t first =
        replica * layout_.local_batch + pass % layout_.micro_batches * layout_.micro_batch;
    const CountRange samples{first, first + layout_.micro_batch};
    const std::span<float> inputs = data_.inputs(step, samples);
    std::vector<std::vector<float>> values{{inputs.begin(), inputs.end()}};
    const std::size_t loss = workload_.layers.size() - 1;
    for (std::size_t layer = 0; layer < loss; ++layer) {
      values.push_back(forward(layer, pass, values.back()));
    }
    std::vector<float> gradient(values.back().size());
    const std::size_t width = gradient.size() / static_cast<std::size_t>(samples.size());
    for (std::int64_t i = 0; i < samples.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * width;
      loss_gradient(step, first + i, std::span(values.back()).subspan(at, width),
                    std::span(gradient).subspan(at, width));
    }
    for (std::size_t layer = loss; layer-- > 0;) {
      gradient = backward(layer, pass, values[layer], values[layer + 1], gradient);
    }
  }

  void loss_gradient(std::int64_t step,
                     std::int64_t sample,
                     std::span<const float> output,
                     std::span<float> gradient) const {
    if (data_.is_integer()) {
      return exec::distance_gradient(output, data_.target(step, sample), gradient);
    }
    const auto update = static_cast<float>(layout_.micro_batch * layout_.replicas);
    exec::softmax_cross_entropy_gradient(output, data_.label(step, sample), 1 / update, gradient);
  }

  LinearShape shape_of(std::size_t layer) const {
    return {layout_.micro_batch, shares_[layer].inputs, shares_[layer].outputs};
  }

  std::vector<float> forward(std::size_t layer,
                             std::int64_t pass,
                             const std::vector<float>& input) {
    std::vector<float> output(
        static_cast<std::size_t>(layout_.micro_batch * shares_[layer].outputs));
    if (workload_.layers[layer].kind == WorkKind::kRelu) {
      exec::relu_forward(input, output);
      return output;
    }
    const float* const weight = weights(layer, pass);
    exec::linear_forward(
        kernels_, shape_of(layer), input.data(), weight,
        {weight + shares_[layer].weight, static_cast<std::size_t>(shares_[layer].bias)},
        output.data());
    return output;
  }

  std::vector<float> backward(std::size_t layer,
                              std::int64_t pass,
                              const std::vector<float>& input,
                              const std::vector<float>& output,
                              const std::vector<float>& output_gradient) {
    std::vector<float> input_gradient(input.size());
    if (workload_.layers[layer].kind == WorkKind::kRelu) {
      exec::relu_backward(output, output_gradient, input_gradient);
      return input_gradient;
    }
    exec::linear_backward_input(kernels_, shape_of(layer), output_gradient.data(),
                                weights(layer, pass), input_gradient.data());
    float* const weight = gradient_.data() + shares_[layer].first_element;
    exec::linear_backward_weight(
        kernels_, shape_of(layer), output_gradient.data(), input.data(),
        {weight,
         {weight + shares_[layer].weight, static_cast<std::size_t>(shares_[layer].bias)},
         true});
    return input_gradient;
  }

  const Workload& workload_;
  const Layout& layout_;
  std::vector<LayerShare> shares_;
  exec::TrainingData data_;
  exec::Products products_{exec::ProductLibrary::kBuiltIn};
  std::vector<std::mutex> no_devices_;
  exec::CpuKernels kernels_{products_, no_devices_};
  std::vector<std::int64_t> stage_of_;        // by layer
  std::vector<std::vector<float>> versions_;  // of the model, by updates so far
  std::vector<float> gradient_;
  std::vector<float> first_moments_;
  std::vector<float> second_moments_;
};

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], 1e-5) << "element " << i;
  }
}

// From pipelines that hold several steps at once to one stage, which is plain training.
TEST(Pipedream, LearnsWithTheWeightsThatPassesStartedWith) {
  for (const Shape& shape : {Shape{1, 3, 1}, Shape{2, 3, 1}, Shape{2, 12, 1}, Shape{4, 12, 1},
                             Shape{5, 6, 1}, Shape{3, 2, 2}, Shape{4, 6, 2}, Shape{3, 4, 1}}) {
    SCOPED_TRACE(testing::Message() << shape.stages << " stages, micro-batches of "
                                    << shape.micro_batch << ", replicas " << shape.replicas);
    const Job job = pipedream_job(shape);
    const TrainedRun run = train(job, kModel, machine_of(shape), kSteps, true);
    EXPECT_EQ(run.execution.weights, Reference(run.compiled, true).train());
    const TrainedRun reals = train(job, kModel, machine_of(shape), kSteps, false);
    expect_near(reals.execution.weights, Reference(reals.compiled, false).train());
  }
}

TEST(Pipedream, CountsUpdatesForAdamAndRecomputesWithTheSameWeights) {
  Job job = pipedream_job({3, 3, 1});
  job.training.optimizer = Optimizer::kAdam;
  job.training.learning_rate = 0.01;
  job.training.recompute = Recompute::kFull;
  const TrainedRun run = train(job, kModel, machine_of({3, 3, 1}), kSteps, false);
  expect_near(run.execution.weights, Reference(run.compiled, false).train());
}

TEST(Pipedream, LearnsSomething) {
  Job job = pipedream_job({4, 3, 1});
  job.training.learning_rate = 0.1;
  const TrainedRun run = train(job, kModel, machine_of({4, 3, 1}), 6 * kSteps, false);
  EXPECT_LT(run.execution.losses.back(), 0.6 * run.execution.losses.front());
}

}  // namespace
}  // namespace twinrun
