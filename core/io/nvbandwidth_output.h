#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "core/io/source.h"

namespace twinrun {

// What nvbandwidth printed, as text or with --json: a matrix a test.
struct NvbandwidthOutput {
  struct Copy {
    std::string test;  // host_to_device_memcpy_ce
    bool from_host = false;
    bool to_host = false;
    std::size_t from = 0;  // GPUs by their number; of a host it says nothing
    std::size_t to = 0;
    Bandwidth rate{};
  };
  std::vector<Copy> copies;           // of one pair at a time
  std::vector<std::string> left_out;  // tests that do something else: both ways at once, latency
};

// Complains (E0814) about a file with no such copy in it.
NvbandwidthOutput read_nvbandwidth(const Source& source, Diagnostics& diagnostics);

}  // namespace twinrun
