#include "core/trace/kineto.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/json_document.h"
#include "core/trace/trace_rows.h"
#include "tests/core/trace/example_runs.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A file of one rank, read back with the project's own reader.
class KinetoFile {
 public:
  KinetoFile(const ExampleRun& run, DeviceId rank, const TraceWriteOptions& options = {}) {
    counts_ = write_kineto(run.plan, run.trace, rank, options, [&](std::string_view piece) {
      text_ += piece;
      largest_piece_ = std::max(largest_piece_, piece.size());
    });
    Diagnostics diagnostics;
    document_ = JsonDocument::read(Source::of_text("trace", text_), diagnostics);
    EXPECT_FALSE(diagnostics.has_errors());
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const TraceWriteCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t largest_piece() const { return largest_piece_; }
  [[nodiscard]] JsonValue root() const { return document_.root(); }
  [[nodiscard]] std::vector<JsonValue> events(std::string_view phase) const {
    std::vector<JsonValue> found;
    for (JsonValue one = root().find("traceEvents").first(); one; one = one.next()) {
      if (one.find("ph").text() == phase) {
        found.push_back(one);
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> lines_with(std::string_view part) const {
    std::vector<std::string> lines;
    std::istringstream in(text_);
    for (std::string line; std::getline(in, line);) {
      if (line.find(part) != std::string::npos) {
        lines.push_back(line);
      }
    }
    return lines;
  }

 private:
  std::string text_;
  TraceWriteCounts counts_;
  std::size_t largest_piece_ = 0;
  JsonDocument document_{"trace"};
};

std::int64_t ns_of(JsonValue us) { return std::llround(us.number() * 1000); }

struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool operator==(const Slice&) const = default;
};
Slice slice_of(JsonValue event) {
  return {ns_of(event.find("ts")), ns_of(event.find("ts")) + ns_of(event.find("dur"))};
}

// By op id, as the file tells; the test fails when an op is there twice.
std::map<std::string, Slice> slices_by_op(const KinetoFile& file) {
  std::map<std::string, Slice> slices;
  for (const JsonValue event : file.events("X")) {
    if (const JsonValue own = event.find("args").find("twinrun")) {
      const bool is_new =
          slices.emplace(std::string(own.find("op").text()), slice_of(event)).second;
      EXPECT_TRUE(is_new) << own.find("op").text();
    }
  }
  return slices;
}

std::map<std::string, Slice> slices_of_trace(const ExampleRun& run, DeviceId rank) {
  std::map<std::string, Slice> slices;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const OpTimes& times = run.trace.ops[i];
    if (run.plan.device(id_at<OpId>(i)) == rank && times.end >= times.start) {
      slices[std::string(run.plan.id(id_at<OpId>(i)))] = {
          std::llround(static_cast<double>(times.start.ps) / 1000),
          std::llround(static_cast<double>(times.end.ps) / 1000)};
    }
  }
  return slices;
}

// Perfetto's rule: two slices of a row are disjoint or one lies in the other.
bool rows_nest(const KinetoFile& file) {
  std::map<std::int64_t, std::vector<Slice>> rows;
  for (const JsonValue event : file.events("X")) {
    rows[event.find("tid").integer()].push_back(slice_of(event));
  }
  for (auto& [tid, slices] : rows) {
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.start, b.end) < std::pair(b.start, a.end);
    });
    std::vector<Slice> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back().end <= slice.start) {
        open.pop_back();
      }
      if (!open.empty() && slice.end > open.back().end) {
        return false;
      }
      open.push_back(slice);
    }
  }
  return true;
}

TEST(Kineto, WritesEachOpOnceWithItsTimesToTheNanosecond) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const ExampleRun run = random_run(seed, seed % 2 == 0, 300);
    std::int64_t not_run = 0;
    std::int64_t written = 0;
    for (std::size_t d = 0; d < run.plan.device_count(); ++d) {
      const KinetoFile file(run, id_at<DeviceId>(d));
      ASSERT_EQ(slices_by_op(file), slices_of_trace(run, id_at<DeviceId>(d))) << seed;
      ASSERT_TRUE(rows_nest(file)) << seed;
      written += file.counts().written;
      not_run += file.counts().not_run;
      ASSERT_EQ(file.counts().bytes, static_cast<std::int64_t>(file.text().size()));
    }
    ASSERT_EQ(written + not_run, 300);
  }
}

TEST(Kineto, SaysOfACollectiveWhatPytorchSays) {
  const KinetoFile file(two_steps(), DeviceId{1});
  // 4000 bytes in 25 us are 0.16 GB/s; two ranks move 2 · (2 - 1) / 2 times that.
  EXPECT_THAT(
      file.lines_with("AllReduce"),
      ElementsAre(
          R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL",)"
          R"("pid":1,"tid":20,"ts":20.000,"dur":25.000,"args":{"External id":3,"queued":0,)"
          R"("device":1,"context":1,"stream":20,"correlation":3,"Collective name":"allreduce",)"
          R"("In msg nelems":1000,"Out msg nelems":1000,"Group size":2,"dtype":"Float",)"
          R"("In split size":"[]","Out split size":"[]","Process Group Name":"dp",)"
          R"("Process Group Description":"dp","Process Group Ranks":"[0, 1]",)"
          R"("twinrun":{"op":"step0/grads@gpu1","bytes":4000,"algbw_GBps":0.16,"busbw_GBps":0.16,)"
          R"("algorithm":"ring","protocol":"LL","channels":2,"bottleneck":"gpu0 -> nvswitch0"}}},)"));
}

TEST(Kineto, NamesKernelsAsHtaSortsThem) {
  const KinetoFile file(two_steps(), DeviceId{0});
  std::vector<std::string> found;
  for (const JsonValue event : file.events("X")) {
    std::ostringstream line;
    line << event.find("tid").integer() << ' ' << event.find("cat").text() << ' '
         << event.find("name").text() << ' ' << ns_of(event.find("ts")) << '+'
         << ns_of(event.find("dur")) << " stream " << event.find("args").find("stream").integer();
    found.push_back(line.str());
  }
  EXPECT_THAT(
      found,
      ElementsAre("0 user_annotation ProfilerStep#0 0+45000 stream -1",
                  "0 user_annotation ProfilerStep#1 45000+20000 stream -1",
                  "7 kernel forward 0+20000 stream 7",
                  "20 kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000+25000 stream 20",
                  "22 kernel ncclDevKernel_SendRecv 20000+10000 stream 22",
                  "7 kernel forward 45000+15000 stream 7",
                  "30 gpu_memcpy Memcpy DtoH (node0/gpu0 -> node1/cpu0) 45000+20000 stream 30",
                  "7 user_annotation done 60000+0 stream -1"));
}

TEST(Kineto, CountsMemoryByPart) {
  std::vector<std::string> lines = KinetoFile(two_steps(), DeviceId{0}).lines_with(R"("ph":"C")");
  const std::string front = R"({"ph":"C","name":"memory","pid":0,"tid":0,"ts":)";
  EXPECT_THAT(lines, ElementsAre(front + R"(0.000,"args":{"parameters":1000}},)",
                                 front + R"(20.000,"args":{"parameters":1000,"activations":500}},)",
                                 front + R"(45.000,"args":{"parameters":1000,"activations":0}},)"));
}

TEST(Kineto, PointsFromSendToRecvByOneId) {
  const ExampleRun run = two_steps();
  EXPECT_THAT(
      KinetoFile(run, DeviceId{0}).lines_with(R"("cat":"pp")"),
      ElementsAre(R"({"ph":"s","id":4,"cat":"pp","name":"pp","pid":0,"tid":22,"ts":20.000},)"));
  EXPECT_THAT(
      KinetoFile(run, DeviceId{1}).lines_with(R"("cat":"pp")"),
      ElementsAre(
          R"({"ph":"f","id":4,"cat":"pp","name":"pp","pid":1,"tid":22,"ts":20.000,"bp":"e"})"));
}

TEST(Kineto, TellsHtaItsRankOnALineBeforeAnyOther) {
  const ExampleRun run = random_run(3, true, 50);
  const std::regex rank(R"re("rank":\s+(\d+))re");
  for (std::size_t d = 0; d < run.plan.device_count(); ++d) {
    const KinetoFile file(run, id_at<DeviceId>(d));
    std::smatch match;
    ASSERT_TRUE(std::regex_search(file.text(), match, rank));
    EXPECT_EQ(match[1].str(), std::to_string(d));
    const JsonValue info = file.root().find("distributedInfo");
    EXPECT_EQ(info.find("world_size").integer(), 4);
    EXPECT_EQ(info.find("pg_config").first().find("ranks").size(), 4U);
    EXPECT_EQ(info.find("pg_config").first().find("pg_desc").text(), "default_pg");
  }
}

TEST(Kineto, EscapesControlCharactersAndWhatIsNotUtf8) {
  const KinetoFile file(random_run(5, true, 50), DeviceId{0});
  EXPECT_TRUE(std::all_of(file.text().begin(), file.text().end(), [](char c) {
    return c == '\n' || static_cast<unsigned char>(c) >= 0x20;
  }));
}

TEST(Kineto, GivesEverySliceWhatHtaRequires) {
  const KinetoFile file(random_run(7, false, 300), DeviceId{1});
  std::set<std::string> names;
  for (const JsonValue event : file.events("X")) {
    for (const char* key : {"ts", "dur", "name", "cat", "pid", "tid"}) {
      ASSERT_TRUE(event.find(key)) << key;
    }
    const bool is_host =
        event.find("cat").text() == "cpu_op" || event.find("cat").text() == "user_annotation";
    ASSERT_EQ(event.find("args").find("stream").integer() == -1, is_host);
    const bool communicates{event.find("args").find("Collective name")};
    ASSERT_EQ(event.find("name").text().starts_with("nccl"), communicates);
    ASSERT_EQ(event.find("name").text().starts_with("Memcpy"),
              event.find("cat").text() == "gpu_memcpy");
  }
}

TEST(Kineto, ReachingTheCapKeepsTheEarliest) {
  const ExampleRun run = random_run(11, true, 2000);
  const KinetoFile whole(run, DeviceId{0});
  const std::int64_t cap = static_cast<std::int64_t>(whole.text().size()) / 3;
  const KinetoFile file(run, DeviceId{0}, {.most_bytes = cap});
  EXPECT_LE(file.counts().bytes, cap);
  EXPECT_GT(file.counts().bytes, cap - 2000);
  EXPECT_EQ(file.counts().written + file.counts().beyond_cap, whole.counts().written);
  const auto kept = slices_by_op(file);
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(file.counts().written));
  std::int64_t last_kept = 0;
  for (const auto& [op, slice] : kept) {
    last_kept = std::max(last_kept, slice.start);
  }
  for (const auto& [op, slice] : slices_by_op(whole)) {
    EXPECT_TRUE(kept.contains(op) || slice.start >= last_kept) << op;
  }
}

TEST(Kineto, ChosenStepsKeepTheMemoryThatEarlierOnesTook) {
  const KinetoFile file(two_steps(), DeviceId{0}, {.steps = {1}});
  EXPECT_EQ(file.counts().written, 3);
  EXPECT_EQ(file.counts().not_chosen, 3);
  EXPECT_THAT(file.lines_with("ProfilerStep#0"), IsEmpty());
  EXPECT_THAT(
      file.lines_with(R"("ph":"C")"),
      ElementsAre(
          R"({"ph":"C","name":"memory","pid":0,"tid":0,"ts":45.000,"args":{"parameters":1000,"activations":0}},)"));
}

TEST(Kineto, AStepThatBeginsEarlyBeginsAfterTheOneBefore) {
  PlanBuilder b;
  const DeviceId gpu = b.add_device("gpu0");
  b.add_compute("step0/a", b.stream(gpu, "compute"), {});
  b.add_copy("step1/prefetch", b.stream(gpu, "copy"), gpu, {});
  ExampleRun run{std::move(b).finish(), {}};
  run.trace.ops = {{{}, {0}, {9000}}, {{}, {5000}, {12000}}};
  const KinetoFile file(run, DeviceId{0});
  EXPECT_TRUE(rows_nest(file));
  EXPECT_EQ(slice_of(file.events("X")[0]), (Slice{0, 9}));
  EXPECT_EQ(slice_of(file.events("X")[1]), (Slice{9, 12}));
}

TEST(Kineto, HandsOutSmallPieces) {
  EXPECT_LT(KinetoFile(random_run(13, true, 20000), DeviceId{0}).largest_piece(), 70'000U);
}

std::string unzipped(const std::string& path) {
  std::FILE* pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 65536> buffer{};
  std::size_t got = 0;
  do {
    got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    text.append(buffer.data(), got);
  } while (got > 0);
  EXPECT_EQ(pclose(pipe), 0);
  return text;
}

void add_missing(JsonValue wanted, JsonValue ours, std::set<std::string>& missing) {
  for (JsonValue key = wanted.first(); key; key = key.next()) {
    if (!ours.find(key.key())) {
      missing.emplace(key.key());
    }
  }
}

// HTA's own sample, when it is there: our collectives have every key of its, except those that
// describe a real kernel launch.
TEST(Kineto, HasTheKeysOfARealTrace) {
  const std::string path =
      std::string(TWINRUN_TEST_ROOT) + "/../shared/fixtures/kineto_ddp_resnet50_2xa100.json.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no fixture " << path;
  }
  Diagnostics diagnostics;
  const auto real = JsonDocument::read(Source::of_text("hta", unzipped(path)), diagnostics);
  ASSERT_FALSE(diagnostics.has_errors());
  const KinetoFile ours(two_steps(), DeviceId{0});
  const JsonValue our_nccl = ours.events("X")[3];
  std::set<std::string> missing;
  int compared = 0;
  for (JsonValue event = real.root().find("traceEvents").first(); event; event = event.next()) {
    if (event.find("name").text().starts_with("nccl") && event.find("cat").text() == "kernel") {
      add_missing(event, our_nccl, missing);
      add_missing(event.find("args"), our_nccl.find("args"), missing);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 21);
  EXPECT_THAT(missing, ElementsAre("block", "blocks per SM", "est. achieved occupancy %", "grid",
                                   "registers per thread", "shared memory", "warps per SM"));
  missing.clear();
  add_missing(real.root().find("distributedInfo"), ours.root().find("distributedInfo"), missing);
  EXPECT_THAT(missing, ElementsAre("nccl_version"));
}

}  // namespace
}  // namespace twinrun
