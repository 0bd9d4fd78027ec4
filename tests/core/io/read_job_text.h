#pragma once

#include <string>
#include <vector>

#include "core/io/load_job.h"

namespace twinrun {

// A job read from text, and what was said about it.
struct JobReading {
  LoadedJob loaded;
  Diagnostics diagnostics;

  [[nodiscard]] const Job& job() const { return loaded.job; }
  // Codes in order, such as "E0202 E0205".
  [[nodiscard]] std::string codes() const {
    std::string out;
    for (const Diagnostic& one : diagnostics.all()) {
      out += (out.empty() ? "" : " ") + one.code;
    }
    return out;
  }
};

inline JobReading read_job_text(const std::string& text,
                                const std::vector<std::string>& settings = {},
                                const std::string& file = "job.json") {
  JobReading out;
  JobOptions options;
  for (const std::string& setting : settings) {
    options.overrides.push_back(parse_override(setting));
  }
  out.loaded = read_job(Source::of_text(file, text), options, out.diagnostics);
  return out;
}

// A small job with these blocks added: R"("training": {…})".
inline std::string job_with(const std::string& blocks) {
  const std::string start = R"({"model": "mlp-4-3-2", "topology": "dgx1-v100")";
  return start + (blocks.empty() ? "" : ", ") + blocks + "}";
}

}  // namespace twinrun
