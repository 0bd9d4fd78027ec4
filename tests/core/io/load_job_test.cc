#include "core/io/load_job.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/job_keys.h"
#include "tests/core/io/read_job_text.h"

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The block of the contract, every key away from its default.
constexpr const char* kEverything = R"json({
  "schema": "twinrun/job/1", "name": "everything", "model": "gpt2", "topology": "dgx-a100:nodes=2",
  "training": {"local_batch_size": 32, "global_batch_size": 256, "micro_batch_size": 4,
    "seq_length": 512, "dtype": "bf16", "optimizer": "adamw", "recompute": "selective",
    "offload": "weights", "gradient_accumulation": 2, "dataset_samples": 1281167,
    "learning_rate": 0.25},
  "parallelism": {"strategy": "1f1b", "data_parallel_replicate_degree": 8,
    "data_parallel_shard_degree": -1, "zero_stage": 3, "tensor_parallel_degree": 2,
    "sequence_parallel": true, "pipeline_parallel_degree": 4, "virtual_stages": 3,
    "balance": [4, 4, 3, 1], "all_reduce_algorithm": "ring", "overlap": false},
  "server": {"placement": "hosts", "count": 4, "colocated": false, "mode": "bounded",
    "staleness": 5},
  "ddp": {"bucket_cap_mb": 50, "first_bucket_mb": 2.5, "gradient_as_bucket_view": true,
    "broadcast_buffers": false},
  "input": {"storage_bandwidth": "2GB/s", "decode_cores": 8, "decode_samples_per_core": 300,
    "prefetch": 3, "sample_bytes": 110000},
  "mapping": {"order": "dp-tp-pp", "ranks": "node0/gpu0,node1/gpu0"},
  "host": {"data_parallel_launch": "30us", "checkpoint": "1.5ms"}
})json";

TEST(LoadJob, ReadsEveryKeyOfTheContract) {
  const JobReading read = read_job_text(kEverything);
  EXPECT_EQ(read.codes(), "");
  const Job& job = read.job();
  EXPECT_EQ(job.name, "everything");
  EXPECT_EQ(job.model_name, "gpt2");
  EXPECT_EQ(job.topology_name, "dgx-a100:nodes=2");
  EXPECT_EQ(job.training.local_batch_size, 32);
  EXPECT_EQ(job.training.global_batch_size, 256);
  EXPECT_EQ(job.training.micro_batch_size, 4);
  EXPECT_EQ(job.training.seq_length, 512);
  EXPECT_EQ(job.training.dtype, Dtype::kBf16);
  EXPECT_EQ(job.training.optimizer, Optimizer::kAdamW);
  EXPECT_EQ(job.training.recompute, Recompute::kSelective);
  EXPECT_EQ(job.training.offload, Offload::kWeights);
  EXPECT_EQ(job.training.gradient_accumulation, 2);
  EXPECT_EQ(job.training.dataset_samples, 1281167);
  EXPECT_EQ(job.training.learning_rate, 0.25);
  EXPECT_EQ(job.parallelism.strategy, "1f1b");
  EXPECT_EQ(job.parallelism.data_parallel_replicate_degree, 8);
  EXPECT_EQ(job.parallelism.data_parallel_shard_degree, -1);
  EXPECT_EQ(job.parallelism.zero_stage, 3);
  EXPECT_EQ(job.parallelism.tensor_parallel_degree, 2);
  EXPECT_TRUE(job.parallelism.sequence_parallel);
  EXPECT_EQ(job.parallelism.pipeline_parallel_degree, 4);
  EXPECT_EQ(job.parallelism.virtual_stages, 3);
  EXPECT_THAT(job.parallelism.balance, ElementsAre(4, 4, 3, 1));
  EXPECT_EQ(job.parallelism.all_reduce_algorithm, "ring");
  EXPECT_FALSE(job.parallelism.overlap);
}

TEST(LoadJob, ReadsEveryKeyAroundTheParallelism) {
  const JobReading read = read_job_text(kEverything);
  const Job& job = read.job();
  EXPECT_TRUE(job.server.given);
  EXPECT_EQ(job.server.placement, ServerSite::kHosts);
  EXPECT_EQ(job.server.count, 4);
  EXPECT_FALSE(job.server.colocated);
  EXPECT_EQ(job.server.mode, ServerMode::kBounded);
  EXPECT_EQ(job.server.staleness, 5);
  EXPECT_EQ(job.ddp.bucket_cap_mb, 50);
  EXPECT_TRUE(job.ddp.bucket_cap_given);
  EXPECT_EQ(job.ddp.first_bucket_mb, 2.5);
  EXPECT_TRUE(job.ddp.gradient_as_bucket_view);
  EXPECT_FALSE(job.ddp.broadcast_buffers);
  EXPECT_TRUE(job.input.given);
  EXPECT_EQ(job.input.storage_bandwidth, gigabytes_per_second(2));
  EXPECT_EQ(job.input.decode_cores, 8);
  EXPECT_EQ(job.input.decode_samples_per_core, 300);
  EXPECT_EQ(job.input.prefetch, 3);
  EXPECT_EQ(job.input.sample_bytes, 110000);
  EXPECT_EQ(job.mapping.order, "dp-tp-pp");
  EXPECT_EQ(job.mapping.ranks, "node0/gpu0,node1/gpu0");
  EXPECT_EQ(job.host.launch, microseconds(30));
  EXPECT_EQ(job.host.checkpoint, microseconds(1500));
  EXPECT_EQ(read.loaded.model.sequence, 512);  // seq_length reaches the model
  EXPECT_EQ(read.loaded.topology.nodes.front().count, 2);
}

TEST(LoadJob, NeedsNothingButModelAndTopology) {
  const JobReading read = read_job_text(job_with(""));
  EXPECT_EQ(read.codes(), "");
  const Job usual;
  for (const JobKey& key : job_keys()) {
    EXPECT_FALSE(key.write(read.job()).has_value()) << key.path();  // nothing differs from a Job{}
  }
  EXPECT_FALSE(read.job().server.given || read.job().input.given);
  EXPECT_TRUE(read.loaded.model_is_named && read.loaded.topology_is_named);
  EXPECT_EQ(read_job_text("{}").codes(), "E0201 E0201");
}

TEST(LoadJob, EmptyBlocksOfServersAndInputCount) {
  const JobReading read = read_job_text(job_with(R"("server": {}, "input": {})"));
  EXPECT_TRUE(read.job().server.given && read.job().input.given);
}

TEST(LoadJob, RanksAreWhatTheOptionTakes) {
  EXPECT_EQ(read_job_text(job_with(R"("mapping": {"ranks": 4})")).job().mapping.ranks, "4");
  EXPECT_EQ(
      read_job_text(job_with(R"("mapping": {"ranks": ["gpu0", "gpu3"]})")).job().mapping.ranks,
      "gpu0,gpu3");
}

struct Mistake {
  const char* block;
  const char* codes;
  const char* pointer;  // of the first complaint
};

class JobMistake : public testing::TestWithParam<Mistake> {};

TEST_P(JobMistake, IsComplainedAboutWhereItStands) {
  const JobReading read = read_job_text(job_with(GetParam().block));
  EXPECT_EQ(read.codes(), GetParam().codes) << GetParam().block;
  ASSERT_FALSE(read.diagnostics.all().empty());
  EXPECT_EQ(read.diagnostics.all().front().place.file, "job.json");
  EXPECT_EQ(read.diagnostics.all().front().place.pointer, GetParam().pointer);
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    JobMistake,
    testing::Values(
        Mistake{R"("schema": "twinrun/plan/1")", "E0207", "/schema"},
        Mistake{R"("trainig": {})", "E0205", "/trainig"},
        Mistake{R"("training": [])", "E0202", "/training"},
        Mistake{R"("training": {"batch": 7})", "E0205", "/training/batch"},
        Mistake{R"("training": {"local_batch_size": 0})", "E0203", "/training/local_batch_size"},
        Mistake{R"("training": {"local_batch_size": 1.5})", "E0202", "/training/local_batch_size"},
        Mistake{R"("training": {"local_batch_size": 1e18})", "E0203", "/training/local_batch_size"},
        Mistake{R"("training": {"dtype": "fp64"})", "E0204", "/training/dtype"},
        Mistake{R"("training": {"dtype": "fp31", "optimizer": "lion"})", "E0204 E0204",
                "/training/dtype"},
        Mistake{R"("parallelism": {"data_parallel_shard_degree": 0})", "E0203",
                "/parallelism/data_parallel_shard_degree"},
        Mistake{R"("parallelism": {"zero_stage": 4})", "E0203", "/parallelism/zero_stage"},
        Mistake{R"("parallelism": {"balance": 4})", "E0202", "/parallelism/balance"},
        Mistake{R"("parallelism": {"balance": [4, 0, "x"]})", "E0203 E0202",
                "/parallelism/balance/1"},
        Mistake{R"("parallelism": {"all_reduce_algorithm": "rign"})", "E0204",
                "/parallelism/all_reduce_algorithm"},
        Mistake{R"("parallelism": {"overlap": "yes"})", "E0202", "/parallelism/overlap"},
        Mistake{R"("parallelism": {"context_parallel_degree": 2})", "E0209",
                "/parallelism/context_parallel_degree"},
        Mistake{R"("server": {"placement": "gpu1"})", "E0204", "/server/placement"},
        Mistake{R"("ddp": {"bucket_cap_mb": -1})", "E0203", "/ddp/bucket_cap_mb"},
        Mistake{R"("ddp": {"bucket_cap_mb": 1e300})", "E0203", "/ddp/bucket_cap_mb"},
        Mistake{R"("input": {"storage_bandwidth": "2GB"})", "E0206", "/input/storage_bandwidth"},
        Mistake{R"("input": {"storage_bandwidth": 0})", "E0203", "/input/storage_bandwidth"},
        Mistake{R"("mapping": {"ranks": [1]})", "E0202", "/mapping/ranks/0"},
        Mistake{R"("host": {"checkpoint": "soon"})", "E0206", "/host/checkpoint"}));

TEST(LoadJob, UnknownKeysGetTheNearestOne) {
  const JobReading read = read_job_text(job_with(R"("training": {"local_batch_sise": 7})"));
  EXPECT_THAT(read.diagnostics.all().front().help, HasSubstr("did you mean \"local_batch_size\""));
}

TEST(LoadJob, NamesOfModelsAndTopologiesAreComplainedAboutInTheJob) {
  const JobReading read = read_job_text(R"({"model": "resnet5O", "topology": "dgx-a10O:nodes=2"})");
  ASSERT_EQ(read.codes(), "E0501 E0320");
  EXPECT_EQ(read.diagnostics.all()[0].place.pointer, "/model");
  EXPECT_EQ(read.diagnostics.all()[1].place.pointer, "/topology");
  const JobReading key = read_job_text(R"({"model": "gpt2", "topology": "dgx-a100:nodez=2"})");
  ASSERT_EQ(key.codes(), "E0321");
  EXPECT_EQ(key.diagnostics.all()[0].place.pointer, "/topology");
}

TEST(LoadJob, StandardInputIsNotForJobsToName) {
  const JobReading read = read_job_text(R"({"model": "-", "topology": "-"})");
  EXPECT_EQ(read.codes(), "E0101 E0101");
}

TEST(LoadJob, ModelAndTopologyMayBeWrittenInside) {
  const JobReading read = read_job_text(R"({
    "model": {"name": "tiny", "inputs": 3,
              "layers": [{"name": "fc", "kind": "linear", "parameters": [6, 2], "outputs": 2}]},
    "topology": {"nodes": {"dgx1-v100": 2}, "fabric": {"kind": "single-switch"}}})");
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.job().model_name, "tiny");
  EXPECT_EQ(read.loaded.model.layers.size(), 1U);
  EXPECT_EQ(read.loaded.topology.nodes.front().count, 2);
  EXPECT_FALSE(read.loaded.topology.name.empty());
  EXPECT_FALSE(read.loaded.model_is_named || read.loaded.topology_is_named);
  const JobReading broken = read_job_text(
      R"({"model": {"layers": [{"name": "a", "outputs": -1}]}, "topology": {"nodes": {"x": 1.5}}})");
  ASSERT_EQ(broken.codes(), "E0203 E0202");
  EXPECT_EQ(broken.diagnostics.all()[0].place.pointer, "/model/layers/0/outputs");
}

// The shape of GPT-2 small as Hugging Face writes it: 124,439,808 parameters (published).
TEST(LoadJob, AHuggingFaceConfigurationIsAModel) {
  const JobReading read = read_job_text(R"({"topology": "dgx1-v100", "training": {"seq": 64},
    "model": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
              "vocab_size": 50257, "n_positions": 1024}})");
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(totals_of(read.loaded.model.layers).parameters, 124'439'808);
  EXPECT_EQ(read.loaded.model.sequence, 64);
}

TEST(LoadJob, ASequenceForSamplesWithoutTokensIsWarnedAbout) {
  const JobReading read = read_job_text(job_with(R"("training": {"seq_length": 64})"));
  ASSERT_EQ(read.codes(), "W0701");
  EXPECT_EQ(read.diagnostics.all().front().place.pointer, "/training/seq_length");
}

class JobFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_ / "jobs");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

constexpr const char* kOneLayer = R"({"inputs": 3, "layers": [{"name": "fc", "outputs": 2}]})";

TEST_F(JobFiles, FilesAreLookedForBesideTheJobFirst) {
  write("jobs/small.json", kOneLayer);
  write("jobs/box.json", R"({"nodes": {"dgx1-v100": 3}})");
  const std::string path =
      write("jobs/job.json", R"({"model": "small.json", "topology": "box.json"})");
  Diagnostics diagnostics;
  const LoadedJob loaded = read_job(Source::of_file(path), {}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(loaded.model.layers.size(), 1U);
  EXPECT_EQ(loaded.topology.nodes.front().count, 3);
}

TEST_F(JobFiles, FilesOfOptionsAreNotLookedForBesideTheJob) {
  write("jobs/small.json", kOneLayer);
  const std::string path = write("jobs/job.json", R"({"model": "gpt2", "topology": "dgx1-v100"})");
  JobOptions options;
  options.overrides.push_back({"--model small.json", "model", "small.json"});
  Diagnostics diagnostics;
  EXPECT_THROW(read_job(Source::of_file(path), options, diagnostics), InputError);
}

TEST_F(JobFiles, KeysOfATopologyFileCanBeSet) {
  const std::string box = write("jobs/box.json", R"({"nodes": {"dgx1-v100": 3}})");
  const std::string path =
      write("jobs/job.json", R"({"model": "mlp-4-2", "topology": "box.json"})");
  JobOptions options;
  options.overrides.push_back(parse_override("topology.nodes.dgx1-v100=7"));
  Diagnostics diagnostics;
  const LoadedJob loaded = read_job(Source::of_file(path), options, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(loaded.topology.nodes.front().count, 7);
  options.overrides = {parse_override("topology.fabrik=7")};
  Diagnostics complaints;
  read_job(Source::of_file(path), options, complaints);
  ASSERT_EQ(complaints.all().size(), 1U);
  EXPECT_EQ(complaints.all().front().place.file, "--set topology.fabrik=7");
}

TEST(LoadJob, HostileTextsAreComplainedAbout) {
  EXPECT_EQ(read_job_text("").codes(), "E0102");
  EXPECT_EQ(read_job_text("[]").codes(), "E0202");
  EXPECT_EQ(read_job_text("null").codes(), "E0202");
  EXPECT_EQ(read_job_text(R"({"model": "gpt2", "model": "gpt2"})").codes(), "E0105");
  EXPECT_EQ(read_job_text(std::string(100'000, '[')).codes(), "E0102");
  EXPECT_EQ(read_job_text(R"({"model": null, "topology": 7})").codes(), "E0202 E0202");
  EXPECT_EQ(read_job_text(R"({"model": "", "topology": ""})").codes(), "E0501 E0320");
  EXPECT_EQ(read_job_text(job_with("\"training\": {\"tp\\u0000\": 1}")).codes(), "E0205");
  const std::string long_word(1'000'000, 'x');
  const JobReading wide =
      read_job_text(job_with("\"training\": {\"dtype\": \"" + long_word + "\"}"));
  ASSERT_EQ(wide.codes(), "E0204");
  EXPECT_LT(wide.diagnostics.all().front().message.size(), 200U);
  const JobReading path = read_job_text(R"({"topology": "gpt2", "model": ")" + long_word + "\"}");
  EXPECT_EQ(path.codes(), "E0501 E0320");
}

TEST(LoadJob, AThousandUnknownKeysAreTwentyComplaints) {
  std::string keys;
  for (int i = 0; i < 1000; ++i) {
    keys += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 1";
  }
  const JobReading read = read_job_text(job_with("\"training\": {" + keys + "}"));
  EXPECT_EQ(read.diagnostics.error_count(), 1000U);
  EXPECT_EQ(read.diagnostics.all().size(), 20U);
}

TEST(IsJob, TellsJobsFromPlans) {
  const auto tells = [](const char* text) { return is_job(Source::of_text("x", text)); };
  EXPECT_TRUE(tells(R"({"schema": "twinrun/job/1", "ops": []})"));
  EXPECT_TRUE(tells(R"({"name": "x", "model": {"ops": []}, "topology": "y"})"));
  EXPECT_TRUE(tells(R"({"topology": "y", "training": {"schema": "twinrun/plan/1"}})"));
  EXPECT_TRUE(tells("{}"));
  EXPECT_FALSE(tells(R"({"schema": "twinrun/plan/1", "model": 1})"));
  EXPECT_FALSE(tells(R"({"name": "x", "ops": []})"));
  EXPECT_FALSE(tells(R"({"devices": ["gpu0"], "ops": []})"));
  EXPECT_FALSE(tells(""));
  EXPECT_FALSE(tells("{\"a\": "));
}

}  // namespace
}  // namespace twinrun
