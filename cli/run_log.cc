#include "cli/run_log.h"

#include <chrono>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/build_info.h"

namespace twinrun::cli {
namespace {

// As it was typed, with quotes where a shell would need them.
std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string out;
  for (std::string word; std::getline(in, word, '\0');) {
    const bool is_plain =
        !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?") == std::string::npos;
    out += (out.empty() ? "" : " ") + (is_plain ? word : fmt::format("'{}'", word));
  }
  return out;
}

}  // namespace

std::string RunLog::utc_now() {
  return fmt::format(
      "{:%Y-%m-%d %H:%M:%S}Z",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

void RunLog::open() {
  std::filesystem::create_directories(folder_);
  file_.open(std::filesystem::path(folder_) / "log.txt", std::ios::trunc);
  file_ << begun_ << "  twinrun " << kVersion << ": " << command_line() << '\n';
}

void RunLog::say(std::string_view line) {
  if (folder_.empty() || line.empty()) {
    return;
  }
  if (!file_.is_open()) {
    open();
  }
  const std::string now = utc_now();
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find('\n', begin), line.size());
    file_ << now << "  " << line.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
  file_.flush();
}

}  // namespace twinrun::cli
