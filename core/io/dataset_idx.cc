#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/read_dataset.h"

namespace twinrun {
namespace {

struct IdxArray {
  bool has_bytes = false;
  std::vector<std::int64_t> sizes;
  std::vector<float> values;
};

class IdxReader {
 public:
  IdxReader(const Source& source, Diagnostics& diagnostics)
      : text_(source.text()), file_(source.name()), diagnostics_(diagnostics) {}

  IdxArray read() {
    IdxArray out;
    const bool is_idx =
        text_.size() >= 4 && text_[0] == 0 && text_[1] == 0 && text_[3] > 0 && bytes_of_type() > 0;
    if (!is_idx || text_.size() < header_size()) {
      complain("this is no IDX file", "two zero bytes, the type 8 to 14, the number of dimensions");
      return out;
    }
    std::int64_t count = 1;
    for (std::size_t i = 0; i < dimensions(); ++i) {
      out.sizes.push_back(static_cast<std::int64_t>(big_endian(4 + 4 * i, 4)));
      count = out.sizes.back() > 0 && count < kMostNumbers ? count * out.sizes.back() : 0;
    }
    count = count < kMostNumbers ? count : 0;
    const auto wanted = header_size() + static_cast<std::size_t>(count) * bytes_of_type();
    if (count == 0 || text_.size() != wanted) {
      complain(fmt::format("the header tells of {} bytes, the file has {}", wanted, text_.size()),
               "the whole file: it may have been cut off");
      return {};
    }
    out.has_bytes = type() == kByte;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      out.values.push_back(value(header_size() + i * bytes_of_type()));
    }
    if (!std::all_of(out.values.begin(), out.values.end(),
                     [](float v) { return std::isfinite(v); })) {
      complain("some of its numbers are not finite", "numbers");
    }
    return out;
  }

 private:
  enum Type : std::uint8_t {
    kByte = 0x08,
    kSignedByte = 0x09,
    kShort = 0x0B,
    kInt = 0x0C,
    kFloat = 0x0D,
    kDouble = 0x0E
  };
  static constexpr std::int64_t kMostNumbers = std::int64_t{1} << 31;

  [[nodiscard]] std::uint8_t type() const { return static_cast<std::uint8_t>(text_[2]); }
  [[nodiscard]] std::size_t dimensions() const { return static_cast<std::uint8_t>(text_[3]); }
  [[nodiscard]] std::size_t header_size() const { return 4 + 4 * dimensions(); }

  [[nodiscard]] std::size_t bytes_of_type() const {
    switch (type()) {
      case kByte:
      case kSignedByte:
        return 1;
      case kShort:
        return 2;
      case kInt:
      case kFloat:
        return 4;
      case kDouble:
        return 8;
      default:
        return 0;
    }
  }

  [[nodiscard]] std::uint64_t big_endian(std::size_t at, std::size_t bytes) const {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      out = out << 8 | static_cast<std::uint8_t>(text_[at + i]);
    }
    return out;
  }

  [[nodiscard]] float value(std::size_t at) const {
    const std::uint64_t bits = big_endian(at, bytes_of_type());
    switch (type()) {
      case kSignedByte:
        return static_cast<float>(static_cast<std::int8_t>(bits));
      case kShort:
        return static_cast<float>(static_cast<std::int16_t>(bits));
      case kInt:
        return static_cast<float>(static_cast<std::int32_t>(bits));
      case kFloat:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      case kDouble:
        return static_cast<float>(std::bit_cast<double>(bits));
      default:
        return static_cast<float>(bits);
    }
  }

  void complain(std::string message, std::string help) {
    diagnostics_.error("E0612", {file_, ""}, std::move(message), std::move(help));
  }

  std::string text_;
  std::string file_;
  Diagnostics& diagnostics_;
};

}  // namespace

Dataset read_idx_dataset(const Source& images, const Source& labels, Diagnostics& diagnostics) {
  IdxArray samples = IdxReader(images, diagnostics).read();
  IdxArray answers = IdxReader(labels, diagnostics).read();
  Dataset out;
  if (samples.sizes.empty() || answers.sizes.empty()) {
    return out;
  }
  if (samples.sizes.front() != answers.sizes.front()) {
    diagnostics.error(
        "E0612", {labels.name(), ""},
        fmt::format("{} answers for {} samples", answers.sizes.front(), samples.sizes.front()),
        "the labels that belong to " + images.name());
    return out;
  }
  out.rows = samples.sizes.front();
  out.width = static_cast<std::int64_t>(samples.values.size()) / out.rows;
  out.answer_width = static_cast<std::int64_t>(answers.values.size()) / out.rows;
  out.inputs = std::move(samples.values);
  out.answers = std::move(answers.values);
  if (samples.has_bytes) {
    constexpr float kMostOfByte = 255;
    for (float& value : out.inputs) {
      value /= kMostOfByte;
    }
  }
  return out;
}

}  // namespace twinrun
