#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/write_options.h"

namespace twinrun {

// Hands pieces of about 64 KB to a sink and knows how many bytes went out.
class CappedOutput {
 public:
  CappedOutput(const TraceSink& sink, std::int64_t most_bytes)
      : sink_(sink), most_bytes_(most_bytes) {}

  // Whether so much more stays under the cap.
  [[nodiscard]] bool fits(std::size_t more) const {
    return bytes_ + static_cast<std::int64_t>(more) <= most_bytes_;
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  void append(std::string_view text) {
    buffer_ += text;
    bytes_ += static_cast<std::int64_t>(text.size());
    if (buffer_.size() >= kPiece) {
      flush();
    }
  }
  void flush() {
    if (!buffer_.empty()) {
      sink_(buffer_);
      buffer_.clear();
    }
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  const TraceSink& sink_;
  std::int64_t most_bytes_;
  std::int64_t bytes_ = 0;
  std::string buffer_;
};

}  // namespace twinrun
