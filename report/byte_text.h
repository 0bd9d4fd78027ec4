#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace twinrun::report {

// Numbers as bytes, seven bits each, lowest first; the page reads them back.
void append_varint(std::string& bytes, std::uint64_t value);
// Small numbers of either sign become small numbers: 0, -1, 1, -2 → 0, 1, 2, 3.
void append_signed(std::string& bytes, std::int64_t value);

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace twinrun::report
