#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace twinrun::report {

// Where the page will be read: a file asks nobody for anything, a served one its own server.
enum class PageHome { kFile, kServer };

// One HTML file with everything in it: style, script, and the data of page_data() as a block of
// JSON that scripts of others can read too (the element with the id "data").
std::string render_page(const nlohmann::ordered_json& data, PageHome home = PageHome::kFile);

// JSON that may stand inside <script>: no "<" is left, so nothing in it can end the element.
std::string script_safe_json(const nlohmann::ordered_json& data);
// Text that may stand in an element or a quoted attribute.
std::string html_text(std::string_view text);

}  // namespace twinrun::report
