#include <string>

#include <gtest/gtest.h>

#include "core/io/job_aliases.h"
#include "core/io/job_keys.h"
#include "tests/core/io/read_job_text.h"
#include "tests/core/io/schema_checker.h"

namespace twinrun {
namespace {

using Json = nlohmann::json;

bool loader_accepts(const Json& value) {
  return !read_job_text(value.dump()).diagnostics.has_errors();
}

Json job_of(const char* text) {
  return Json::parse(R"({"model": "gpt2", "topology": "dgx1-v100"})").patch(Json::parse(text));
}

TEST(JobSchema, KnowsEveryKeyUnderEveryName) {
  const Json properties = SchemaChecker("job").text()["properties"];
  for (const JobKey& key : job_keys()) {
    EXPECT_TRUE(properties[std::string(key.block)]["properties"].contains(std::string(key.name)))
        << key.path();
  }
  for (const JobAlias& alias : job_aliases()) {
    const std::string name(alias.name.substr(0, alias.name.find('.')));
    if (alias.where != JobAlias::Where::kBlock) {
      EXPECT_TRUE(properties.contains(name)) << alias.name;
    }
    if (alias.where != JobAlias::Where::kTop) {
      EXPECT_TRUE(properties[std::string(alias.block)]["properties"].contains(name)) << alias.name;
    }
  }
}

TEST(JobSchema, AcceptsWhatTheLoaderAccepts) {
  const SchemaChecker schema("job");
  for (
      const char* patch :
      {"[]",
       R"([{"op": "add", "path": "/training", "value": {"local_batch_size": 4, "dtype": "bf16",
            "seq": 64, "ac": "full", "learning_rate": 0.5, "comment": "c"}}])",
       R"([{"op": "add", "path": "/parallelism", "value": {"fsdp": -1, "zero": 3, "tp": 2,
            "schedule": "1F1B", "balance": [1, 2], "cp": 1, "sequence_parallel": true}}])",
       R"([{"op": "add", "path": "/zero_optimization", "value": {"stage": 2}},
            {"op": "add", "path": "/fp16", "value": {"enabled": true}},
            {"op": "add", "path": "/train_batch_size", "value": 64}])",
       R"([{"op": "add", "path": "/bf16", "value": true}])",
       R"([{"op": "add", "path": "/input", "value": {"storage_bandwidth": "2GB/s",
            "sample_bytes": 110000}}])",
       R"([{"op": "add", "path": "/host", "value": {"checkpoint": "1ms"}}])",
       R"([{"op": "add", "path": "/mapping", "value": {"ranks": 4}}])",
       R"([{"op": "add", "path": "/model", "value": {"layers": [{"name": "a", "outputs": 1}]}}])"}) {
    const Json job = job_of(patch);
    EXPECT_EQ(schema.complaints(job), "") << job;
    EXPECT_TRUE(loader_accepts(job)) << job;
  }
}

struct BrokenKey {
  const char* pointer;
  const char* value;  // JSON
};

class BrokenJob : public testing::TestWithParam<BrokenKey> {};

// Schema and loader are two descriptions of one format: what one refuses the other must, too.
TEST_P(BrokenJob, IsRefusedBySchemaAndLoader) {
  Json job = job_of("[]");
  job[Json::json_pointer(GetParam().pointer)] = Json::parse(GetParam().value);
  EXPECT_FALSE(SchemaChecker("job").accepts(job)) << job;
  EXPECT_FALSE(loader_accepts(job)) << job;
}

INSTANTIATE_TEST_SUITE_P(Each,
                         BrokenJob,
                         testing::Values(BrokenKey{"/schema", R"("twinrun/plan/1")"},
                                         BrokenKey{"/model", "7"},
                                         BrokenKey{"/topology", "[]"},
                                         BrokenKey{"/topology", R"("")"},
                                         BrokenKey{"/name", "7"},
                                         BrokenKey{"/extra", "7"},
                                         BrokenKey{"/tp", "2"},
                                         BrokenKey{"/training", "[]"},
                                         BrokenKey{"/training/extra", "7"},
                                         BrokenKey{"/training/local_batch_size", "0"},
                                         BrokenKey{"/training/local_batch_size", "1e10"},
                                         BrokenKey{"/training/mbs", R"("4")"},
                                         BrokenKey{"/training/dtype", R"("fp8")"},
                                         BrokenKey{"/training/optimizer", R"("lion")"},
                                         BrokenKey{"/training/ac", R"("some")"},
                                         BrokenKey{"/training/learning_rate", "-1"},
                                         BrokenKey{"/parallelism/zero_stage", "4"},
                                         BrokenKey{"/parallelism/fsdp", "0"},
                                         BrokenKey{"/parallelism/fsdp", "-2"},
                                         BrokenKey{"/parallelism/balance", "[0]"},
                                         BrokenKey{"/parallelism/strategy", "1"},
                                         BrokenKey{"/parallelism/overlap", R"("no")"},
                                         BrokenKey{"/parallelism/ep", "2"},
                                         BrokenKey{"/server/mode", R"("late")"},
                                         BrokenKey{"/server/count", "0"},
                                         BrokenKey{"/ddp/bucket_cap_mb", R"("25MB")"},
                                         BrokenKey{"/ddp/bucket_cap_mb", "-1"},
                                         BrokenKey{"/input/storage_bandwidth", R"("2GB")"},
                                         BrokenKey{"/input/storage_bandwidth", "0"},
                                         BrokenKey{"/input/sample_bytes", R"("9s")"},
                                         BrokenKey{"/mapping/ranks", "0"},
                                         BrokenKey{"/mapping/ranks", "[1]"},
                                         BrokenKey{"/mapping/order", "1"},
                                         BrokenKey{"/host/checkpoint", R"("1GB")"},
                                         BrokenKey{"/zero_optimization/stage", "4"},
                                         BrokenKey{"/train_batch_size", "0"}));

}  // namespace
}  // namespace twinrun
