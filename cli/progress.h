#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/context.h"

namespace twinrun::cli {

// Says on standard error how far a long piece of work is. On a terminal one line, drawn from the
// first second on, at most ten times a second, erased at the end; elsewhere a line every ten
// seconds
// ({"type":"progress","done":…,"total":…} with --format jsonl); with --quiet nothing.
//
//   Progress progress(context, "reading plan.json");
//   progress.update(done, total);          // as often as you like
class Progress {
 public:
  Progress(const Context& context, std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // Done of total, in any unit; a total of 0 is unknown. The note is shown at the end of the line.
  void update(std::int64_t done, std::int64_t total, const std::string& note = {});

 private:
  using Clock = std::chrono::steady_clock;
  enum class Form { kNone, kRedrawn, kLines, kJsonLines };

  void draw(std::int64_t done, std::int64_t total, const std::string& note, Clock::time_point now);

  std::string what_;
  Form form_ = Form::kNone;
  Clock::time_point start_;
  Clock::time_point next_;  // not before this
  bool drawn_ = false;
};

}  // namespace twinrun::cli
