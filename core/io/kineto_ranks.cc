#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/io/read_kineto.h"

namespace twinrun {
namespace {

// The number behind the last "rank" of a file's name.
std::optional<std::int64_t> rank_in_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const std::size_t at = name.rfind("rank");
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t digits = name.find_first_of("0123456789", at);
  std::int64_t rank = 0;
  if (digits == std::string::npos || digits > at + 5) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  return error == std::errc() ? std::optional(rank) : std::nullopt;
}

// rank2 before rank10.
bool comes_before(const std::string& x, const std::string& y) {
  const auto key = [](const std::string& file) {
    return std::pair(rank_in_name(file).value_or(0), file);
  };
  return key(x) < key(y);
}

}  // namespace

std::vector<std::string> kineto_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (name.ends_with(".json") || name.ends_with(".json.gz"))) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end(), comes_before);
  return files;
}

std::vector<KinetoFile> read_kineto_ranks(const std::vector<Source>& sources,
                                          Diagnostics& diagnostics) {
  std::vector<KinetoFile> files;
  std::map<std::int64_t, std::string> file_of;
  for (const Source& source : sources) {
    std::optional<KinetoFile> file = read_kineto(source, diagnostics);
    if (!file) {
      continue;
    }
    if (!file->rank) {
      file->rank = rank_in_name(file->file).value_or(static_cast<std::int64_t>(files.size()));
    }
    const auto [other, is_new] = file_of.emplace(*file->rank, file->file);
    if (!is_new) {
      diagnostics.error("E0812", {file->file, "", 0, false},
                        fmt::format("this is rank {}, and so is {}", *file->rank, other->second),
                        "give one file of each rank");
      continue;
    }
    files.push_back(*std::move(file));
  }
  std::sort(files.begin(), files.end(),
            [](const KinetoFile& x, const KinetoFile& y) { return *x.rank < *y.rank; });
  return files;
}

}  // namespace twinrun
