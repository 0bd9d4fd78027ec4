#include "core/io/source.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/diagnostics.h"

namespace twinrun {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// An empty folder for one test.
class SourceOnDisk : public testing::Test {
 protected:
  SourceOnDisk() {
    std::string pattern = (fs::temp_directory_path() / "twinrun_source_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SourceOnDisk() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  fs::path folder_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(const Source& source) {
  std::string text;
  std::vector<char> buffer(3);
  const auto stream = source.open();
  for (std::size_t count = stream->read(buffer); count > 0; count = stream->read(buffer)) {
    text.append(buffer.data(), count);
  }
  return text;
}

Diagnostic complaint_on_open(const Source& source) {
  try {
    (void)source.open();
  } catch (const InputError& error) {
    return error.diagnostics().all().at(0);
  }
  return {};
}

TEST_F(SourceOnDisk, ReadsTheSameTextTwice) {
  write_file(path("a"), "hello world", false);
  const Source source = Source::of_argument(path("a"));
  EXPECT_EQ(text_of(source), "hello world");
  EXPECT_EQ(text_of(source), "hello world");
}

TEST_F(SourceOnDisk, ADirectoryIsRefusedByName) {
  const Diagnostic complaint = complaint_on_open(Source::of_file(folder_.string()));
  EXPECT_EQ(complaint.code, "E0101");
  EXPECT_EQ(complaint.message, folder_.string() + " is a directory, not a file");
  EXPECT_EQ(complaint.help, "name a file inside it");
}

TEST_F(SourceOnDisk, AMissingFileIsRefusedByName) {
  const Diagnostic complaint = complaint_on_open(Source::of_file(path("none")));
  EXPECT_EQ(complaint.code, "E0101");
  EXPECT_EQ(complaint.message, "cannot open " + path("none") + ": No such file or directory");
}

TEST_F(SourceOnDisk, APipeIsHeldSoThatItCanBeReadTwice) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << "once"; });
  const Source source = Source::of_argument(path("pipe"));
  writer.join();
  EXPECT_EQ(text_of(source), "once");
  EXPECT_EQ(text_of(source), "once");
}

TEST_F(SourceOnDisk, AnEndlessInputIsRefused) {
  EXPECT_THROW((void)Source::of_argument("/dev/zero"), InputError);
}

TEST_F(SourceOnDisk, AWatchedSourceTellsHowFarItIs) {
  write_file(path("a"), "1234567", false);
  std::vector<std::pair<std::int64_t, std::int64_t>> told;
  const Source source = Source::of_file(path("a")).watched(
      [&](std::int64_t done, std::int64_t total) { told.emplace_back(done, total); });
  EXPECT_EQ(text_of(source), "1234567");
  EXPECT_THAT(told,
              ElementsAre(std::pair(3, 7), std::pair(6, 7), std::pair(7, 7), std::pair(7, 7)));
}

TEST_F(SourceOnDisk, WritingRefusesToReplaceUnlessForced) {
  write_file(path("a"), "one", false);
  EXPECT_THROW(write_file(path("a"), "two", false), UsageError);
  EXPECT_EQ(content(path("a")), "one");
  write_file(path("a"), "two", true);
  EXPECT_EQ(content(path("a")), "two");
}

TEST_F(SourceOnDisk, WritingLeavesNoTemporaryFile) {
  write_file(path("a"), "one", false);
  EXPECT_THROW(write_file(path("none/a"), "one", false), std::system_error);
  EXPECT_THROW(write_file(folder_.string(), "one", true), UsageError);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, ElementsAre("a"));
}

TEST_F(SourceOnDisk, AReaderOfTheOldFileKeepsIt) {
  write_file(path("a"), "old", false);
  std::ifstream reader(path("a"));
  write_file(path("a"), "new", true);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
  EXPECT_EQ(content(path("a")), "new");
}

TEST_F(SourceOnDisk, DevicesAreWrittenToAndNotReplaced) {
  write_file("/dev/null", "gone", false);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace twinrun
