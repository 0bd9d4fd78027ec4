#pragma once

#include <functional>
#include <optional>
#include <string>

namespace twinrun::exec {

// What torchrun tells the processes that it starts, in variables that people also set by hand.
struct TorchrunLaunch {
  int rank = 0;
  int size = 1;
  int local = 0;     // which of those on its machine
  std::string host;  // where the first process is
  int port = 0;  // … and listens: TWINRUN_PORT, or the one after MASTER_PORT, which is torchrun's
  std::string run;  // of the processes of one run alone; "" when nothing was said
};

using Environment = std::function<std::string(const char* name)>;  // "" when it is not set

// It was torchrun that started this process; without it, others' variables count first.
bool is_of_torchrun(const Environment& environment);

// Nothing when RANK is not set, or alone. InputError with all that is wrong.
std::optional<TorchrunLaunch> torchrun_launch(const Environment& environment);

}  // namespace twinrun::exec
