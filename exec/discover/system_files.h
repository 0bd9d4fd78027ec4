#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twinrun::exec {

// The files in which Linux describes a machine, /sys and /proc: this machine's, or copies of them
// below a folder. What is not there, or cannot be read, is nothing; nothing is ever complained of.
class SystemFiles {
 public:
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  [[nodiscard]] bool are_of_this_machine() const { return root_.empty(); }
  [[nodiscard]] bool exists(const std::string& path) const;

  // The whole file, at most a megabyte; or its first line, without blanks around it.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::optional<std::string> line(const std::string& path) const;
  // A whole number, decimal or 0x…; nothing when the line is something else.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& path) const;
  // Names in a folder, ascending.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
  // Folders from the root to where a path leads once its links are followed, which stay below the
  // root; empty when it leads nowhere.
  [[nodiscard]] std::vector<std::string> way_to(const std::string& path) const;

 private:
  std::string root_;
};

std::string_view trimmed(std::string_view text);
// The value of the first "key : value" of /proc/cpuinfo, /proc/meminfo and the like; or "".
std::string value_of(const std::string& text, std::string_view key);
// "0-3,8,10-11"; what cannot be read ends the list.
std::vector<int> numbers_of_list(std::string_view text);

}  // namespace twinrun::exec
