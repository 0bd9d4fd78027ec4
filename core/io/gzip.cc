#include "core/io/gzip.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "core/base/check.h"
#include "core/base/diagnostics.h"

namespace twinrun {
namespace {

class GzipStream : public ByteStream {
 public:
  GzipStream(std::unique_ptr<ByteStream> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)), buffer_(std::size_t{1} << 16) {
    constexpr int kGzipOnly = 15 + 16;  // zlib: the largest window, and a gzip header
    TWINRUN_CHECK(::inflateInit2(&state_, kGzipOnly) == Z_OK);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { ::inflateEnd(&state_); }

  std::size_t read(std::span<char> buffer) override {
    state_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    state_.avail_out = static_cast<uInt>(buffer.size());
    while (state_.avail_out == buffer.size() && next_member()) {
      const int result = ::inflate(&state_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        is_inside_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        refuse(state_.msg != nullptr ? state_.msg : "the data is damaged");
      }
    }
    return buffer.size() - state_.avail_out;
  }

 private:
  // Sees to it that there is something to unpack; false at the end of the last member.
  bool next_member() {
    if (state_.avail_in == 0) {
      const std::size_t count = packed_->read(buffer_);
      state_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      state_.avail_in = static_cast<uInt>(count);
      if (count == 0 && is_inside_) {
        refuse("it ends in the middle");
      }
    }
    if (state_.avail_in > 0 && !is_inside_) {
      ::inflateReset(&state_);
      is_inside_ = true;
    }
    return state_.avail_in > 0;
  }

  [[noreturn]] void refuse(std::string_view why) const {
    Diagnostics diagnostics;
    diagnostics.error("E0103", {name_, "", -1, false},
                      fmt::format("{} cannot be unpacked: {}", name_, why),
                      "write or copy the file again");
    throw InputError(std::move(diagnostics));
  }

  std::unique_ptr<ByteStream> packed_;
  std::string name_;
  std::vector<char> buffer_;
  z_stream state_{};
  bool is_inside_ = false;  // a member whose end has not come yet
};

}  // namespace

bool is_gzip(std::span<const char> first_bytes) {
  return first_bytes.size() >= 2 && first_bytes[0] == '\x1f' && first_bytes[1] == '\x8b';
}

std::unique_ptr<ByteStream> unzipped(std::unique_ptr<ByteStream> stream, std::string name) {
  return std::make_unique<GzipStream>(std::move(stream), std::move(name));
}

}  // namespace twinrun
