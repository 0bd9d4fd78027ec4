#include "core/strategy/layer_work.h"

#include <gtest/gtest.h>

#include "core/model/catalogue.h"
#include "core/model/transformer.h"
#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

// One layer of each kind at the sizes of ResNet-50's second stage, and what follows it.
LayerWork work_named(const Model& model, std::string_view name, const WorkOptions& options) {
  const std::vector<LayerWork> work = layer_work(model, options);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].name == name) {
      return work[i];
    }
  }
  ADD_FAILURE() << "no layer " << name;
  return {};
}

void expect_shape(const ComputeSpec& spec, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  ASSERT_TRUE(spec.kernel);
  EXPECT_EQ(spec.kernel->m, m);
  EXPECT_EQ(spec.kernel->n, n);
  EXPECT_EQ(spec.kernel->k, k);
}

// layer2.0.conv2: 128 channels of 56 × 56 to 128 of 28 × 28, window 3 × 3, stride 2.
TEST(LayerWork, OfAConvolutionIsThreeProductsOfTheSameFlops) {
  const LayerWork work =
      work_named(*catalogue_model("resnet50", 0), "layer2.0.conv2", {.samples = 2});
  expect_shape(work.forward, 2 * 784, 128, 9 * 128);
  expect_shape(*work.backward_input, 2 * 3136, 128, 9 * 128 / 4);
  expect_shape(*work.backward_weight, 128, 9 * 128, 2 * 784);
  for (const ComputeSpec* spec : {&work.forward, &*work.backward_input, &*work.backward_weight}) {
    EXPECT_EQ(spec->flops, 2.0 * 2 * 784 * 128 * 9 * 128);
    EXPECT_EQ(spec->kernel->taps, 9U);
    EXPECT_EQ(spec->kernel->stride, 2U);
    EXPECT_EQ(spec->bytes.count, 4 * (2 * 128 * 3136 + 2 * 128 * 784 + 9 * 128 * 128));
  }
  EXPECT_EQ(work.backward_input->kernel->gradient, GradientOf::kInput);
  EXPECT_EQ(work.backward_weight->kernel->gradient, GradientOf::kWeight);
}

TEST(LayerWork, OfALinearLayerHasTheProductOfEachPass) {
  const LayerWork work = work_named(*catalogue_model("resnet50", 0), "fc", {.samples = 32});
  expect_shape(work.forward, 32, 1000, 2048);
  expect_shape(*work.backward_input, 32, 2048, 1000);
  expect_shape(*work.backward_weight, 1000, 2048, 32);
  EXPECT_EQ(work.forward.kernel->taps, 0U);
}

TEST(LayerWork, OfBatchNormReadsForStatisticsFirst) {
  const Model model = *catalogue_model("resnet50", 0);
  const std::int64_t bytes = 4L * 64 * 112 * 112;  // of one image after conv1
  const LayerWork norm = work_named(model, "bn1", {});
  EXPECT_EQ(norm.forward.bytes.count, 3 * bytes);
  EXPECT_EQ(norm.backward_input->bytes.count, 5 * bytes);
  const LayerWork relu = work_named(model, "relu1", {});
  EXPECT_EQ(relu.forward.bytes.count, 2 * bytes);
  EXPECT_EQ(relu.backward_input->bytes.count, 3 * bytes);
}

TEST(LayerWork, OfFusedNormsMovesEachElementOnceInAndOut) {
  const Model model = *catalogue_model("resnet50", 0);
  const WorkOptions fused{.fusion = {.norms = true}};
  const std::int64_t bytes = 4L * 64 * 112 * 112;
  EXPECT_EQ(work_named(model, "bn1", fused).forward.bytes.count, 2 * bytes);
  EXPECT_EQ(work_named(model, "bn1", fused).backward_input->bytes.count, 3 * bytes);
  EXPECT_EQ(work_named(model, "relu1", fused).forward.bytes.count, 0);
}

TEST(LayerWork, OfAttentionMovesItsScoresUnlessFused) {
  const Model model = *catalogue_model("gpt2", 0);  // 12 heads of 64, 1024 tokens, dropout, causal
  const WorkOptions plain{.dtype = Dtype::kFp16};
  const std::int64_t scores = 12L * 1024 * 1024;
  const std::int64_t hidden = 1024L * 768;
  const LayerWork eager = work_named(model, "layer0.attention", plain);
  // Two products with both factors and the result, 3 kernels over the scores in and out, dropout
  // with its mask, and copies of query, key, value and result.
  const std::int64_t products = 2 * (2 * hidden + scores) * 2;
  EXPECT_EQ(eager.forward.bytes.count,
            products + 2 * 6 * scores + (2 * 2 * scores + scores) + 2 * 8 * hidden);
  EXPECT_GT(eager.saved_scores.count, 0);
  WorkOptions flash = plain;
  flash.fusion.attention = true;
  const LayerWork fused = work_named(model, "layer0.attention", flash);
  EXPECT_EQ(fused.forward.bytes.count, 2 * (3 * hidden + hidden));
  EXPECT_EQ(fused.forward.flops, eager.forward.flops / 2);
  EXPECT_EQ(fused.saved_scores.count, 0);
  EXPECT_EQ(fused.saved.count, 2 * hidden);
}

TEST(LayerWork, OfABiasIsOnePassMore) {
  const Model model = *catalogue_model("gpt2", 0);
  const LayerWork up = work_named(model, "layer0.up", {});
  const std::int64_t product = 1024L * 768 + 1024L * 3072 + 768L * 3072 + 3072;
  EXPECT_EQ(up.forward.bytes.count, 4 * (product + 1024L * 3072));
  EXPECT_EQ(up.backward_input->bytes.count, 4 * product);
  EXPECT_EQ(up.backward_weight->bytes.count, 4 * (product + 1024L * 3072));
}

Time last_end(const Example& example) { return example.simulate().trace.makespan; }

// 175 layers forward, and twice as many products and passes backward: at one image each takes a GPU
// less than the host takes to ask for it.
TEST(HostCosts, BoundSmallBatchesOnAGpu) {
  Job job = example_job("single", 1);
  const Time eager = last_end(compile_example(job, "resnet50", "p3.2xlarge"));
  job.host.forward = {};
  job.host.backward = {};
  const Time captured = last_end(compile_example(job, "resnet50", "p3.2xlarge"));
  EXPECT_LT(captured, eager);
  Job large = example_job("single", 128);
  const Time as_is = last_end(compile_example(large, "resnet50", "p3.2xlarge"));
  large.host = job.host;
  const Time without = last_end(compile_example(large, "resnet50", "p3.2xlarge"));
  EXPECT_LT(to_seconds(as_is) / to_seconds(without), 1.02);
}

TEST(HostCosts, AreNotThereOnACpu) {
  Job job = example_job("single", 8);
  const Time usual = last_end(compile_example(job, "mlp-784-256-10", "cpu:devices=1"));
  job.host.forward = microseconds(1000);
  job.host.backward = microseconds(1000);
  EXPECT_EQ(last_end(compile_example(job, "mlp-784-256-10", "cpu:devices=1")), usual);
}

// DGX A100 with the GPUs of 80 GB, as in Selene.
double step_on_selene_s(const Job& job, const Model& model) {
  Diagnostics diagnostics;
  const Topology topology = example_topology("dgx-a100:gpu=a100-sxm4-80gb");
  const auto compiled = compile(job, model, topology, {.steps = 1}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << all_messages(diagnostics);
  return to_seconds(sim::simulate(compiled->plan, topology).trace.makespan);
}

// 137 TFLOP/s a GPU at 16 sequences with full recompute, FLOPs as in the paper (Narayanan et al.,
// arXiv:2104.04473, Table 1; megatron_sc21_table1_a100: 3.528 s an iteration). There 32 replicas
// also exchange gradients, beside the backward pass for the most part.
TEST(StepTime, OfMegatronsSmallestModelIsThePapers) {
  Job job = example_job("single", 16);
  job.training.dtype = Dtype::kFp16;
  job.training.optimizer = Optimizer::kAdam;
  job.training.recompute = Recompute::kFull;
  EXPECT_NEAR(step_on_selene_s(job, *catalogue_model("megatron-1.7b", 0)), 3.528, 0.1 * 3.528);
}

// A layer of the 22B model, micro-batch 4, tensor parallel 8, takes 7.7 and 11.9 ms forward and
// backward, of which two all-reduces of 100 MB each way over NVSwitch are about 1.5
// (Korthikanti et al., arXiv:2205.05198, Table 4; megatron_layer_time_22b).
TEST(StepTime, OfALayerOf22BIsThePapers) {
  TransformerShape shape{};
  shape.hidden = 6144;
  shape.heads = 64;
  shape.vocab = 51200;
  shape.positions = 2048;
  shape.fused_qkv = shape.qkv_bias = shape.out_bias = shape.mlp_bias = true;
  shape.dropout = shape.causal = shape.tied_head = true;
  const auto step_s = [&](std::int64_t layers) {
    shape.layers = layers;
    Job job = example_job("tensor_parallel", 4);
    job.training.dtype = Dtype::kFp16;
    job.parallelism.tensor_parallel_degree = 8;
    return step_on_selene_s(job, build_transformer({}, shape, 0));
  };
  EXPECT_NEAR(step_s(3) - step_s(1), 2 * 19.6e-3, 0.15 * 2 * 19.6e-3);
}

}  // namespace
}  // namespace twinrun
