#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/io/json_document.h"
#include "core/io/render_diagnostics.h"

// Inputs made to hurt: each must be refused with a complaint that is rendered, in bounded time and
// memory. Each runs in a child process, so that its peak memory can be told.
namespace twinrun {
namespace {

namespace fs = std::filesystem;

struct Cost {
  bool refused = false;
  double seconds = 0;  // of the processor: the machine may be busy with other tests
  long peak_mib = 0;
};

bool is_refused_with_a_message(const std::string& path) {
  Diagnostics diagnostics;
  const Source source = Source::of_file(path);
  (void)JsonDocument::read(source, diagnostics);
  const auto find = [&](const std::string&) { return std::optional(source); };
  const std::string text = render_text(locate(diagnostics, find), false);
  return diagnostics.has_errors() && text.starts_with("error[E01") && text.size() < 20000;
}

double in_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Cost cost_of_refusing(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(is_refused_with_a_message(path) ? 0 : 1);
  }
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0,
          in_seconds(used.ru_utime) + in_seconds(used.ru_stime), used.ru_maxrss / 1024};
}

class HostileInput : public testing::Test {
 protected:
  HostileInput() {
    std::string pattern = (fs::temp_directory_path() / "twinrun_hostile_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~HostileInput() override { fs::remove_all(folder_); }

  // A file of the head, the unit repeated, and the tail.
  std::string file(const std::string& head,
                   const std::string& unit,
                   std::size_t times,
                   const std::string& tail) {
    const std::string path = (folder_ / "input.json").string();
    std::ofstream out(path, std::ios::binary);
    out << head;
    std::string block;
    const std::size_t per_block = std::max<std::size_t>(1, (std::size_t{1} << 20) / unit.size());
    for (std::size_t i = 0; i < per_block; ++i) {
      block += unit;
    }
    for (; times >= per_block; times -= per_block) {
      out << block;
    }
    out << block.substr(0, times * unit.size()) << tail;
    return path;
  }

  static void expect_cheap_refusal(const std::string& path) {
    const Cost cost = cost_of_refusing(path);
    EXPECT_TRUE(cost.refused);
#if !defined(__SANITIZE_ADDRESS__)  // which costs time and memory of its own
    EXPECT_LT(cost.seconds, 10);
    EXPECT_LT(cost.peak_mib, 300);
#endif
    RecordProperty("seconds", std::to_string(cost.seconds));
    std::printf("             %.2f s, %ld MiB\n", cost.seconds, cost.peak_mib);
  }

  fs::path folder_;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kManySpaces = std::size_t{1} << 24;
#else
constexpr std::size_t kManySpaces = std::size_t{1} << 30;
#endif

TEST_F(HostileInput, AGigabyteOfSpaces) { expect_cheap_refusal(file("", " ", kManySpaces, "")); }
TEST_F(HostileInput, AGigabyteOfEmptyLines) {
  expect_cheap_refusal(file("[", "\n", kManySpaces, ""));
}
TEST_F(HostileInput, AHundredMegabytesOfString) {
  expect_cheap_refusal(file("[\"", "x", 100'000'000, "\"]"));
}
TEST_F(HostileInput, AHundredMegabytesOfValues) {
  expect_cheap_refusal(file("[1", ",1", 50'000'000, "]"));
}
TEST_F(HostileInput, AHundredMegabytesOfStrings) {
  expect_cheap_refusal(file("[1", ",\"0123456789012345678901234567890123456789\"", 2'400'000, "]"));
}
TEST_F(HostileInput, AMillionTimesTheSameKey) {
  expect_cheap_refusal(file("{\"k\":1", ",\"k\":1", 1'000'000, "}"));
}
TEST_F(HostileInput, AMillionDigits) { expect_cheap_refusal(file("[", "9", 1'000'000, "]")); }
TEST_F(HostileInput, AHundredThousandBrackets) { expect_cheap_refusal(file("", "[", 100'000, "")); }
TEST_F(HostileInput, AHundredThousandObjects) {
  expect_cheap_refusal(file("", "{\"a\":", 100'000, ""));
}
TEST_F(HostileInput, ZeroBytes) {
  expect_cheap_refusal(file("", std::string(1, '\0'), 1'000'000, ""));
}
TEST_F(HostileInput, ADirectory) {
  EXPECT_THROW((void)is_refused_with_a_message(folder_.string()), InputError);
}

}  // namespace
}  // namespace twinrun
