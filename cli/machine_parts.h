#pragma once

#include <string>
#include <vector>

namespace twinrun::cli {

enum class PartStatus { kOk, kWarning, kMissing };

// A part of the machine that twinrun can use, and what to do when it is not as it should be.
struct Part {
  std::string name;
  PartStatus status = PartStatus::kOk;
  std::string detail;
  std::string fix;  // one concrete line; "" when there is nothing to do
};

// Looks at the machine now. Opens libraries in child processes, so none can harm us.
std::vector<Part> machine_parts();

// As the operating system names it: "AMD EPYC 9654".
std::string cpu_model();

}  // namespace twinrun::cli
