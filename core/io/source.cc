#include "core/io/source.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/diagnostics.h"

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

void write_all(const std::string& path, std::string_view content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  }
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    const int code = errno;
    std::remove(path.c_str());
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
  if (argument != "-") {
    return of_file(argument);
  }
  return of_text("<stdin>", std::string(std::istreambuf_iterator<char>(std::cin), {}));
}

std::unique_ptr<ByteStream> Source::open() const {
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
  if (path == "-") {
    std::fwrite(content.data(), 1, content.size(), stdout);
    return;
  }
  if (!force && std::filesystem::exists(path)) {
    throw UsageError(fmt::format("{} exists already", path), "add --force to replace it");
  }
  const std::string temporary = fmt::format("{}.tmp{}", path, ::getpid());
  write_all(temporary, content);
  std::filesystem::rename(temporary, path);
}

}  // namespace twinrun
