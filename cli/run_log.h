#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "cli/run_folder.h"

namespace twinrun::cli {

// log.txt of a run folder: what was asked for, and what happened when, in universal time. Lines are
// on disk as soon as they are said, so that a run that was killed has them. Nothing happens where
// no folder was asked for; the folder is made with the first line.
class RunLog {
 public:
  explicit RunLog(const RunFiles& files) : folder_(files.out) {}

  void say(std::string_view line);

 private:
  void open();

  std::string folder_;
  std::string begun_ = utc_now();
  std::ofstream file_;

  static std::string utc_now();
};

}  // namespace twinrun::cli
