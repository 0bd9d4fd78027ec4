#include "core/io/job_overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/read_job_text.h"

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseOverride, SplitsAtTheFirstEquals) {
  const JobOverride one = parse_override("topology=single-switch:hosts=4");
  EXPECT_EQ(one.path, "topology");
  EXPECT_EQ(one.value, "single-switch:hosts=4");
  EXPECT_THROW(parse_override("training.dtype"), UsageError);
  EXPECT_THROW(parse_override("=4"), UsageError);
}

TEST(JobOverrides, ValuesAreJsonOrElseText) {
  const JobReading read = read_job_text(
      job_with(R"("training": {"local_batch_size": 4})"),
      {"training.local_batch_size=64", "training.dtype=fp16", "training.optimizer=\"adam\"",
       "parallelism.balance=[2,1]", "parallelism.overlap=false", "input.storage_bandwidth=3GB/s",
       "ddp.bucket_cap_mb=1.5", "name=7", "mapping.ranks=4"});
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.job().training.local_batch_size, 64);
  EXPECT_EQ(read.job().training.dtype, Dtype::kFp16);
  EXPECT_EQ(read.job().training.optimizer, Optimizer::kAdam);
  EXPECT_THAT(read.job().parallelism.balance, ElementsAre(2, 1));
  EXPECT_FALSE(read.job().parallelism.overlap);
  EXPECT_EQ(read.job().input.storage_bandwidth, gigabytes_per_second(3));
  EXPECT_EQ(read.job().ddp.bucket_cap_mb, 1.5);
  EXPECT_EQ(read.job().name, "7");
  EXPECT_EQ(read.job().mapping.ranks, "4");
}

TEST(JobOverrides, WinOverEveryNameOfTheKeyAndTheLastOneWins) {
  const JobReading read =
      read_job_text(job_with(R"("tensor-model-parallel-size": 2, "training": {"mbs": 3})"),
                    {"parallelism.tp=4", "parallelism.tensor_parallel_degree=8",
                     "train_micro_batch_size_per_gpu=6", "parallelism.schedule=1F1B"});
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.job().parallelism.tensor_parallel_degree, 8);
  EXPECT_EQ(read.job().training.micro_batch_size, 6);
  EXPECT_EQ(read.job().parallelism.strategy, "1f1b");
}

TEST(JobOverrides, BelowATopologyThatIsNamedExtendTheExpression) {
  const auto topology = [](const std::string& written, const std::vector<std::string>& settings) {
    return read_job_text(R"({"model": "mlp-4-2", "topology": ")" + written + "\"}", settings)
        .job()
        .topology_name;
  };
  EXPECT_EQ(topology("dgx-a100", {"topology.nodes=4"}), "dgx-a100:nodes=4");
  EXPECT_EQ(topology("dgx-a100:nodes=2,nic=10Gb/s", {"topology.nodes=4"}),
            "dgx-a100:nic=10Gb/s,nodes=4");
  EXPECT_EQ(topology("dgx-a100", {"topology.nodes=4", "topology.nic=10Gb/s", "topology.nodes=8"}),
            "dgx-a100:nic=10Gb/s,nodes=8");
  EXPECT_EQ(topology("cpu", {"topology=p3.2xlarge", "topology.nodes=4"}), "p3.2xlarge:nodes=4");
}

TEST(JobOverrides, BelowATopologyThatIsWrittenOutSetTheKey) {
  const std::string job = R"({"model": "mlp-4-2", "topology": {"nodes": {"p3.2xlarge": 2}}})";
  const JobReading read =
      read_job_text(job, {"topology.nodes.p3.2xlarge=5", "topology.fabric.kind=single-switch"});
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.loaded.topology.nodes.front().count, 5);
  EXPECT_EQ(read.loaded.topology.fabric->kind, "single-switch");
}

// GPT-2 small has 12 layers of 7,087,872 parameters (published): two of them are ten fewer.
TEST(JobOverrides, BelowAModelOfTheCatalogueChangeItsShape) {
  const std::string job = R"({"model": "gpt2", "topology": "dgx1-v100"})";
  const JobReading read = read_job_text(job, {"model.transformer.layers=2"});
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(totals_of(read.loaded.model.layers).parameters, 124'439'808 - 10 * 7'087'872);
  EXPECT_FALSE(read.loaded.model_is_named);
  const JobReading broken = read_job_text(job, {"model.transformer.layers=none"});
  ASSERT_EQ(broken.codes(), "E0202");
  EXPECT_EQ(broken.diagnostics.all().front().place.file, "--set model.transformer.layers=none");
}

TEST(JobOverrides, WithoutATopologyThereIsNothingBelowIt) {
  EXPECT_EQ(read_job_text(R"({"model": "gpt2"})", {"topology.nodes=4"}).codes(), "E0701 E0202");
}

TEST(JobOverrides, PathsThatLeadNowhereGetTheNearestOneAndSayTheOption) {
  const JobReading read = read_job_text(
      job_with(""), {"training.local_batch_sise=4", "dtype=fp16", "training=4",
                     "parallelism.balance.0=4", "cp=1", "ddp.all_reduce_algorithm=ring"});
  ASSERT_EQ(read.codes(), "E0701 E0701 E0701 E0701 E0701 E0701");
  const std::vector<Diagnostic>& all = read.diagnostics.all();
  EXPECT_THAT(all[0].message, HasSubstr("--set training.local_batch_sise=4"));
  EXPECT_THAT(all[0].help, HasSubstr("did you mean \"training.local_batch_size\""));
  EXPECT_EQ(all[0].place.file, "--set training.local_batch_sise=4");
  EXPECT_THAT(all[1].help, HasSubstr("training.dtype"));
  EXPECT_EQ(all[5].help, "did you mean \"parallelism.all_reduce_algorithm\"?");
}

TEST(JobOverrides, ComplaintsAboutTheirValuesNameTheOption) {
  const JobReading read = read_job_text(
      job_with(R"("training": {"dtype": "fp32", "optimizer": "lion"})"),
      {"training.dtype=fp31", "parallelism.balance=[1,0]", "topology.nodez=2", "model=gpt3"});
  ASSERT_EQ(read.codes(), "E0204 E0204 E0203 E0501 E0321");
  const std::vector<Diagnostic>& all = read.diagnostics.all();
  EXPECT_EQ(all[0].place.file, "--set training.dtype=fp31");
  EXPECT_EQ(all[0].place.pointer, "");
  EXPECT_EQ(all[1].place.file, "job.json");
  EXPECT_EQ(all[1].place.pointer, "/training/optimizer");
  EXPECT_EQ(all[2].place.file, "--set parallelism.balance=[1,0]");
  EXPECT_EQ(all[3].place.file, "--set model=gpt3");
  EXPECT_EQ(all[4].place.file, "--set topology.nodez=2");
  const JobReading fine = read_job_text(job_with(""), {"training.dtype=fp16"});
  EXPECT_EQ(place_in(fine.job(), "/training/dtype").file, "--set training.dtype=fp16");
}

TEST(JobOverrides, MakeAJobOfAnEmptyObject) {
  const JobReading read = read_job_text("{}", {"model=mlp-4-2", "topology=dgx1-v100"});
  EXPECT_EQ(read.codes(), "");
  const JobReading inline_model =
      read_job_text("{}", {R"(model={"layers": [{"name": "a", "outputs": 1}]})", "topology=cpu"});
  EXPECT_EQ(inline_model.codes(), "");
  EXPECT_EQ(inline_model.loaded.model.layers.size(), 1U);
}

}  // namespace
}  // namespace twinrun
