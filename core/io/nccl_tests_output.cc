#include "core/io/nccl_tests_output.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/io/json_document.h"
#include "core/io/text_words.h"

namespace twinrun {
namespace {

// The programs by name, the longer before those they contain.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPrograms = {{
    {"all_reduce_perf", "all_reduce"},
    {"reduce_scatter_perf", "reduce_scatter"},
    {"all_gather_perf", "all_gather"},
    {"alltoall_perf", "all_to_all"},
    {"broadcast_perf", "broadcast"},
    {"sendrecv_perf", "send_recv"},
    {"reduce_perf", "reduce"},
}};

std::string collective_in(std::string_view text) {
  for (const auto& [program, collective] : kPrograms) {
    if (text.find(program) != std::string_view::npos) {
      return std::string(collective);
    }
  }
  return "";
}

//   size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong
// of which older versions lack the redop and root of collectives that have none.
constexpr std::size_t kFewestWords = 11;
constexpr std::size_t kTimeFromEnd = 8;
constexpr std::size_t kWrongFromEnd = 5;

std::optional<NcclTestsOutput::Row> row_in(const std::vector<std::string>& words) {
  if (words.size() < kFewestWords) {
    return std::nullopt;
  }
  const auto bytes = number_in<std::int64_t>(words.front());
  const auto us = number_in<double>(words[words.size() - kTimeFromEnd]);
  const auto wrong = number_in<double>(words[words.size() - kWrongFromEnd]);
  if (!bytes || !us || *bytes <= 0 || *us <= 0 || wrong.value_or(0) > 0) {
    return std::nullopt;
  }
  return NcclTestsOutput::Row{{*bytes}, *us * 1e-6, {}};
}

void read_nccl_table(const std::string& text, const std::string& file, NcclTestsOutput& out) {
  std::istringstream in(text);
  std::int64_t offset = 0;
  for (std::string line; std::getline(in, line);
       offset += static_cast<std::int64_t>(line.size()) + 1) {
    const std::vector<std::string> words = words_of_line(line);
    if (words.size() > 2 && words[0] == "#" && words[1] == "Rank") {
      ++out.ranks;
    } else if (auto row = row_in(words)) {
      row->place = {file, "", offset, false};
      out.rows.push_back(*std::move(row));
    }
  }
}

void read_nccl_results(const Source& source, NcclTestsOutput& out, Diagnostics& diagnostics) {
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  out.ranks = document.root().find("config").find("devices").size();
  for (JsonValue row = document.root().find("results").first(); row; row = row.next()) {
    const JsonValue bytes = row.find("size");
    const JsonValue found = row.find("out_of_place");
    const JsonValue us = found.find("time");
    const JsonValue wrong = found.find("nwrong");
    const bool is_right = !wrong.is_number() || wrong.number() <= 0;
    if (bytes.is_integer() && us.is_number() && bytes.integer() > 0 && us.number() > 0 &&
        is_right) {
      out.rows.push_back({{bytes.integer()}, us.number() * 1e-6, row.place()});
    }
  }
}

}  // namespace

NcclTestsOutput read_nccl_tests(const Source& source, Diagnostics& diagnostics) {
  NcclTestsOutput out;
  const std::string text = source.text();
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') {
    read_nccl_results(source, out, diagnostics);
  } else {
    read_nccl_table(text, source.name(), out);
  }
  out.collective = collective_in(text);
  if (out.collective.empty()) {
    out.collective = collective_in(source.name());
  }
  if (out.rows.empty() && !diagnostics.has_errors()) {
    diagnostics.error("E0813", {source.name(), "", -1, false}, "no row of nccl-tests in it",
                      "give what all_reduce_perf and the like print, or write with -J");
  }
  return out;
}

}  // namespace twinrun
