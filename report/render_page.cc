#include "report/render_page.h"

#include <functional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/io/embedded.h"
#include "report/embedded_page.h"

namespace twinrun::report {
namespace {

std::string_view embedded(std::string_view name) {
  for (const EmbeddedFile& file : embedded_page()) {
    if (file.name == name) {
      return file.text;
    }
  }
  throw std::logic_error(fmt::format("the program carries no {}", name));
}

// In one pass, so that what is put in is not looked at again.
std::string filled(std::string_view page,
                   const std::function<std::string(std::string_view name)>& value_of) {
  constexpr std::string_view kOpen = "{{";
  constexpr std::string_view kClose = "}}";
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = page.find(kOpen, at);
    out += page.substr(at, open - at);
    if (open == std::string_view::npos) {
      return out;
    }
    const std::size_t close = page.find(kClose, open);
    out += value_of(page.substr(open + kOpen.size(), close - open - kOpen.size()));
    at = close + kClose.size();
  }
}

}  // namespace

std::string script_safe_json(const nlohmann::ordered_json& data) {
  const std::string text =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {  // only inside strings
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string html_text(std::string_view text) {
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

std::string render_page(const nlohmann::ordered_json& data, PageHome home) {
  return filled(embedded("index.html"), [&](std::string_view name) -> std::string {
    if (name == "title") {
      return html_text(data.value("title", ""));
    }
    if (name == "headline") {
      return html_text(data.value("headline", ""));
    }
    if (name == "connect") {
      return home == PageHome::kServer ? "'self'" : "'none'";
    }
    if (name == "style") {
      return std::string(embedded("page.css"));
    }
    if (name == "script") {
      return std::string(embedded("page.js"));
    }
    if (name == "data") {
      return script_safe_json(data);
    }
    throw std::logic_error(fmt::format("index.html asks for {}", name));
  });
}

}  // namespace twinrun::report
