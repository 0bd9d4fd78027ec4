#include "core/io/render_diagnostics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/io/json_document.h"
#include "core/io/json_tokens.h"

namespace twinrun {
namespace {

constexpr std::size_t kLongestShownLine = 160;

// Walks the tokens of a file once and answers both questions about places: which pointer stands at
// an offset, and which offset a pointer has. Only runs when there is something to complain about.
class PlaceFinder {
 public:
  explicit PlaceFinder(const Source& source) : tokens_(source) {}

  void run(std::vector<LocatedDiagnostic*>& wanted) {
    try {
      walk(wanted);
    } catch (const JsonSyntaxError&) {
      // The text is broken from here on; what was found before stands.
    }
  }

 private:
  struct Level {
    bool is_object = false;
    std::size_t rank = 0;
    std::string key;
  };

  void walk(std::vector<LocatedDiagnostic*>& wanted) {
    std::int64_t key_offset = -1;
    for (JsonToken token = tokens_.next(); token != JsonToken::kEnd; token = tokens_.next()) {
      if (token == JsonToken::kKey) {
        levels_.back().key = tokens_.text();
        key_offset = tokens_.offset();
        continue;
      }
      if (token == JsonToken::kEndObject || token == JsonToken::kEndArray) {
        levels_.pop_back();
        ++rank_above();
        continue;
      }
      settle(wanted, key_offset);
      key_offset = -1;
      if (token == JsonToken::kBeginObject || token == JsonToken::kBeginArray) {
        levels_.push_back({token == JsonToken::kBeginObject, 0, ""});
      } else {
        ++rank_above();
      }
    }
  }

  std::size_t& rank_above() { return levels_.empty() ? nowhere_ : levels_.back().rank; }

  void settle(std::vector<LocatedDiagnostic*>& wanted, std::int64_t key_offset) {
    std::string pointer;
    for (LocatedDiagnostic* one : wanted) {
      Place& place = one->diagnostic.place;
      if (place.offset >= 0) {
        continue;
      }
      if (pointer.empty()) {
        pointer = pointer_here();
      }
      if (place.pointer == pointer) {
        place.offset = place.at_key && key_offset >= 0 ? key_offset : tokens_.offset();
      }
    }
  }

  std::string pointer_here() {
    std::string pointer;
    for (const Level& level : levels_) {
      pointer += '/';
      if (!level.is_object) {
        pointer += std::to_string(level.rank);
        continue;
      }
      for (char c : level.key) {
        pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
      }
    }
    return pointer;
  }

  JsonTokens tokens_;
  std::vector<Level> levels_;
  std::size_t nowhere_ = 0;
};

// Bytes of a UTF-8 character after its first.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// One pass over the bytes turns offsets into line, column and the text of the line.
class LineFinder {
 public:
  LineFinder(ByteStream& stream, std::vector<LocatedDiagnostic*> wanted)
      : wanted_(std::move(wanted)) {
    std::sort(wanted_.begin(), wanted_.end(), [](const auto* a, const auto* b) {
      return a->diagnostic.place.offset < b->diagnostic.place.offset;
    });
    std::vector<char> buffer(std::size_t{1} << 16);
    for (std::size_t count = stream.read(buffer); count > 0 && !done();
         count = stream.read(buffer)) {
      for (std::size_t i = 0; i < count && !done(); ++i) {
        step(buffer[i]);
      }
    }
    finish_line();
  }

 private:
  [[nodiscard]] bool done() const { return next_ == wanted_.size() && waiting_.empty(); }

  void step(char c) {
    while (next_ < wanted_.size() && wanted_[next_]->diagnostic.place.offset <= offset_) {
      note(*wanted_[next_++]);
    }
    ++offset_;
    if (c == '\n') {
      finish_line();
      text_.clear();
      column_ = 0;
      ++line_;
      return;
    }
    column_ += continues_character(c) ? 0U : 1U;
    if (text_.size() < kKeptOfLine) {
      text_ += c;
    }
  }

  void note(LocatedDiagnostic& one) {
    one.line = line_;
    one.column = column_ + 1;
    waiting_.push_back(&one);
  }

  void finish_line() {
    while (next_ < wanted_.size()) {  // at the very end of the file
      if (wanted_[next_]->diagnostic.place.offset > offset_) {
        break;
      }
      note(*wanted_[next_++]);
    }
    for (LocatedDiagnostic* one : waiting_) {
      one->source_line = text_;
    }
    waiting_.clear();
  }

  static constexpr std::size_t kKeptOfLine = 4096;
  std::vector<LocatedDiagnostic*> wanted_;
  std::vector<LocatedDiagnostic*> waiting_;  // on the line being read
  std::size_t next_ = 0;
  std::int64_t offset_ = 0;
  std::size_t line_ = 1;
  std::size_t column_ = 0;
  std::string text_;
};

// How much of the line the complaint is about: a quoted string, a word, or one character.
std::size_t caret_width(std::string_view line, std::size_t column) {
  std::size_t start = 0;  // byte where the column-th character begins
  for (std::size_t seen = 0; start < line.size(); ++start) {
    seen += continues_character(line[start]) ? 0U : 1U;
    if (seen == column) {
      break;
    }
  }
  if (start >= line.size()) {
    return 1;
  }
  const std::string_view rest = line.substr(start);
  if (rest.starts_with('"')) {
    const std::size_t close = rest.find('"', 1);
    return close == std::string_view::npos ? 1 : close + 1;
  }
  const std::size_t end = rest.find_first_of(" ,:]}[{");
  return std::max<std::size_t>(1, std::min(end, rest.size()));
}

// Long lines are shown in a window around the column; control bytes and tabs become single blanks.
std::pair<std::string, std::size_t> window(std::string line, std::size_t column) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) {
      c = ' ';
    }
  }
  if (line.size() <= kLongestShownLine) {
    return {line, column};
  }
  const std::size_t start = column > kLongestShownLine / 2 ? column - kLongestShownLine / 2 : 0;
  if (start >= line.size()) {
    return {"…", 1};
  }
  return {line.substr(start, kLongestShownLine), column - start};
}

void render_one(std::string& out, const LocatedDiagnostic& one, bool color) {
  const Diagnostic& d = one.diagnostic;
  const bool is_error = d.severity == Severity::kError;
  const std::string_view paint = !color ? "" : is_error ? "\x1b[1;31m" : "\x1b[1;33m";
  const std::string_view reset = color ? "\x1b[0m" : "";
  out += fmt::format("{}{}[{}]{}: {}\n", paint, is_error ? "error" : "warning", d.code, reset,
                     d.message);
  if (!d.place.file.empty()) {
    out += fmt::format("  --> {}", d.place.file);
    if (one.line > 0) {
      out += fmt::format(":{}:{}", one.line, one.column);
    }
    out += d.place.pointer.empty() ? "\n" : fmt::format("  ({})\n", d.place.pointer);
  }
  if (one.line > 0) {
    const auto [shown, column] = window(one.source_line, one.column);
    const std::string number = std::to_string(one.line);
    out += fmt::format(" {:>3} | {}\n", number, shown);
    out += fmt::format(" {:>{}} | {:{}}{}{}{}{}{}\n", "", std::max<std::size_t>(3, number.size()),
                       "", column - 1, paint, std::string(one.width, '^'), reset,
                       d.label.empty() ? "" : " ", d.label);
  }
  if (!d.help.empty()) {
    out += fmt::format("  help: {}\n", d.help);
  }
}

void locate_in_file(const Source& source, std::vector<LocatedDiagnostic*> wanted) {
  std::erase_if(wanted,
                [](const LocatedDiagnostic* one) { return one->diagnostic.place.file.empty(); });
  const bool any_by_pointer = std::any_of(wanted.begin(), wanted.end(), [](const auto* one) {
    return one->diagnostic.place.offset < 0;
  });
  if (any_by_pointer) {
    PlaceFinder(source).run(wanted);
  }
  std::erase_if(wanted,
                [](const LocatedDiagnostic* one) { return one->diagnostic.place.offset < 0; });
  const LineFinder fills_in_lines(*source.open(), wanted);  // reads on construction
  for (LocatedDiagnostic* one : wanted) {
    one->width = caret_width(one->source_line, one->column);
  }
}

}  // namespace

std::vector<LocatedDiagnostic> locate(const Diagnostics& diagnostics,
                                      const FindSource& find_source) {
  std::vector<LocatedDiagnostic> located;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    located.push_back({diagnostic, 0, 0, 1, ""});
  }
  std::map<std::string, std::vector<LocatedDiagnostic*>> by_file;
  for (LocatedDiagnostic& one : located) {
    // E0101 says that the file cannot be read, so it is not read again.
    if (one.diagnostic.code != "E0101") {
      by_file[one.diagnostic.place.file].push_back(&one);
    }
  }
  for (auto& [file, wanted] : by_file) {
    if (const std::optional<Source> source = find_source(file)) {
      locate_in_file(*source, wanted);
    }
  }
  return located;
}

std::string render_text(const std::vector<LocatedDiagnostic>& located, bool color) {
  std::string out;
  for (const LocatedDiagnostic& one : located) {
    render_one(out, one, color);
    out += fmt::format("  see: twinrun explain {}\n", one.diagnostic.code);
  }
  return out;
}

std::string render_jsonl(const std::vector<LocatedDiagnostic>& located) {
  std::string out;
  for (const LocatedDiagnostic& one : located) {
    const Diagnostic& d = one.diagnostic;
    nlohmann::ordered_json line;
    line["severity"] = d.severity == Severity::kError ? "error" : "warning";
    line["code"] = d.code;
    line["message"] = d.message;
    line["file"] = d.place.file;
    line["line"] = one.line;
    line["column"] = one.column;
    line["pointer"] = d.place.pointer;
    line["help"] = d.help;
    out += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return out;
}

}  // namespace twinrun
