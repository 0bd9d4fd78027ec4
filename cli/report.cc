#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/page_curves.h"
#include "cli/page_input.h"
#include "cli/verb.h"
#include "core/base/units.h"
#include "core/io/source.h"
#include "report/page_data.h"
#include "report/render_page.h"

namespace twinrun::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string out;
  std::string size = "3MB";
  std::string curves = "auto";
  bool force = false;
};

// Of a page: its script, style and what is not the timeline.
constexpr std::size_t kRestOfPage = 800'000;

std::size_t timeline_bytes(const ReportOptions& options) {
  const std::optional<Bytes> size = parse_bytes(options.size);
  if (!size || size->count <= 0) {
    throw UsageError(fmt::format("--size {}: not a size", options.size), "write 3MB, or 20MB");
  }
  const auto whole = static_cast<std::size_t>(size->count);
  return whole > 2 * kRestOfPage ? whole - kRestOfPage : whole / 2;
}

Output run_report(Context& context, const ReportOptions& options) {
  const std::size_t bytes = timeline_bytes(options);
  const PageInput input = read_page_input(context, options.runs);
  report::PageContent content = page_content(input);
  add_curves_of_runs(context, input, options.curves, content);
  const nlohmann::ordered_json data = report::page_data(content, bytes);
  const std::string page = report::render_page(data);
  write_file(options.out, page, options.force);
  Output output;
  output.json = {{"schema", "twinrun/report/1"},
                 {"file", options.out},
                 {"bytes", page.size()},
                 {"headline", data["headline"]},
                 {"left_out", content.notes}};
  if (options.out != "-") {
    output.text =
        fmt::format("{}\nwrote {} ({}, self-contained)\n", data["headline"].get<std::string>(),
                    options.out, to_text(Bytes{static_cast<std::int64_t>(page.size())}));
  }
  return output;
}

}  // namespace

Run add_report(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  app.add_option("runs", options->runs, "folders that simulate, execute or sweep left with --out")
      ->required()
      ->type_name("DIR");
  app.add_option("-o,--output", options->out, "the page; - for standard output")
      ->required()
      ->type_name("FILE");
  app.add_option("--size", options->size,
                 "of the page, about; the timeline leaves out what is beyond")
      ->type_name("BYTES");
  app.add_option("--curves", options->curves,
                 "variants to simulate: as many as take seconds (auto), all, none")
      ->type_name("auto|all|none");
  app.add_flag("--force", options->force, "replace a page that is there");
  return [options](Context& context) { return run_report(context, *options); };
}

}  // namespace twinrun::cli
