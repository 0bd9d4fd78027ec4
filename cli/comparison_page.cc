#include "cli/comparison_page.h"

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --faint: #777; --rule: #ccc; --bad: #b00020; --warning: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --faint: #999; --rule: #444; --bad: #ff7b86; --warning: #ffc14d; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } .runs { color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 1.5rem 0; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--faint); border-bottom: 1px solid var(--rule); }
th, td { padding: .15rem .9rem .15rem 0; white-space: nowrap; }
.right { text-align: right; } .bad { color: var(--bad); } .warning { color: var(--warning); }
tbody tr:hover { background: color-mix(in srgb, currentColor 7%, transparent); }
.note { color: var(--faint); }
)";

std::string_view class_of(const Cell& cell) {
  return cell.tone == Tone::kBad ? " bad" : cell.tone == Tone::kWarning ? " warning" : "";
}

std::string shown(const Cell& cell) {
  if (!cell.shown.empty()) {
    return cell.shown;
  }
  if (const auto* const text = std::get_if<std::string>(&cell.value)) {
    return *text;
  }
  const auto* const number = std::get_if<std::int64_t>(&cell.value);
  return number != nullptr ? fmt::format("{}", *number) : "-";
}

std::string table_html(const Table& table) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>",
                       column.align == Align::kRight ? " class=\"right\"" : "",
                       escaped(column.title.empty() ? column.name : column.title));
  }
  out += "</tr></thead><tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_right = i < table.columns.size() && table.columns[i].align == Align::kRight;
      out += fmt::format("<td class=\"{}{}\">{}</td>", is_right ? "right" : "", class_of(row[i]),
                         escaped(shown(row[i])));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  return table.note.empty() ? out
                            : out + fmt::format("<p class=\"note\">{}</p>\n", escaped(table.note));
}

}  // namespace

std::string comparison_page(const Comparison& comparison,
                            const CompareNames& names,
                            const std::vector<std::string>& sentences) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0} and {1}</title>\n<style>{2}</style></head><body>\n<h1>{0} and {1}</h1>\n",
      escaped(names.a), escaped(names.b), kStyle);
  const auto run = [&](std::string_view letter, const RunSummary& summary) {
    out += fmt::format("<p class=\"runs\">{}: {}, {} steps counted, {}</p>\n", letter,
                       escaped(summary.name), summary.steps, escaped(summary.source));
  };
  run("A", comparison.a);
  run("B", comparison.b);
  for (const std::string& sentence : sentences) {
    out += fmt::format("<p>{}</p>\n", escaped(sentence));
  }
  for (const std::string_view part : comparison_parts()) {
    for (const Table& table : comparison_tables(comparison, names, {std::string(part)})) {
      out += table.rows.empty() ? "" : table_html(table);
    }
  }
  return out + "</body></html>\n";
}

}  // namespace twinrun::cli
