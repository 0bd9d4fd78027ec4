#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/page_curves.h"
#include "cli/page_input.h"
#include "cli/page_server.h"
#include "cli/verb.h"
#include "cli/what_if.h"
#include "report/page_data.h"
#include "report/render_page.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ServeOptions {
  std::vector<std::string> runs;
  std::uint16_t port = 0;
  std::string curves = "auto";
};

constexpr const char* kJson = "application/json";

// A setting as typed in an address; CannotRun says what is wrong with it.
template <class Number>
Number number_of(const HttpRequest& request, const char* name, Number given) {
  const auto found = request.values.find(name);
  if (found == request.values.end()) {
    return given;
  }
  Number value{};
  const char* const end = found->second.data() + found->second.size();
  const auto [last, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || last != end) {
    throw CannotRun(fmt::format("{} is not a number", name));
  }
  return value;
}

WhatIf settings_of(const HttpRequest& request, const WhatIf& given) {
  const auto strategy = request.values.find("strategy");
  return {number_of(request, "batch", given.batch), number_of(request, "devices", given.devices),
          number_of(request, "bandwidth", given.bandwidth),
          strategy == request.values.end() ? given.strategy : strategy->second};
}

HttpAnswer json_answer(const Json& json, int status = 200) {
  return {status, kJson, json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

std::string first_complaint(const Diagnostics& diagnostics) {
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::kError) {
      return one.help.empty() ? one.message : fmt::format("{}; {}", one.message, one.help);
    }
  }
  return "it cannot be simulated";
}

// The pages of one `serve`: what is asked for by which path.
class Site {
 public:
  Site(Json data, const WhatIfRunner* what_if)
      : data_(std::move(data)),
        page_(report::render_page(data_, report::PageHome::kServer)),
        what_if_(what_if) {}

  HttpAnswer answer(const HttpRequest& request, const std::function<bool()>& is_wanted) const {
    if (request.path == "/") {
      return {200, "text/html; charset=utf-8", page_};
    }
    if (request.path == "/data") {
      return json_answer(data_);
    }
    if (what_if_ != nullptr && request.path == "/simulate") {
      return tried([&] { return json_answer(what_if_->page(settings(request), is_wanted)); });
    }
    if (what_if_ != nullptr && request.path == "/job") {
      return tried([&] { return HttpAnswer{200, kJson, what_if_->job_text(settings(request))}; });
    }
    return {404, "text/plain; charset=utf-8", "there are /, /data, /simulate and /job\n"};
  }

 private:
  [[nodiscard]] WhatIf settings(const HttpRequest& request) const {
    return settings_of(request, what_if_->as_given());
  }

  // What cannot be simulated is an answer too.
  template <class Make>
  static HttpAnswer tried(const Make& make) {
    try {
      return make();
    } catch (const WhatIfRunner::Unwanted&) {
      return json_answer({{"error", "a newer request came"}}, 409);
    } catch (const InputError& error) {
      return json_answer({{"error", first_complaint(error.diagnostics())}}, 422);
    } catch (const CannotRun& error) {
      return json_answer({{"error", error.what()}}, 422);
    }
  }

  Json data_;
  std::string page_;
  const WhatIfRunner* what_if_;
};

const RunFolder* first_with_job(const PageInput& input) {
  for (const auto& run : input.runs) {
    if (run->job) {
      return run.get();
    }
  }
  return nullptr;
}

Output run_serve(Context& context, const ServeOptions& options) {
  const PageInput input = read_page_input(context, options.runs);
  PageServer server(options.port);
  report::PageContent content = page_content(input);
  add_curves_of_runs(context, input, options.curves, content);
  std::optional<WhatIfRunner> what_if;
  if (const RunFolder* const run = first_with_job(input)) {
    what_if.emplace(*run);
    content.controls = what_if->controls(what_if->as_given());
  }
  const Site site(report::page_data(content), what_if ? &*what_if : nullptr);
  const std::string address = fmt::format("http://localhost:{}/", server.port());
  // At once, for people and for scripts that wait for it.
  std::cout << (context.speaks_json() ? Json({{"type", "serving"}, {"address", address}}).dump()
                                      : fmt::format("{}\nCtrl-C ends it", address))
            << std::endl;
  server.run([&](const HttpRequest& request, const std::function<bool()>& is_wanted) {
    return site.answer(request, is_wanted);
  });
  Output output;
  output.json = {{"schema", "twinrun/serve/1"}, {"address", address}};
  return output;
}

}  // namespace

Run add_serve(CLI::App& app) {
  const auto options = std::make_shared<ServeOptions>();
  app.add_option("runs", options->runs, "folders that simulate, execute or sweep left with --out")
      ->required()
      ->type_name("DIR");
  app.add_option("--port", options->port, "to listen on; a free one when left out")
      ->type_name("PORT");
  app.add_option("--curves", options->curves,
                 "variants to simulate first: as many as take seconds (auto), all, none")
      ->type_name("auto|all|none");
  return [options](Context& context) { return run_serve(context, *options); };
}

}  // namespace twinrun::cli
