#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// GPT-2: hidden size, heads, tokens, layers, words, micro-batch.
constexpr std::int64_t kH = 768;
constexpr std::int64_t kN = 12;
constexpr std::int64_t kS = 1024;
constexpr std::int64_t kLayers = 12;
constexpr std::int64_t kWords = 50257;
constexpr std::int64_t kB = 2;

Job tensor_job(std::int64_t degree, bool sequence_parallel = false) {
  Job job = example_job("tensor_parallel", kB);
  job.training.dtype = Dtype::kBf16;
  job.parallelism.tensor_parallel_degree = degree;
  job.parallelism.data_parallel_replicate_degree = 1;
  job.parallelism.sequence_parallel = sequence_parallel;
  job.mapping.ranks = std::to_string(degree);
  return job;
}

Example gpt2_on(std::int64_t degree, bool sequence_parallel = false) {
  return compile_example(tensor_job(degree, sequence_parallel), "gpt2", "dgx-a100");
}

// Bytes of the collectives of rank 0 in one layer, by kind.
std::map<CollectiveKind, std::int64_t> layer_traffic(const Plan& plan, const std::string& layer) {
  std::map<CollectiveKind, std::int64_t> out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCollective && plan.id(op).ends_with("@rank0") &&
        plan.id(op).find("/" + layer + ".") != std::string_view::npos) {
      out[plan.shape(op).kind] += plan.collective(op).bytes.count;
    }
  }
  return out;
}

// Shoeybi et al., arXiv:1909.08053, figure 4: two all-reduces of the hidden state forward and two
// backward.
TEST(TensorParallel, LayerHasFourAllReducesOfTheHiddenState) {
  const Example example = gpt2_on(4);
  EXPECT_EQ(
      layer_traffic(example.plan(), "layer3"),
      (std::map<CollectiveKind, std::int64_t>{{CollectiveKind::kAllReduce, 4 * kS * kB * kH * 2}}));
}

// Korthikanti et al., arXiv:2205.05198, section 4.2.2: the same bytes, as two halves of each.
TEST(TensorParallel, SequenceParallelismMovesTheSameBytes) {
  const Example example = gpt2_on(4, true);
  EXPECT_EQ(layer_traffic(example.plan(), "layer3"),
            (std::map<CollectiveKind, std::int64_t>{
                {CollectiveKind::kAllGather, 4 * kS * kB * kH * 2},
                {CollectiveKind::kReduceScatter, 4 * kS * kB * kH * 2}}));
}

std::int64_t parameter_bytes(const Plan& plan, const std::string& setup) {
  std::int64_t sum = 0;
  for (const MemoryEffect& effect : plan.memory_effects(*plan.find(setup))) {
    sum += effect.part() == MemoryPart::kParameters ? effect.bytes().count : 0;
  }
  return sum;
}

// Divided: every matrix, the biases of what is split by columns, the words of the table. Whole:
// norms, the biases that are added after the sum, the table of positions.
TEST(TensorParallel, RankHoldsItsShareOfTheMatrices) {
  for (const std::int64_t t : {1, 2, 4}) {
    const std::int64_t layer = 12 * kH * kH / t + 7 * kH / t + 2 * kH + 4 * kH;
    const std::int64_t table = (kWords * kH + t - 1) / t + kS * kH;
    const Example example = gpt2_on(t);
    EXPECT_EQ(parameter_bytes(example.plan(), "setup@rank0"),
              2 * (kLayers * layer + table + 2 * kH))
        << t;
  }
}

std::int64_t kept_by_layer(const Plan& plan, const std::string& layer) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::string_view id = plan.id(op);
    if (id.ends_with("@rank0") && id.find("/forward/" + layer + ".") != std::string_view::npos) {
      for (const MemoryEffect& effect : plan.memory_effects(op)) {
        sum += effect.part() == MemoryPart::kActivations ? effect.bytes().count : 0;
      }
    }
  }
  return sum;
}

// arXiv:2205.05198, equations 1, 2 and 4.
TEST(TensorParallel, LayerKeepsThePublishedActivations) {
  EXPECT_EQ(kept_by_layer(gpt2_on(1).plan(), "layer3"), kS * kB * kH * 34 + 5 * kN * kS * kS * kB);
  for (const std::int64_t t : {2, 4}) {
    EXPECT_EQ(kept_by_layer(gpt2_on(t).plan(), "layer3"),
              kS * kB * kH * 10 + kS * kB * kH * 24 / t + 5 * kN * kS * kS * kB / t)
        << t;
    EXPECT_EQ(kept_by_layer(gpt2_on(t, true).plan(), "layer3"),
              (kS * kB * kH * 34 + 5 * kN * kS * kS * kB) / t)
        << t;
  }
}

// Equation 6, and the inputs of the layers only.
TEST(TensorParallel, RecomputeKeepsWhatThePaperSays) {
  for (const std::int64_t t : {1, 4}) {
    for (const bool sequence : {false, true}) {
      Job job = tensor_job(t, sequence);
      job.training.recompute = Recompute::kSelective;
      const std::int64_t whole = sequence ? t : 1;
      EXPECT_EQ(kept_by_layer(compile_example(job, "gpt2", "dgx-a100").plan(), "layer3"),
                kS * kB * kH * 10 / whole + kS * kB * kH * 24 / t);
      job.training.recompute = Recompute::kFull;
      EXPECT_EQ(kept_by_layer(compile_example(job, "gpt2", "dgx-a100").plan(), "layer3"),
                2 * kS * kB * kH / whole);
    }
  }
}

TEST(TensorParallel, RanksTogetherComputeWhatOneDoes) {
  const double one = total_flops(gpt2_on(1).plan());
  EXPECT_NEAR(total_flops(gpt2_on(4).plan()) / one, 1, 1e-6);
  EXPECT_NEAR(total_flops(gpt2_on(4, true).plan()) / one, 1, 1e-6);
}

TEST(TensorParallel, HeadsThatDoNotDivideNameTheDegreesThatDo) {
  Job job = tensor_job(8);
  job.mapping.ranks = "all";
  const std::string text = complaints_about(job, "gpt2", "dgx-a100");
  EXPECT_THAT(text, HasSubstr("E0906 /parallelism/tensor_parallel_degree"));
  EXPECT_THAT(text, HasSubstr("12 attention heads"));
  EXPECT_THAT(text, HasSubstr("one of 1, 2, 3, 4, 6, 12"));
}

TEST(TensorParallel, TakesAllDevicesUnlessToldOtherwise) {
  const Example example = compile_example(example_job("megatron", 1), "gpt3-175b", "dgx-a100");
  EXPECT_EQ(example.compiled.layout.tensor, 8);
  EXPECT_EQ(example.compiled.layout.replicas, 1);
}

TEST(TensorParallel, ModelWithNothingToDivideIsWarnedAbout) {
  const auto said_of = [](const char* model) {
    const Job job = example_job("tensor_parallel", 8);
    Diagnostics diagnostics;
    compile(job, *catalogue_model(model), example_topology("dgx1-v100"), {}, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << all_messages(diagnostics);
    return all_messages(diagnostics);
  };
  EXPECT_THAT(said_of("resnet50"), HasSubstr("W0902 /parallelism/tensor_parallel_degree"));
  EXPECT_THAT(said_of("megatron-1.7b"), Not(HasSubstr("W0902")));
}

// Dense layers after each other make pairs: columns, then rows.
TEST(TensorParallel, PerceptronIsSplitInPairs) {
  Job job = example_job("tp", 16);
  job.parallelism.tensor_parallel_degree = 2;
  job.mapping.ranks = "2";
  const Example example = compile_example(job, "mlp-784-256-10", "dgx-a100");
  EXPECT_EQ(parameter_bytes(example.plan(), "setup@rank1"), 4 * (784 * 128 + 128 + 128 * 10 + 10));
  EXPECT_NEAR(total_flops(example.plan()), 16 * (2.0 * 784 * 256 * 2 + 2.0 * 256 * 10 * 3), 1);
}

}  // namespace
}  // namespace twinrun
