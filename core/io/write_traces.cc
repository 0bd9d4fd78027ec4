#include "core/io/write_traces.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "core/io/source.h"
#include "core/trace/kineto.h"
#include "core/trace/perfetto.h"

namespace twinrun {
namespace {

constexpr std::string_view kMergedName = "trace.pftrace";

// rank12.json
bool is_rank_file(const std::string& name) {
  constexpr std::string_view kFront = "rank";
  constexpr std::string_view kBack = ".json";
  if (name.size() <= kFront.size() + kBack.size() || !name.starts_with(kFront) ||
      !name.ends_with(kBack)) {
    return false;
  }
  return std::all_of(name.begin() + kFront.size(), name.end() - kBack.size(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// The files of a trace that is there already; refuses to go on when there are some.
std::vector<std::filesystem::path> old_trace(const std::filesystem::path& folder, bool force) {
  std::filesystem::create_directories(folder);
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_rank_file(name) || name == kMergedName) {
      old.push_back(entry.path());
    }
  }
  if (!old.empty() && !force) {
    throw UsageError(fmt::format("{} holds a trace already", folder.string()),
                     "name another folder, or add --force to replace it");
  }
  return old;
}

void add_to(TraceWriteCounts& sum, const TraceWriteCounts& one) {
  sum.written += one.written;
  sum.beyond_cap += one.beyond_cap;
  sum.not_chosen += one.not_chosen;
  sum.not_run += one.not_run;
  sum.bytes += one.bytes;
}

// Every rank that was chosen once, in order; all when none was.
std::vector<DeviceId> ranks_to_write(const Plan& plan, const TraceWriteOptions& options) {
  std::vector<DeviceId> ranks;
  for (std::size_t i = 0; i < plan.device_count(); ++i) {
    const auto rank = id_at<DeviceId>(i);
    if (options.ranks.empty() ||
        std::find(options.ranks.begin(), options.ranks.end(), rank) != options.ranks.end()) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::string reasons(const TraceWriteCounts& counts) {
  std::string text;
  const auto add = [&](std::int64_t count, std::string_view why) {
    if (count > 0) {
      text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", count, count == 1 ? "op" : "ops",
                          why);
    }
  };
  add(counts.beyond_cap, "beyond the cap of a file");
  add(counts.not_chosen, "of other ranks or steps");
  add(counts.not_run, "that never ran");
  return text;
}

}  // namespace

TraceFilesSummary write_traces(const Plan& plan,
                               const Trace& trace,
                               const std::string& folder,
                               const TraceFilesOptions& options) {
  const std::filesystem::path into(folder);
  const auto old = old_trace(into, options.force);
  TraceFilesSummary summary;
  const auto write = [&](const std::string& name, const auto& write_content) {
    summary.files.push_back((into / name).string());
    write_file_in_pieces(summary.files.back(), options.force, write_content);
  };
  for (const DeviceId rank : ranks_to_write(plan, options.content)) {
    write(fmt::format("rank{}.json", index_of(rank)), [&](const WriteChunk& chunk) {
      add_to(summary.ranks, write_kineto(plan, trace, rank, options.content, chunk));
    });
  }
  const auto ops_of_ranks = summary.ranks.written + summary.ranks.beyond_cap +
                            summary.ranks.not_chosen + summary.ranks.not_run;
  summary.ranks.not_chosen += static_cast<std::int64_t>(plan.size()) - ops_of_ranks;
  write(std::string(kMergedName), [&](const WriteChunk& chunk) {
    summary.merged = write_perfetto(plan, trace, options.content, chunk);
  });
  for (const auto& path : old) {  // only now that the new trace is whole
    const auto& files = summary.files;
    if (std::find(files.begin(), files.end(), path.string()) == files.end()) {
      std::filesystem::remove(path);
    }
  }
  return summary;
}

std::string left_out_text(const TraceFilesSummary& summary) {
  const std::string ranks = reasons(summary.ranks);
  const std::string merged = reasons(summary.merged);
  if (ranks == merged) {
    return ranks.empty() ? "" : fmt::format("left out: {}", ranks);
  }
  const auto or_nothing = [](const std::string& text) { return text.empty() ? "nothing" : text; };
  return fmt::format("left out of the rank files: {}; of the merged file: {}", or_nothing(ranks),
                     or_nothing(merged));
}

}  // namespace twinrun
