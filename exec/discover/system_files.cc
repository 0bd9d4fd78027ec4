#include "exec/discover/system_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace twinrun::exec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kMostNumbers = 1 << 16;  // of a list

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  text.remove_prefix(is_hex ? 2 : 0);
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool SystemFiles::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(root_ + path, error);
}

std::optional<std::string> SystemFiles::text(const std::string& path) const {
  std::error_code error;
  if (!fs::is_regular_file(root_ + path, error)) {
    return std::nullopt;
  }
  std::ifstream file(root_ + path, std::ios::binary);
  std::string out;
  std::array<char, 4096> piece{};
  do {
    file.read(piece.data(), piece.size());
    out.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  } while (file && out.size() < kMostBytes);
  const bool is_whole = file.eof() || out.size() >= kMostBytes;
  return is_whole ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string> SystemFiles::line(const std::string& path) const {
  const std::optional<std::string> all = text(path);
  if (!all) {
    return std::nullopt;
  }
  return std::string(trimmed(std::string_view(*all).substr(0, all->find('\n'))));
}

std::optional<std::int64_t> SystemFiles::number(const std::string& path) const {
  const std::optional<std::string> first = line(path);
  return first ? whole_number_in(*first) : std::nullopt;
}

std::vector<std::string> SystemFiles::names(const std::string& folder) const {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(root_ + folder, error), end; !error && entry != end;
       entry.increment(error)) {
    out.push_back(entry->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> SystemFiles::way_to(const std::string& path) const {
  std::error_code error;
  const fs::path root = fs::canonical(root_.empty() ? "/" : root_, error);
  const fs::path place = error ? fs::path() : fs::canonical(root_ + path, error);
  if (error) {
    return {};
  }
  const fs::path below = place.lexically_relative(root);
  std::vector<std::string> out;
  for (const fs::path& part : below) {
    if (part == "..") {
      return {};
    }
    out.push_back(part.string());
  }
  return out;
}

std::string value_of(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(std::string_view(line).substr(0, colon)) == key) {
      return std::string(trimmed(std::string_view(line).substr(colon + 1)));
    }
  }
  return "";
}

std::vector<int> numbers_of_list(std::string_view text) {
  std::vector<int> out;
  const auto take = [&text](int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc() && value >= 0 && value < kMostNumbers;
  };
  for (int first = 0; take(first);) {
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take(last)) {
        break;
      }
    }
    for (int value = first; value <= last; ++value) {
      out.push_back(value);
    }
    if (!text.starts_with(',')) {
      break;
    }
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace twinrun::exec
