#include "core/io/nvbandwidth_output.h"

#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/io/json_document.h"
#include "core/io/text_words.h"

namespace twinrun {
namespace {

// Tests of one copy at a time, and where it goes.
struct CopyTest {
  std::string_view begins;
  bool from_host = false;
  bool to_host = false;
};
constexpr std::array<CopyTest, 4> kCopyTests = {{
    {"host_to_device_memcpy_", true, false},
    {"device_to_host_memcpy_", false, true},
    {"device_to_device_memcpy_read_", false, false},
    {"device_to_device_memcpy_write_", false, false},
}};

const CopyTest* test_named(std::string_view name) {
  for (const CopyTest& test : kCopyTests) {
    if (name.substr(0, test.begins.size()) == test.begins &&
        name.find("bidirectional") == std::string_view::npos) {
      return &test;
    }
  }
  return nullptr;
}

// A matrix of one test, cell by cell.
class CopyMatrix {
 public:
  CopyMatrix(std::string name, std::string_view description, NvbandwidthOutput& out)
      : name_(std::move(name)),
        test_(test_named(name_)),
        is_backward_(description.find("<-") != std::string_view::npos),
        out_(out) {
    if (test_ == nullptr) {
      out_.left_out.push_back(name_);
    }
  }

  // Rows and columns are GPUs, or the host where the test says so.
  void add(std::size_t row, std::size_t column, std::string_view cell) {
    const std::optional<double> rate = number_in<double>(cell);
    if (test_ == nullptr || rate.value_or(0) <= 0) {
      return;
    }
    NvbandwidthOutput::Copy copy{name_, test_->from_host, test_->to_host, 0, 0, {*rate * 1e9}};
    const bool has_host = copy.from_host || copy.to_host;
    copy.from = has_host ? column : is_backward_ ? column : row;
    copy.to = has_host ? column : is_backward_ ? row : column;
    out_.copies.push_back(copy);
  }

 private:
  std::string name_;
  const CopyTest* test_;
  bool is_backward_;
  NvbandwidthOutput& out_;
};

// Running TEST. / a line with the direction / the columns' numbers / rows with their number first.
void read_matrices(const std::string& text, NvbandwidthOutput& out) {
  std::istringstream in(text);
  std::string test;
  std::optional<CopyMatrix> matrix;
  bool has_columns = false;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> words = words_of_line(line);
    if (words.size() == 2 && words[0] == "Running") {
      test = words[1].substr(0, words[1].find('.'));
      matrix.reset();
    } else if (line.find("(row)") != std::string::npos) {
      matrix.emplace(test, line, out);
      has_columns = false;
    } else if (words.empty() || words[0] == "SUM") {
      matrix.reset();
    } else if (matrix && !has_columns) {
      has_columns = true;
    } else if (const auto row = matrix ? number_in<std::size_t>(words[0]) : std::nullopt) {
      for (std::size_t i = 1; i < words.size(); ++i) {
        matrix->add(*row, i - 1, words[i]);
      }
    }
  }
}

void read_testcases(const Source& source, NvbandwidthOutput& out, Diagnostics& diagnostics) {
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  const JsonValue tests = document.root().find("nvbandwidth").find("testcases");
  for (JsonValue test = tests.first(); test; test = test.next()) {
    CopyMatrix matrix(std::string(test.find("name").text()),
                      test.find("bandwidth_description").text(), out);
    std::size_t row = 0;
    for (JsonValue cells = test.find("bandwidth_matrix").first(); cells; cells = cells.next()) {
      std::size_t column = 0;
      for (JsonValue cell = cells.first(); cell; cell = cell.next()) {
        const std::string text =
            cell.is_number() ? std::to_string(cell.number()) : std::string(cell.text());
        matrix.add(row, column++, text);
      }
      ++row;
    }
  }
}

}  // namespace

NvbandwidthOutput read_nvbandwidth(const Source& source, Diagnostics& diagnostics) {
  NvbandwidthOutput out;
  const std::string text = source.text();
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') {
    read_testcases(source, out, diagnostics);
  } else {
    read_matrices(text, out);
  }
  if (out.copies.empty() && !diagnostics.has_errors()) {
    diagnostics.error("E0814", {source.name(), "", -1, false},
                      "no matrix of single copies of nvbandwidth in it",
                      "give what nvbandwidth prints, as text or with --json");
  }
  return out;
}

}  // namespace twinrun
