#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/machine_parts.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

Cell status_cell(PartStatus status) {
  switch (status) {
    case PartStatus::kOk:
      return {"ok", "ok", Tone::kGood};
    case PartStatus::kWarning:
      return {"warning", "warning", Tone::kWarning};
    case PartStatus::kMissing:
      return {"missing", "missing", Tone::kBad};
  }
  return {};
}

Output doctor(Context& /*context*/) {
  Table found;
  found.columns = {{"name", "part"}, {"status"}, {"detail"}, {"fix"}};
  found.columns.back().only_for_programs = true;  // people read the fixes as a list below
  Table to_do;
  to_do.title = "What to do";
  to_do.columns = {{"name"}, {"fix"}};
  to_do.has_header = false;
  for (const Part& part : machine_parts()) {
    found.rows.push_back({part.name, status_cell(part.status), part.detail, part.fix});
    if (!part.fix.empty()) {
      to_do.rows.push_back({fmt::format("  {}", part.name), part.fix});
    }
  }
  Output output;
  output.rows_key = "parts";
  output.json["parts"] = to_json(found);
  output.tables.push_back(std::move(found));
  if (!to_do.rows.empty()) {
    output.tables.push_back(std::move(to_do));
  }
  return output;
}

}  // namespace

Run add_doctor(CLI::App& /*app*/) { return doctor; }

}  // namespace twinrun::cli
