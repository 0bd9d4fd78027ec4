// Names of shared memory: "/twinrun-nccl-<process>-<random>", so that a later process can tell what
// is stale.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/substitute/clique.h"

namespace substitute {
namespace {

constexpr std::string_view kNamePrefix = "twinrun-nccl-";

bool is_stale(std::string_view file) {
  if (!file.starts_with(kNamePrefix)) {
    return false;
  }
  const long process = std::strtol(file.data() + kNamePrefix.size(), nullptr, 10);
  return process > 0 && kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

// A process that was killed between creating a communicator's memory and the last rank's arrival
// leaves its name.
void remove_stale_names() {
  DIR* const folder = opendir("/dev/shm");
  if (folder == nullptr) {
    return;
  }
  while (const dirent* const entry = readdir(folder)) {
    if (is_stale(static_cast<const char*>(entry->d_name))) {
      shm_unlink(("/" + std::string(static_cast<const char*>(entry->d_name))).c_str());
    }
  }
  closedir(folder);
}

}  // namespace

std::string new_clique_name() {
  remove_stale_names();
  std::random_device random;
  char text[64];
  std::snprintf(text, sizeof text, "/%s%d-%08x%08x", kNamePrefix.data(), getpid(), random(),
                random());
  return text;
}

}  // namespace substitute
