#include "cli/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace twinrun::cli {
namespace {

using Clock = std::chrono::steady_clock;

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Reads until the other end closes; false when the time is up first.
bool read_until_closed(int descriptor, Clock::time_point end, std::string& text) {
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting = {descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (ready == 0 || (ready < 0 && errno != EINTR)) {
      return false;
    }
    if (ready < 0) {
      continue;
    }
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) {
      return count == 0;
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Never returns: a child that unwound into the parent's stack would run the parent's code twice.
[[noreturn]] void be_the_child(int out, const std::function<std::string()>& work) {
  std::signal(SIGINT, SIG_DFL);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  try {
    write_all(STDOUT_FILENO, work());
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& work,
                         std::chrono::milliseconds limit) {
  ChildResult result;
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    return result;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    be_the_child(ends[1], work);
  }
  ::close(ends[1]);
  if (child > 0) {
    const bool in_time = read_until_closed(ends[0], Clock::now() + limit, result.output);
    if (!in_time) {
      ::kill(child, SIGKILL);
    }
    int status = 0;
    const bool ended = ::waitpid(child, &status, 0) == child;
    result.succeeded = in_time && ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ::close(ends[0]);
  return result;
}

ChildResult run_command(const std::vector<std::string>& words, std::chrono::milliseconds limit) {
  return run_in_child(
      [&]() -> std::string {
        std::vector<char*> argv;
        for (const std::string& word : words) {
          argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's old signature
        }
        argv.push_back(nullptr);
        ::execvp(argv.front(), argv.data());
        ::_exit(127);
      },
      limit);
}

}  // namespace twinrun::cli
