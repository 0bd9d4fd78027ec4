#include "cli/repeated_command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace twinrun::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Copies standard input into a file, and lets it be read from there again.
std::string keep_standard_input() {
  std::string name = (fs::temp_directory_path() / "twinrun-input-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) {
    fail("cannot write " + name);
  }
  std::array<char, 65536> buffer{};
  for (ssize_t count = 1; count > 0;) {
    count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    const bool is_kept =
        count <= 0 || ::write(file, buffer.data(), static_cast<std::size_t>(count)) == count;
    if (count < 0 || !is_kept) {
      fail("cannot keep standard input in " + name);
    }
  }
  ::lseek(file, 0, SEEK_SET);
  ::dup2(file, STDIN_FILENO);
  ::close(file);
  return name;
}

}  // namespace

RepeatedCommand::RepeatedCommand() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(in, word, '\0');) {
    words_.push_back(word);
  }
  if (words_.empty()) {
    fail("/proc/self/cmdline");
  }
  words_.front() = fs::read_symlink("/proc/self/exe").string();
  const auto input = std::find(words_.begin(), words_.end(), "-");
  if (input != words_.end()) {
    file_ = keep_standard_input();
    *input = file_;
  }
}

RepeatedCommand::~RepeatedCommand() {
  std::error_code error;
  if (!file_.empty()) {
    fs::remove(file_, error);
  }
}

}  // namespace twinrun::cli
