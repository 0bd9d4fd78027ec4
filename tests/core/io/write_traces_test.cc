#include "core/io/write_traces.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/diagnostics.h"
#include "tests/core/trace/example_runs.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;

class WriteTraces : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_.parent_path()); }

  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
  TraceFilesSummary write(const TraceFilesOptions& options) const {
    return write_traces(run_.plan, run_.trace, folder_.string(), options);
  }

  ExampleRun run_ = two_steps();
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("twinrun-traces-" + std::to_string(::getpid())) / "inner";
};

TEST_F(WriteTraces, WritesAFileARankAndOneOfAll) {
  const TraceFilesSummary summary = write({});
  EXPECT_THAT(names(), ElementsAre("rank0.json", "rank1.json", "rank2.json", "trace.pftrace"));
  EXPECT_EQ(summary.files.size(), 4U);
  EXPECT_EQ(summary.ranks.written, 9);
  EXPECT_EQ(summary.merged.written, 9);
  std::int64_t bytes = 0;
  for (const char* name : {"rank0.json", "rank1.json", "rank2.json"}) {
    bytes += static_cast<std::int64_t>(std::filesystem::file_size(folder_ / name));
  }
  EXPECT_EQ(bytes, summary.ranks.bytes);
  EXPECT_EQ(summary.merged.bytes,
            static_cast<std::int64_t>(std::filesystem::file_size(folder_ / "trace.pftrace")));
  EXPECT_EQ(left_out_text(summary), "");
}

TEST_F(WriteTraces, AFolderWithATraceIsReplacedOnlyWhenForced) {
  write({});
  std::ofstream(folder_ / "rank17.json") << "{}";   // of an earlier, larger run
  std::ofstream(folder_ / "ranks.json") << "mine";  // not ours
  EXPECT_THROW(write({}), UsageError);
  TraceFilesOptions options;
  options.force = true;
  options.content.ranks = {DeviceId{1}};
  write(options);
  EXPECT_THAT(names(), ElementsAre("rank1.json", "ranks.json", "trace.pftrace"));
}

TEST_F(WriteTraces, SaysWhatWasLeftOut) {
  run_.trace.ops[8] = {{}, {1}, {0}};  // the host op never ran
  TraceFilesOptions options;
  options.content.ranks = {DeviceId{1}, DeviceId{2}};
  const TraceFilesSummary some = write(options);
  EXPECT_EQ(left_out_text(some), "left out: 6 ops of other ranks or steps, 1 op that never ran");
  options.force = true;
  options.content.most_bytes = 100;  // less than the first lines
  EXPECT_EQ(left_out_text(write(options)),
            "left out: 2 ops beyond the cap of a file, 6 ops of other ranks or steps, 1 op that "
            "never ran");
}

}  // namespace
}  // namespace twinrun
