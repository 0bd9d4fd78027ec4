#include "core/io/load_case.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kJobCase = R"({
  "schema": "twinrun/case/1", "name": "two rows", "table": "mine", "citation": "a page",
  "assumed": ["a thing"], "left_out": ["another"], "metric": "samples_per_s", "steps": 2,
  "job": {"model": "resnet50", "topology": "dgx-a100", "training": {"local_batch_size": 32}},
  "rows": [
    {"name": "one", "measured": 100, "group": "g"},
    {"name": "two", "set": {"training.local_batch_size": 64, "topology.gpus": 4, "model": "vgg16"},
     "measured": 2.5, "group": "g", "relative_to": "one"}]})";

CaseFile read_text(const std::string& text, Diagnostics& diagnostics) {
  return read_case(Source::of_text("case.json", text), diagnostics);
}

// "E1002 /rows/1/relative_to", one for each complaint.
std::vector<std::string> complaints(const std::string& text) {
  Diagnostics diagnostics;
  read_text(text, diagnostics);
  std::vector<std::string> out;
  for (const Diagnostic& one : diagnostics.all()) {
    out.push_back(one.code + " " + one.place.pointer);
  }
  return out;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(LoadCase, ReadsHeadingAndRows) {
  Diagnostics diagnostics;
  const CaseFile file = read_text(kJobCase, diagnostics);
  ASSERT_TRUE(diagnostics.all().empty());
  EXPECT_EQ(file.table, "mine");
  EXPECT_EQ(file.metric, CaseMetric::kSamplesPerS);
  EXPECT_EQ(file.steps, 2);
  EXPECT_FALSE(file.is_collective);
  EXPECT_THAT(file.assumed, ElementsAre("a thing"));
  EXPECT_THAT(file.left_out, ElementsAre("another"));
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_EQ(file.rows[1].measured, 2.5);
  EXPECT_EQ(file.rows[1].relative_to, "one");
  EXPECT_EQ(file.rows[1].group, "g");
}

TEST(LoadCase, ARowIsTheJobWithItsKeysSet) {
  Diagnostics diagnostics;
  const CaseFile file = read_text(kJobCase, diagnostics);
  const LoadedJob one = read_case_job(file, file.rows[0], diagnostics);
  const LoadedJob two = read_case_job(file, file.rows[1], diagnostics);
  ASSERT_TRUE(diagnostics.all().empty());
  EXPECT_EQ(one.job.training.local_batch_size, 32);
  EXPECT_EQ(one.model.name, "resnet50");
  EXPECT_EQ(two.job.training.local_batch_size, 64);
  EXPECT_EQ(two.model.name, "vgg16");
  EXPECT_EQ(two.topology.nodes.front().gpus, 4);
}

TEST(LoadCase, ComplaintsAboutTheJobStandWhereItIsWritten) {
  Diagnostics diagnostics;
  const CaseFile file = read_text(
      replaced(kJobCase, "\"local_batch_size\": 32", "\"local_batch_size\": -1"), diagnostics);
  ASSERT_TRUE(diagnostics.all().empty()) << "rows are read when they are asked for";
  read_case_job(file, file.rows[0], diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].place.file, "case.json");
  EXPECT_EQ(diagnostics.all()[0].place.pointer, "/job/training/local_batch_size");
}

TEST(LoadCase, ComplaintsAboutASetKeyNameTheRow) {
  Diagnostics diagnostics;
  const CaseFile file =
      read_text(replaced(kJobCase, "\"topology.gpus\": 4", "\"training.batch\": 4"), diagnostics);
  read_case_job(file, file.rows[1], diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].code, "E0701");
  EXPECT_THAT(diagnostics.all()[0].place.file, HasSubstr("row \"two\": training.batch = 4"));
}

TEST(LoadCase, ARowOfACollectiveMayMakeSeveralCalls) {
  Diagnostics diagnostics;
  const CaseFile file = read_text(R"({
    "name": "calls", "table": "mine", "citation": "a page", "metric": "time_s",
    "collective": {"topology": "p3.2xlarge:nodes=4", "kind": "all_reduce", "bytes": "1MiB",
                   "gpus_per_process": 2},
    "rows": [
      {"name": "one", "measured": 1},
      {"name": "two", "measured": 1,
       "set": {"topology": "dgx-a100", "kind": "reduce", "bytes": 100, "times": 3,
               "then": [{"kind": "broadcast", "bytes": "2KiB", "times": 4}]}},
      {"name": "three", "measured": 1, "set": {"kind": "send_recv"}}]})",
                                  diagnostics);
  const CaseCollective one = read_case_collective(file, file.rows[0], diagnostics);
  const CaseCollective two = read_case_collective(file, file.rows[1], diagnostics);
  const CaseCollective three = read_case_collective(file, file.rows[2], diagnostics);
  ASSERT_TRUE(diagnostics.all().empty());
  ASSERT_EQ(one.calls.size(), 1U);
  EXPECT_EQ(one.calls[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(one.calls[0].bytes.count, 1 << 20);
  EXPECT_EQ(one.calls[0].times, 1);
  EXPECT_EQ(one.gpus_per_process, 2);
  EXPECT_EQ(two.topology.name, "dgx-a100");
  ASSERT_EQ(two.calls.size(), 2U);
  EXPECT_EQ(two.calls[0].kind, CollectiveKind::kReduce);
  EXPECT_EQ(two.calls[0].times, 3);
  EXPECT_EQ(two.calls[1].kind, CollectiveKind::kBroadcast);
  EXPECT_EQ(two.calls[1].bytes.count, 2048);
  EXPECT_EQ(two.calls[1].times, 4);
  EXPECT_FALSE(three.calls[0].kind);
}

TEST(LoadCase, MistakesAreNamedWithTheirPlaces) {
  const auto expect = [](const char* what, const char* by, const char* complaint) {
    EXPECT_THAT(complaints(replaced(kJobCase, what, by)), Contains(complaint)) << by;
  };
  expect("twinrun/case/1", "twinrun/job/1", "E0207 /schema");
  expect("\"citation\": \"a page\",", "", "E0201 ");
  expect("samples_per_s", "samples", "E0204 /metric");
  expect("samples_per_s", "time_s", "E1003 /metric");
  expect("\"job\": {", "\"jobs\": {", "E1003 ");
  expect("\"job\": {", "\"collective\": {}, \"job\": {", "E1003 ");
  expect("\"name\": \"two\"", "\"name\": \"one\"", "E1001 /rows/1");
  expect("\"relative_to\": \"one\"", "\"relative_to\": \"on\"", "E1002 /rows/1/relative_to");
  expect("\"measured\": 100", "\"measured\": 0", "E0203 /rows/0/measured");
  expect("\"measured\": 100, ", "", "E0201 /rows/0");
  expect("\"measured\": 100", "\"measure\": 100", "E0205 /rows/0/measure");
  expect("[\"a thing\"]", "[1]", "E0202 /assumed/0");
}

TEST(PublishedCases, AreReadWithoutAWord) {
  const std::vector<Source> sources = published_cases();
  ASSERT_GE(sources.size(), 10U);
  for (const Source& source : sources) {
    Diagnostics diagnostics;
    const CaseFile file = read_case(source, diagnostics);
    EXPECT_FALSE(file.citation.empty()) << source.name();
    EXPECT_GE(file.rows.size(), 3U) << source.name();
    for (const CaseRow& row : file.rows) {
      if (file.is_collective) {
        read_case_collective(file, row, diagnostics);
      } else {
        read_case_job(file, row, diagnostics);
      }
    }
    for (const Diagnostic& one : diagnostics.all()) {
      ADD_FAILURE() << source.name() << ": " << one.message << " at " << one.place.file
                    << one.place.pointer;
    }
  }
}

}  // namespace
}  // namespace twinrun
