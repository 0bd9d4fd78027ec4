#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/units.h"

namespace twinrun::report {

// An op as the page's timeline has it.
struct UnpackedOp {
  std::int64_t wait_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_on_path = false;
  std::string category;
  bool operator==(const UnpackedOp&) const = default;
};

// Reads timeline_data() back as its header describes it: by op id. A second implementation of the
// page's own reading, for C++ tests.
std::map<std::string, UnpackedOp> unpack_timeline(const nlohmann::ordered_json& timeline);

}  // namespace twinrun::report
