// What is left of everything, and how to begin again.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "tests/substitute/calls.h"
#include "tests/substitute/communicators.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/events.h"
#include "tests/substitute/handles.h"
#include "tests/substitute/kernels.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/streams.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {
namespace {

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

// Runs after main and after what main registered: whoever cleans up at exit has done so.
struct LeakReport {
  ~LeakReport() {
    const char* const asked = std::getenv("TWINRUN_SUBSTITUTE_LEAKS");
    if (asked == nullptr) {
      return;
    }
    const std::vector<std::string> lines = leaks();
    for (const std::string& line : lines) {
      std::fprintf(stderr, "gpu substitute: left at exit: %s\n", line.c_str());
    }
    if (!lines.empty() && std::strcmp(asked, "fail") == 0) {
      std::fflush(nullptr);
      _exit(23);  // as LeakSanitizer's
    }
  }
};
const LeakReport kLeakReport;

}  // namespace

std::vector<std::string> leaks() {
  const Hidden hidden;
  std::vector<std::string> lines = streams().leaks();
  append(lines, events().leaks());
  append(lines, device_memory().leaks());
  append(lines, leaked_handles());
  append(lines, communicators().leaks());
  for (const auto& [device, peer] : machine().enabled_peers()) {
    lines.push_back("peer access of device " + std::to_string(device) + " to device " +
                    std::to_string(peer));
  }
  return lines;
}

void reset() {
  const Hidden hidden;
  forget_kernel_faults();
  communicators().abort_all();
  streams().end_all();
  events().end_all();
  end_all_handles();
  device_memory().free_all();
  machine().reset();
  set_current_device(0);
  forget_calls();
  forget_nccl_settings();
  forget_clock();
}

}  // namespace substitute
