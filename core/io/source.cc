#include "core/io/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/diagnostics.h"
#include "core/io/gzip.h"

namespace twinrun {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why, const std::string& help) {
  Diagnostics diagnostics;
  diagnostics.error("E0101", {path, "", -1, false}, why, help);
  throw InputError(std::move(diagnostics));
}

class FileStream : public ByteStream {
 public:
  FileStream(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;
  ~FileStream() override { std::fclose(file_); }

  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file_);
    if (count == 0 && std::ferror(file_) != 0) {
      refuse(path_, fmt::format("cannot read {}: {}", path_, std::strerror(errno)), "");
    }
    return count;
  }

 private:
  std::FILE* file_;
  std::string path_;
};

class TextStream : public ByteStream {
 public:
  explicit TextStream(std::shared_ptr<const std::string> text) : text_(std::move(text)) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = std::min(buffer.size(), text_->size() - position_);
    std::copy_n(text_->data() + position_, count, buffer.data());
    position_ += count;
    return count;
  }

 private:
  std::shared_ptr<const std::string> text_;
  std::size_t position_ = 0;
};

class WatchedStream : public ByteStream {
 public:
  WatchedStream(std::unique_ptr<ByteStream> inner, Source::OnRead on_read, std::int64_t total)
      : inner_(std::move(inner)), on_read_(std::move(on_read)), total_(total) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = inner_->read(buffer);
    done_ += static_cast<std::int64_t>(count);
    on_read_(done_, total_);
    return count;
  }

 private:
  std::unique_ptr<ByteStream> inner_;
  Source::OnRead on_read_;
  std::int64_t total_;
  std::int64_t done_ = 0;
};

// For streams that cannot be read twice. The limit keeps an endless one from filling the memory.
std::string read_whole(const std::string& name, ByteStream& stream) {
  constexpr std::size_t kMost = std::size_t{256} << 20;
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  for (std::size_t count = stream.read(buffer); count > 0; count = stream.read(buffer)) {
    if (text.size() + count > kMost) {
      refuse(name, fmt::format("{} holds more than {} MiB", name, kMost >> 20),
             "large inputs are read from a plain file");
    }
    text.append(buffer.data(), count);
  }
  return text;
}

using WriteContent = std::function<void(const WriteChunk&)>;

void write_all(std::FILE* file, const std::string& path, const WriteContent& write_content) {
  const auto fail = [&] {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  };
  write_content([&](std::string_view chunk) {
    if (std::fwrite(chunk.data(), 1, chunk.size(), file) != chunk.size()) {
      fail();
    }
  });
  if (std::fflush(file) != 0) {
    fail();
  }
}

void write_all(const std::string& path, const WriteContent& write_content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  }
  const auto drop = [&] {
    if (std::filesystem::is_regular_file(path)) {
      std::remove(path.c_str());
    }
  };
  try {
    write_all(file, path, write_content);
  } catch (...) {
    std::fclose(file);
    drop();
    throw;
  }
  if (std::fclose(file) != 0) {
    const int code = errno;
    drop();
    throw std::system_error(code, std::generic_category(), "cannot write " + path);
  }
}

}  // namespace

Source Source::of_file(std::string path) {
  Source source;
  source.name_ = std::move(path);
  return source;
}

Source Source::of_text(std::string name, std::string text) {
  Source source;
  source.name_ = std::move(name);
  source.text_ = std::make_shared<const std::string>(std::move(text));
  return source;
}

Source Source::of_argument(const std::string& argument) {
  if (argument == "-") {
    const int descriptor = ::dup(STDIN_FILENO);
    std::FILE* file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "rb");
    if (file == nullptr) {
      refuse("<stdin>", "standard input is closed", "give a file, or pipe the text in");
    }
    FileStream stream(file, "<stdin>");
    return of_text("<stdin>", read_whole("<stdin>", stream));
  }
  Source source = of_file(argument);
  std::error_code ignored;
  if (std::filesystem::is_fifo(argument, ignored) ||
      std::filesystem::is_character_file(argument, ignored)) {
    return of_text(argument, read_whole(argument, *source.open_packed()));
  }
  return source;
}

std::string Source::text() const { return read_whole(name_, *open()); }

Source Source::watched(OnRead on_read) const {
  Source copy = *this;
  copy.on_read_ = std::move(on_read);
  return copy;
}

std::unique_ptr<ByteStream> Source::open() const {
  std::array<char, 2> first{};
  const std::size_t count = open_packed()->read(first);
  std::unique_ptr<ByteStream> stream = open_packed();
  if (on_read_) {
    std::error_code ignored;
    const auto on_disk = text_ ? text_->size() : std::filesystem::file_size(name_, ignored);
    const std::int64_t total = ignored ? 0 : static_cast<std::int64_t>(on_disk);
    stream = std::make_unique<WatchedStream>(std::move(stream), on_read_, total);
  }
  const bool is_packed = is_gzip(std::span(first).first(count));
  return is_packed ? unzipped(std::move(stream), name_) : std::move(stream);
}

std::unique_ptr<ByteStream> Source::open_packed() const {
  if (text_) {
    return std::make_unique<TextStream>(text_);
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(name_, ignored)) {
    refuse(name_, fmt::format("{} is a directory, not a file", name_), "name a file inside it");
  }
  std::FILE* file = std::fopen(name_.c_str(), "rb");
  if (file == nullptr) {
    refuse(name_, fmt::format("cannot open {}: {}", name_, std::strerror(errno)),
           "check the path; relative paths start at the current folder");
  }
  return std::make_unique<FileStream>(file, name_);
}

void write_file(const std::string& path, std::string_view content, bool force) {
  write_file_in_pieces(path, force, [&](const WriteChunk& write) { write(content); });
}

void write_file_in_pieces(const std::string& path, bool force, const WriteContent& write_content) {
  if (path == "-") {
    write_all(stdout, "standard output", write_content);
    return;
  }
  const auto status = std::filesystem::status(path);
  if (std::filesystem::is_directory(status)) {
    throw UsageError(fmt::format("{} is a directory", path), "name a file inside it");
  }
  const bool exists = std::filesystem::exists(status);
  if (exists && !std::filesystem::is_regular_file(status)) {
    write_all(path, write_content);  // renaming over /dev/null would replace the device
    return;
  }
  if (exists && !force) {
    throw UsageError(fmt::format("{} exists already", path), "add --force to replace it");
  }
  const std::string temporary = fmt::format("{}.tmp{}", path, ::getpid());
  write_all(temporary, write_content);
  std::error_code failed;
  std::filesystem::rename(temporary, path, failed);
  if (failed) {
    std::remove(temporary.c_str());
    throw std::system_error(failed, "cannot write " + path);
  }
}

}  // namespace twinrun
