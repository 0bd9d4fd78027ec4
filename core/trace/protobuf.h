#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace twinrun {

// A message in protocol buffers' wire format, field by field: a key (number · 8 + wire type), then
// a varint (type 0), eight bytes (1) or a length and bytes (2).
class ProtoMessage {
 public:
  void clear() { bytes_.clear(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    for (int shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(value >> shift & 0xFF);
    }
  }
  void real(std::uint32_t field, double value) {
    fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  void text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const ProtoMessage& value) { text(field, value.bytes()); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace twinrun
