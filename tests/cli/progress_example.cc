// A run of about two seconds under a progress line; progress_test.py watches what it draws.
#include <chrono>
#include <string>
#include <thread>

#include "cli/context.h"
#include "cli/progress.h"

int main(int argc, char** argv) {
  twinrun::cli::GlobalOptions options;
  for (int i = 1; i < argc; ++i) {
    options.quiet = options.quiet || std::string(argv[i]) == "--quiet";
  }
  const int ticks = argc > 1 && std::string(argv[1]) == "short" ? 50 : 200;
  twinrun::cli::Progress progress(twinrun::cli::Context(options), "counting");
  for (int i = 1; i <= ticks; ++i) {
    progress.update(i, ticks, "µ note");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}
