#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/io/load_plan.h"
#include "core/io/load_run_folder.h"
#include "core/io/save_plan.h"
#include "core/io/save_trace.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kPlan = R"({"schema": "twinrun/plan/1", "ops": [
  {"id": "step0/forward@cpu0", "kind": "compute", "device": "cpu0", "flops": 1},
  {"id": "step1/forward@cpu0", "kind": "compute", "device": "cpu0", "flops": 1}]})";

class RunFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write("topology.json", R"({"schema": "twinrun/topology/1", "nodes": {"cpu": 1}})");
    write("plan.json", kPlan);
    Diagnostics diagnostics;
    const Plan plan = load_plan(Source::of_text("plan.json", kPlan), diagnostics).value();
    Trace trace;
    trace.source = "simulated";
    trace.ops = {{Time{0}, Time{0}, Time{5}}, {Time{5}, Time{6}, Time{11}}};
    trace.makespan = Time{11};
    write("trace.json", trace_to_json(plan, trace));
    write("result.json", R"({"step_s": 6e-12, "t2_s": null, "warmup_steps": 1})");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::optional<RunFolder> load() {
    diagnostics_ = {};
    return load_run_folder(folder_.string(), diagnostics_);
  }
  [[nodiscard]] std::vector<std::string> complaints() const {
    std::vector<std::string> all;
    for (const Diagnostic& diagnostic : diagnostics_.all()) {
      all.push_back(diagnostic.code + " " +
                    std::filesystem::path(diagnostic.place.file).filename().string());
    }
    return all;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("twinrun-run-folder-" + std::to_string(::getpid()));
  Diagnostics diagnostics_;
};

TEST_F(RunFolderTest, GivesAllOfTheRun) {
  const auto run = load();
  ASSERT_TRUE(run);
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_EQ(run->plan.size(), 2U);
  EXPECT_EQ(run->trace.ops[1], (OpTimes{Time{5}, Time{6}, Time{11}}));
  EXPECT_TRUE(run->topology.find("cpu0"));
  EXPECT_FALSE(run->job);
  EXPECT_EQ(run->warmup_steps(), 1);
  EXPECT_EQ(run->result_number("step_s"), 6e-12);
  EXPECT_EQ(run->result_number("t2_s"), std::nullopt);
  EXPECT_EQ(run->result_number("absent"), std::nullopt);
}

TEST_F(RunFolderTest, HasTheJobWhenThereIsOne) {
  write("job.json", R"({"schema": "twinrun/job/1", "model": "mlp-4-2", "topology": "cpu"})");
  const auto run = load();
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->job);
  EXPECT_EQ(run->job->job.model_name, "mlp-4-2");
}

TEST_F(RunFolderTest, EveryFileThatIsMissingIsNamed) {
  for (const char* name : {"topology.json", "trace.json", "result.json"}) {
    std::filesystem::remove(folder_ / name);
  }
  EXPECT_FALSE(load());
  EXPECT_THAT(complaints(),
              ElementsAre("E0805 topology.json", "E0805 trace.json", "E0805 result.json"));
  EXPECT_TRUE(is_run_folder(folder_.string()));
  std::filesystem::remove(folder_ / "plan.json");
  EXPECT_FALSE(is_run_folder(folder_.string()));
}

TEST_F(RunFolderTest, EachBrokenFileIsRefused) {
  write("result.json", "{\"step_s\": ");
  EXPECT_FALSE(load());
  EXPECT_THAT(complaints(), ElementsAre("E0102 result.json"));
  write("result.json", "[]");
  EXPECT_FALSE(load());
  EXPECT_THAT(complaints(), ElementsAre("E0202 result.json"));
  SetUp();
  write("plan.json", R"({"schema": "twinrun/plan/1", "ops": []})");
  EXPECT_FALSE(load());
  EXPECT_THAT(complaints(), ::testing::Contains("E0801 trace.json"));
  SetUp();
  write("plan.json", R"({"schema": "twinrun/plan/1", "ops": [
      {"id": "a", "kind": "compute", "device": "gpu7", "flops": 1}]})");
  EXPECT_FALSE(load());
  EXPECT_THAT(complaints(), ElementsAre("E0413 plan.json"));
  SetUp();
  write("topology.json", R"({"nodes": {"no-such-machine": 1}})");
  EXPECT_FALSE(load());
  SetUp();
  write("result.json", R"({"warmup_steps": "many"})");
  ASSERT_TRUE(load());
  EXPECT_EQ(load()->warmup_steps(), 0);
}

}  // namespace
}  // namespace twinrun
