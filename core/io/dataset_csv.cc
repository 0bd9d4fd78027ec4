#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/read_dataset.h"

namespace twinrun {
namespace {

struct NumberField {
  std::string_view text;
  std::int64_t offset = 0;  // in the file
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\"";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<float> number_of(std::string_view text) {
  const std::string_view bare = without_blanks(text);
  float value = 0;
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), value);
  const bool is_number =
      error == std::errc() && end == bare.data() + bare.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

std::vector<NumberField> fields_of(std::string_view line, std::int64_t offset) {
  std::vector<NumberField> out;
  while (true) {
    const std::size_t comma = line.find(',');
    out.push_back({line.substr(0, comma), offset});
    if (comma == std::string_view::npos) {
      return out;
    }
    line.remove_prefix(comma + 1);
    offset += static_cast<std::int64_t>(comma) + 1;
  }
}

class CsvReader {
 public:
  CsvReader(const Source& source, std::int64_t answer_width, Diagnostics& diagnostics)
      : file_(source.name()), diagnostics_(diagnostics) {
    out_.answer_width = answer_width;
    const std::string text = source.text();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      read_line(std::string_view(text).substr(begin, end - begin),
                static_cast<std::int64_t>(begin));
      begin = end + 1;
    }
    if (out_.rows == 0) {
      diagnostics.error("E0611", {file_, ""}, "there is no sample in the file",
                        "lines of numbers with commas between, the class last");
    }
  }

  Dataset take() { return std::move(out_); }

 private:
  void read_line(std::string_view line, std::int64_t offset) {
    const std::string_view bare = without_blanks(line);
    if (bare.empty() || bare.front() == '#') {
      return;
    }
    const std::vector<NumberField> fields = fields_of(line, offset);
    if (!is_begun_) {
      is_begun_ = true;
      if (std::none_of(fields.begin(), fields.end(),
                       [](const NumberField& field) { return number_of(field.text); })) {
        return;  // names of columns
      }
    }
    const auto count = static_cast<std::int64_t>(fields.size());
    out_.width = out_.rows == 0 ? count - out_.answer_width : out_.width;
    if (out_.width < 1 || count != out_.width + out_.answer_width) {
      diagnostics_.error(
          "E0610", {file_, "", offset},
          fmt::format("a line of {} numbers, where {} are a sample and {} its answer", count,
                      std::max<std::int64_t>(out_.width, 1), out_.answer_width),
          "as many on every line");
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const NumberField& field = fields[static_cast<std::size_t>(i)];
      const std::optional<float> value = number_of(field.text);
      if (!value) {
        diagnostics_.error("E0610", {file_, "", field.offset},
                           fmt::format("\"{}\" is no number", without_blanks(field.text)),
                           "a number such as 0.25");
      }
      (i < out_.width ? out_.inputs : out_.answers).push_back(value.value_or(0));
    }
    ++out_.rows;
  }

  std::string file_;
  Diagnostics& diagnostics_;
  Dataset out_;
  bool is_begun_ = false;
};

}  // namespace

Dataset read_csv_dataset(const Source& source,
                         std::int64_t answer_width,
                         Diagnostics& diagnostics) {
  return CsvReader(source, answer_width, diagnostics).take();
}

}  // namespace twinrun
