#include "exec/find_plugin.h"

#include <filesystem>
#include <system_error>

namespace twinrun::exec {

namespace fs = std::filesystem;

std::string find_plugin(const std::string& file_name) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  // Beside the program; a test of ours is in a folder below it; an installation has bin and lib.
  for (const fs::path& place : {folder, folder.parent_path(), folder.parent_path().parent_path(),
                                folder / "../lib/twinrun"}) {
    if (fs::exists(place / file_name, error)) {
      return (place / file_name).lexically_normal().string();
    }
  }
  return "";
}

}  // namespace twinrun::exec
