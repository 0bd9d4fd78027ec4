#include "report/byte_text.h"

#include <cstddef>

namespace twinrun::report {

void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(value | 0x80);
  }
  bytes += static_cast<char>(value);
}

void append_signed(std::string& bytes, std::int64_t value) {
  const auto doubled = static_cast<std::uint64_t>(value) << 1;
  append_varint(bytes, value < 0 ? ~doubled : doubled);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t offset) {
      return i + offset < bytes.size() ? static_cast<unsigned char>(bytes[i + offset]) : 0U;
    };
    const std::uint32_t three = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t digit = 0; digit < 4; ++digit) {
      const bool is_padding = digit > bytes.size() - i;
      text += is_padding ? '=' : kDigits[three >> (18 - 6 * digit) & 63];
    }
  }
  return text;
}

}  // namespace twinrun::report
