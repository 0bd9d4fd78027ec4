#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/io/source.h"

namespace twinrun {

// Text that arrives a few bytes at a time, so that every token meets the end of a buffer.
class Pieces : public ByteStream {
 public:
  Pieces(std::string text, std::size_t size) : text_(std::move(text)), size_(size) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = std::min({buffer.size(), size_, text_.size() - position_});
    std::copy_n(text_.data() + position_, count, buffer.data());
    position_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t size_;
  std::size_t position_ = 0;
};

}  // namespace twinrun
