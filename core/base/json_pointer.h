#pragma once

#include <string>
#include <string_view>

namespace twinrun {

// A key as it stands in a JSON pointer. RFC 6901: "~" and "/" inside a key are written ~0 and ~1.
std::string escaped_for_pointer(std::string_view key);

}  // namespace twinrun
