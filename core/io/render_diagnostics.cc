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

bool is_syntax_error(const Diagnostic& diagnostic) {
  return diagnostic.code == "E0102" && diagnostic.place.pointer.empty();
}

bool lacks_place(const Diagnostic& diagnostic) {
  return diagnostic.place.offset < 0 || is_syntax_error(diagnostic);
}

// Walks the tokens of a file once and answers both questions about places: which offset a pointer
// has, and which pointer stands at the offset of a syntax error. Only runs when there is something
// to complain about, and no further than the last such place.
class PlaceFinder {
 public:
  PlaceFinder(const Source& source, std::vector<LocatedDiagnostic*> wanted)
      : tokens_(source), wanted_(std::move(wanted)) {
    std::erase_if(wanted_,
                  [](const LocatedDiagnostic* one) { return !lacks_place(one->diagnostic); });
    try {
      walk();
    } catch (const JsonSyntaxError&) {
      // The text is broken from here on; the value being read is where it broke.
      for (LocatedDiagnostic* one : wanted_) {
        if (is_syntax_error(one->diagnostic)) {
          one->diagnostic.place.pointer = pointer_here();
        }
      }
    }
  }

 private:
  struct Level {
    bool is_object = false;
    std::size_t rank = 0;
    std::string key;
  };

  void walk() {
    std::int64_t key_offset = -1;
    for (JsonToken token = tokens_.next(); token != JsonToken::kEnd && !wanted_.empty();
         token = tokens_.next()) {
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
      settle(key_offset);
      key_offset = -1;
      if (token == JsonToken::kBeginObject || token == JsonToken::kBeginArray) {
        levels_.push_back({token == JsonToken::kBeginObject, 0, ""});
      } else {
        ++rank_above();
      }
    }
  }

  std::size_t& rank_above() { return levels_.empty() ? nowhere_ : levels_.back().rank; }

  void settle(std::int64_t key_offset) {
    const bool only_later = std::all_of(wanted_.begin(), wanted_.end(), [&](const auto* one) {
      return one->diagnostic.place.offset > tokens_.offset();
    });
    if (only_later) {
      return;
    }
    const std::string pointer = pointer_here();
    std::erase_if(wanted_, [&](LocatedDiagnostic* one) {
      Place& place = one->diagnostic.place;
      if (place.offset >= 0) {
        const bool reached = place.offset <= tokens_.offset();
        place.pointer = reached ? pointer : "";
        return reached;
      }
      if (place.pointer != pointer) {
        return false;
      }
      place.offset = place.at_key && key_offset >= 0 ? key_offset : tokens_.offset();
      return true;
    });
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
  std::vector<LocatedDiagnostic*> wanted_;
  std::vector<Level> levels_;
  std::size_t nowhere_ = 0;
};

// Bytes of a UTF-8 character after its first.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// One pass over the bytes turns offsets into line, column and the text around. Between two places
// whole blocks are counted at once: a gigabyte on one line must not take longer than reading it.
class LineFinder {
 public:
  LineFinder(ByteStream& stream, std::vector<LocatedDiagnostic*> wanted)
      : wanted_(std::move(wanted)) {
    std::sort(wanted_.begin(), wanted_.end(), [](const auto* a, const auto* b) {
      return a->diagnostic.place.offset < b->diagnostic.place.offset;
    });
    std::vector<char> buffer(std::size_t{1} << 16);
    while (!done()) {
      const std::size_t count = stream.read(buffer);
      if (count == 0) {
        break;
      }
      take({buffer.data(), count});
    }
    note_those_here();  // at the very end of the file
  }

 private:
  [[nodiscard]] bool done() const { return next_ == wanted_.size() && waiting_.empty(); }

  void take(std::string_view block) {
    while (!block.empty()) {
      note_those_here();
      const std::int64_t until = next_ < wanted_.size()
                                     ? wanted_[next_]->diagnostic.place.offset - offset_
                                     : static_cast<std::int64_t>(block.size());
      const auto count = std::min(static_cast<std::size_t>(until), block.size());
      advance(block.substr(0, count));
      block.remove_prefix(count);
    }
  }

  void note_those_here() {
    for (; next_ < wanted_.size() && wanted_[next_]->diagnostic.place.offset == offset_; ++next_) {
      LocatedDiagnostic& one = *wanted_[next_];
      one.line = line_;
      one.column = column_ + 1;
      one.source_line = before_;
      one.byte = before_.size();
      one.line_begins_before = offset_ - line_begin_ > static_cast<std::int64_t>(before_.size());
      waiting_.push_back(&one);
    }
  }

  void advance(std::string_view bytes) {
    std::erase_if(waiting_, [&](LocatedDiagnostic* one) { return complete(*one, bytes); });
    const std::size_t last_break = bytes.rfind('\n');
    std::string_view rest = bytes;
    if (last_break != std::string_view::npos) {
      line_ += static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
      rest = bytes.substr(last_break + 1);
      line_begin_ = offset_ + static_cast<std::int64_t>(last_break) + 1;
      column_ = 0;
      before_.clear();
    }
    column_ += static_cast<std::size_t>(
        std::count_if(rest.begin(), rest.end(), [](char c) { return !continues_character(c); }));
    before_ += rest.substr(rest.size() - std::min(rest.size(), kKeptBytes));
    before_.erase(0, before_.size() - std::min(before_.size(), kKeptBytes));
    offset_ += static_cast<std::int64_t>(bytes.size());
  }

  // Adds what follows the place on its line; true when there is enough.
  static bool complete(LocatedDiagnostic& one, std::string_view bytes) {
    const std::size_t wanted = kKeptBytes - (one.source_line.size() - one.byte);
    const std::string_view piece = bytes.substr(0, std::min(wanted, bytes.find('\n')));
    one.source_line += piece;
    return piece.size() < bytes.size() || piece.size() == wanted;
  }

  static constexpr std::size_t kKeptBytes = 4 * kLongestShownLine;  // UTF-8 has four bytes at most
  std::vector<LocatedDiagnostic*> wanted_;
  std::vector<LocatedDiagnostic*> waiting_;  // for the rest of their line
  std::size_t next_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t line_begin_ = 0;
  std::size_t line_ = 1;
  std::size_t column_ = 0;
  std::string before_;  // the end of the current line so far
};

// Bytes as a terminal may safely show them, one entry a column: control characters become blanks,
// what is not UTF-8 becomes the replacement character.
std::vector<std::string> shown_characters(std::string_view bytes) {
  std::vector<std::string> shown;
  while (!bytes.empty()) {
    const auto lead = static_cast<unsigned char>(bytes.front());
    std::size_t size = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const bool is_whole =
        lead < 0x80 || (lead >= 0xC2 && lead < 0xF5 && size <= bytes.size() &&
                        std::all_of(bytes.begin() + 1, bytes.begin() + static_cast<long>(size),
                                    continues_character));
    size = is_whole ? size : 1;
    const bool is_control =
        lead < 0x20 || lead == 0x7F ||
        (lead == 0xC2 && is_whole && static_cast<unsigned char>(bytes[1]) < 0xA0);
    shown.push_back(!is_whole ? "\uFFFD" : is_control ? " " : std::string(bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
  return shown;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  std::string out;
  for (const std::string& character : shown_characters(text.substr(0, kLongest))) {
    out += character;
  }
  return text.size() > kLongest ? out + "…" : out;
}

// How many characters the complaint is about: a quoted string, a word, or one character.
std::size_t caret_width(std::string_view from_here) {
  std::size_t end = 1;
  if (from_here.starts_with('"')) {
    while (end < from_here.size() && from_here[end] != '"') {
      end += from_here[end] == '\\' ? 2U : 1U;
    }
    end = end < from_here.size() ? end + 1 : 1;
  } else {
    end = std::min(from_here.find_first_of(" \t\r,:]}[{"), from_here.size());
  }
  return std::max<std::size_t>(1, shown_characters(from_here.substr(0, end)).size());
}

struct Excerpt {
  std::string text;
  std::size_t caret = 0;  // characters before it
  std::size_t width = 1;
};

// Long lines are shown in a window around the column.
Excerpt excerpt_of(const LocatedDiagnostic& one) {
  std::string_view line = one.source_line;
  if (line.ends_with('\r') && one.byte < line.size()) {
    line.remove_suffix(1);
  }
  std::vector<std::string> characters = shown_characters(line);
  const std::size_t caret = shown_characters(line.substr(0, one.byte)).size();
  std::size_t begin = 0;
  std::size_t end = characters.size();
  if (one.line_begins_before || characters.size() > kLongestShownLine) {
    begin = caret - std::min(caret, kLongestShownLine / 2);
    end = std::min(end, begin + kLongestShownLine);
  }
  const bool cut_front = begin > 0 || one.line_begins_before;
  Excerpt excerpt;
  excerpt.text = cut_front ? "…" : "";
  for (std::size_t i = begin; i < end; ++i) {
    excerpt.text += characters[i];
  }
  excerpt.text += end < characters.size() ? "…" : "";
  excerpt.caret = caret - begin + (cut_front ? 1 : 0);
  excerpt.width = std::clamp<std::size_t>(end - std::min(end, caret), 1, one.width);
  return excerpt;
}

void render_one(std::string& out, const LocatedDiagnostic& one, bool color) {
  const Diagnostic& d = one.diagnostic;
  const bool is_error = d.severity == Severity::kError;
  const std::string_view paint = !color ? "" : is_error ? "\x1b[1;31m" : "\x1b[1;33m";
  const std::string_view reset = color ? "\x1b[0m" : "";
  out += fmt::format("{}{}[{}]{}: {}\n", paint, is_error ? "error" : "warning", d.code, reset,
                     printable(d.message));
  if (!d.place.file.empty()) {
    out += fmt::format("  --> {}", printable(d.place.file));
    if (one.line > 0) {
      out += fmt::format(":{}:{}", one.line, one.column);
    }
    out += d.place.pointer.empty() ? "\n" : fmt::format("  ({})\n", printable(d.place.pointer));
  }
  if (one.line > 0) {
    const Excerpt excerpt = excerpt_of(one);
    const std::string number = std::to_string(one.line);
    out += fmt::format(" {:>3} | {}\n", number, excerpt.text);
    out += fmt::format(" {:>{}} | {:{}}{}{}{}{}{}\n", "", std::max<std::size_t>(3, number.size()),
                       "", excerpt.caret, paint, std::string(excerpt.width, '^'), reset,
                       d.label.empty() ? "" : " ", printable(d.label));
  }
  if (!d.help.empty()) {
    out += fmt::format("  help: {}\n", printable(d.help));
  }
}

void locate_in_file(const Source& source, std::vector<LocatedDiagnostic*> wanted) {
  std::erase_if(wanted,
                [](const LocatedDiagnostic* one) { return one->diagnostic.place.file.empty(); });
  const bool any_lacks_place = std::any_of(
      wanted.begin(), wanted.end(), [](const auto* one) { return lacks_place(one->diagnostic); });
  if (any_lacks_place) {
    PlaceFinder(source, wanted);
  }
  std::erase_if(wanted,
                [](const LocatedDiagnostic* one) { return one->diagnostic.place.offset < 0; });
  const LineFinder fills_in_lines(*source.open(), wanted);  // reads on construction
  for (LocatedDiagnostic* one : wanted) {
    one->width = caret_width(std::string_view(one->source_line).substr(one->byte));
  }
}

}  // namespace

std::vector<LocatedDiagnostic> locate(const Diagnostics& diagnostics,
                                      const FindSource& find_source) {
  std::vector<LocatedDiagnostic> located;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    located.emplace_back().diagnostic = diagnostic;
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
