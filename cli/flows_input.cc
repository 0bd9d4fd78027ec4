#include "cli/flows_input.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/topology/name_lookup.h"

namespace twinrun::cli {
namespace {

struct CsvField {
  std::string_view text;
  std::int64_t offset = 0;  // in the file
};

enum CsvColumn : std::size_t { kStart, kSource, kDestination, kBytes, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"start", "src", "dst", "bytes"};
constexpr std::size_t kAbsent = ~std::size_t{0};

std::string read_all(const Source& source) {
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  const auto stream = source.open();
  for (std::size_t n = stream->read(buffer); n > 0; n = stream->read(buffer)) {
    text.append(buffer.data(), n);
  }
  return text;
}

CsvField trimmed(CsvField field) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = field.text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {{}, field.offset};
  }
  field.offset += static_cast<std::int64_t>(first);
  field.text = field.text.substr(first, field.text.find_last_not_of(kBlank) - first + 1);
  if (field.text.size() >= 2 && field.text.front() == '"' && field.text.back() == '"') {
    field.text = field.text.substr(1, field.text.size() - 2);
    ++field.offset;
  }
  return field;
}

// A plain number is in the unit that the forms of the quantity name last.
std::string with_unit(std::string_view text, std::string_view unit) {
  const bool is_plain =
      !text.empty() && (text.back() == '.' || (text.back() >= '0' && text.back() <= '9'));
  return std::string(text).append(is_plain ? unit : std::string_view());
}

class FlowReader {
 public:
  FlowReader(std::string file, const Topology& topology, Diagnostics& diagnostics)
      : file_(std::move(file)),
        topology_(topology),
        diagnostics_(diagnostics),
        hosts_(topology.compute_devices()) {}

  FlowList read(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const CsvField line =
          trimmed({text.substr(begin, end - begin), static_cast<std::int64_t>(begin)});
      begin = end + 1;
      if (line.text.empty() || line.text.front() == '#') {
        continue;
      }
      split({text.substr(static_cast<std::size_t>(line.offset),
                         end - static_cast<std::size_t>(line.offset)),
             line.offset});
      if (has_header_) {
        read_line();
      } else if (!read_header()) {
        return {};
      }
    }
    if (!has_header_) {
      complain("E0602", {text, 0}, "there is no header line", header_help());
    }
    return std::move(list_);
  }

 private:
  static std::string header_help() {
    return "the first line names the columns: start,src,dst,bytes (start may be left out)";
  }

  void complain(const char* code, const CsvField& field, std::string message, std::string help) {
    diagnostics_.error(code, {file_, "", field.offset, false}, std::move(message), std::move(help));
  }

  void split(CsvField line) {
    fields_.clear();
    while (true) {
      const std::size_t comma = line.text.find(',');
      fields_.push_back(trimmed({line.text.substr(0, comma), line.offset}));
      if (comma == std::string_view::npos) {
        return;
      }
      line.text.remove_prefix(comma + 1);
      line.offset += static_cast<std::int64_t>(comma) + 1;
    }
  }

  bool read_header() {
    has_header_ = true;
    at_.fill(kAbsent);
    const std::vector<std::string> known(kNames.begin(), kNames.end());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      std::size_t column = 0;
      while (column < kColumns && kNames[column] != fields_[i].text) {
        ++column;
      }
      if (column == kColumns) {
        complain("E0601", fields_[i], fmt::format("unknown column \"{}\"", fields_[i].text),
                 did_you_mean(fields_[i].text, known));
      } else if (at_[column] != kAbsent) {
        complain("E0601", fields_[i],
                 fmt::format("the column \"{}\" is there twice", kNames[column]),
                 "leave one of them");
      } else {
        at_[column] = i;
      }
    }
    for (const CsvColumn column : {kSource, kDestination, kBytes}) {
      if (at_[column] == kAbsent) {
        complain("E0602", fields_.front(), fmt::format("there is no column \"{}\"", kNames[column]),
                 header_help());
      }
    }
    columns_ = fields_.size();
    return !diagnostics_.has_errors();
  }

  void read_line() {
    if (fields_.size() != columns_) {
      complain("E0603", fields_.front(),
               fmt::format("{} fields where the header has {}", fields_.size(), columns_),
               "every line has a field for each column");
      return;
    }
    sim::FlowRequest request;
    request.from = vertex(fields_[at_[kSource]]);
    request.to = vertex(fields_[at_[kDestination]]);
    const CsvField& bytes = fields_[at_[kBytes]];
    if (const auto parsed = parse_bytes(with_unit(bytes.text, "B"))) {
      request.bytes = *parsed;
    } else {
      complain("E0604", bytes, fmt::format("\"{}\" is not a number of bytes", bytes.text),
               fmt::format("write {}", kBytesForms));
    }
    if (at_[kStart] != kAbsent && !fields_[at_[kStart]].text.empty()) {
      const CsvField& start = fields_[at_[kStart]];
      if (const auto parsed = parse_time(with_unit(start.text, "us"))) {
        request.start = *parsed;
        list_.has_starts = list_.has_starts || parsed->ps > 0;
      } else {
        complain("E0604", start, fmt::format("\"{}\" is not a time", start.text),
                 fmt::format("write {}", kTimeForms));
      }
    }
    list_.requests.push_back(request);
  }

  VertexId vertex(const CsvField& field) {
    if (const auto found = topology_.find(field.text)) {
      return *found;
    }
    std::size_t number = 0;
    const char* const end = field.text.data() + field.text.size();
    const auto [stop, error] = std::from_chars(field.text.data(), end, number);
    const bool is_number = stop == end && !field.text.empty() && error == std::errc();
    if (is_number && number < hosts_.size()) {
      return hosts_[number];
    }
    if (is_number) {
      complain("E0605", field, fmt::format("{} has no host {}", topology_.name(), number),
               fmt::format("hosts are numbered 0 to {}", hosts_.size() - 1));
    } else {
      complain("E0605", field, fmt::format("{} has no \"{}\"", topology_.name(), field.text),
               did_you_mean(field.text, some_names(topology_)));
    }
    return {};
  }

  std::string file_;
  const Topology& topology_;
  Diagnostics& diagnostics_;
  std::vector<VertexId> hosts_;
  std::vector<CsvField> fields_;  // of the line being read
  std::array<std::size_t, kColumns> at_{};
  std::size_t columns_ = 0;
  bool has_header_ = false;
  FlowList list_;
};

}  // namespace

FlowList read_flows(Context& context, const std::string& argument, const Topology& topology) {
  const Source source = context.source(argument);
  const std::string text = read_all(source);
  Diagnostics diagnostics;
  FlowList list = FlowReader(source.name(), topology, diagnostics).read(text);
  diagnostics.throw_if_errors();
  return list;
}

}  // namespace twinrun::cli
