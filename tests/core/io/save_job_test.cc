#include "core/io/save_job.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/core/io/read_job_text.h"

namespace twinrun {
namespace {

// Written, read and written again, with nothing said about it.
void expect_the_same_again(const std::string& text, const std::vector<std::string>& settings = {}) {
  const JobReading first = read_job_text(text, settings);
  ASSERT_EQ(first.codes(), "") << text;
  const std::string written = save_job(first.loaded);
  const JobReading second = read_job_text(written);
  EXPECT_EQ(second.codes(), "") << written;
  EXPECT_EQ(save_job(second.loaded), written);
}

TEST(SaveJob, WritesReadsAndWritesTheSameBytes) {
  expect_the_same_again(job_with(""));
  expect_the_same_again(job_with(R"("name": "ü \" \\ \n", "server": {}, "input": {})"));
  expect_the_same_again(job_with(
      R"("training": {"local_batch_size": 32, "dtype": "tf32", "learning_rate": 0.1,
                      "recompute": "full", "dataset_samples": 1281167},
         "parallelism": {"strategy": "gpipe", "fsdp": -1, "balance": [1, 1]},
         "ddp": {"bucket_cap_mb": 25, "first_bucket_mb": 0.3},
         "input": {"storage_bandwidth": "1.7Gb/s", "sample_bytes": "110kB"},
         "host": {"checkpoint": "0.1ms"}, "mapping": {"ranks": 3})"));
}

TEST(SaveJob, WritesModelsAndTopologiesOfTheirOwn) {
  expect_the_same_again(R"({
    "model": {"name": "tiny", "inputs": 3, "layers": [{"name": "fc", "outputs": 2}]},
    "topology": {"nodes": {"dgx1-v100": 2}, "fabric": {"kind": "single-switch"}}})");
  expect_the_same_again(R"({"topology": "cpu:devices=4", "training": {"seq": 64},
    "model": {"model_type": "gpt2", "n_embd": 768, "n_layer": 2, "n_head": 12,
              "vocab_size": 50257, "n_positions": 1024}})");
}

TEST(SaveJob, SaysTheValuesThatWonAndOurNames) {
  const JobReading read =
      read_job_text(job_with(R"("micro-batch-size": 3)"),
                    {"training.dtype=bf16", "topology.nodes=2", "model=mlp-4-2"});
  const auto json = nlohmann::json::parse(save_job(read.loaded));
  EXPECT_EQ(json, nlohmann::json::parse(R"({"schema": "twinrun/job/1", "model": "mlp-4-2",
    "topology": "dgx1-v100:nodes=2", "training": {"micro_batch_size": 3, "dtype": "bf16"}})"));
}

}  // namespace
}  // namespace twinrun
