#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace twinrun::cli {

// What came of work done in a process of its own.
struct ChildResult {
  bool succeeded = false;  // ended by itself, in time, with exit code 0
  std::string output;
};

// Runs the work in a forked process and collects the text it returns. A foreign library that
// crashes or hangs while it is opened then costs an answer, not the program.
ChildResult run_in_child(const std::function<std::string()>& work,
                         std::chrono::milliseconds limit = std::chrono::seconds(10));

// Runs a program of the PATH; collects its standard output, drops its standard error.
ChildResult run_command(const std::vector<std::string>& words,
                        std::chrono::milliseconds limit = std::chrono::seconds(10));

}  // namespace twinrun::cli
