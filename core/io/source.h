#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace twinrun {

// Bytes that arrive in pieces.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills the front of the buffer and says how much; 0 at the end.
  virtual std::size_t read(std::span<char> buffer) = 0;
};

// A named input that can be read more than once (a complaint reads it again to show the line). A
// file is streamed from disk and never held whole; text given in memory, standard input among it,
// is. What is packed by gzip is read unpacked.
class Source {
 public:
  static Source of_file(std::string path);
  static Source of_text(std::string name, std::string text);
  // "-" is standard input, anything else a file. What can be read only once (standard input, a
  // pipe, a device) is read here and held, up to 256 MiB.
  static Source of_argument(const std::string& argument);

  // A copy that tells how far reading is, in bytes of a total that is 0 when unknown.
  using OnRead = std::function<void(std::int64_t done, std::int64_t total)>;
  [[nodiscard]] Source watched(OnRead on_read) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  // Throws InputError (E0101) when the file is missing, a directory, or unreadable.
  [[nodiscard]] std::unique_ptr<ByteStream> open() const;
  // All of it, for small files; up to 256 MiB.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::unique_ptr<ByteStream> open_packed() const;

  std::string name_;
  OnRead on_read_;
  std::shared_ptr<const std::string> text_;  // shared: a Source is copied freely, its text is not
};

// Takes the next piece of a file.
using WriteChunk = std::function<void(std::string_view)>;

// Writes to a temporary name beside the target and renames: a reader sees the old file or the new
// one, never half of one. "-" writes to standard output, and what is not a plain file (/dev/null, a
// pipe) is written to as it is. Refuses to replace a file unless force is set.
void write_file(const std::string& path, std::string_view content, bool force);
// The same for what is made piece by piece.
void write_file_in_pieces(const std::string& path,
                          bool force,
                          const std::function<void(const WriteChunk&)>& write_content);

}  // namespace twinrun
