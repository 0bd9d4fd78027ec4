#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace twinrun {

inline std::string own_fixture(const std::string& name) {
  return std::string(TWINRUN_TEST_ROOT) + "/tests/core/io/fixtures/" + name;
}

inline std::vector<std::string> xml_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".xml") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Real files of other projects, which this repository does not carry.
inline std::string foreign_folder() {
  const char* set = std::getenv("TWINRUN_FIXTURES");
  return set != nullptr ? set : std::string(TWINRUN_TEST_ROOT) + "/../shared/fixtures";
}

}  // namespace twinrun
