#include <string>

#include <CLI/CLI.hpp>

#include "cli/build_info.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

nlohmann::ordered_json version_or_null(std::string_view version) {
  return version.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(version);
}

Output version(Context& /*context*/) {
  struct Fact {
    const char* name;
    const char* value;
    const char* when_empty;
  };
  constexpr Fact kFacts[] = {{"version", kVersion, ""},
                             {"commit", kCommit, "not known"},
                             {"compiler", kCompiler, ""},
                             {"build_type", kBuildType, "not set"},
                             {"mpi", kMpiAtBuild, "off: not found at build"},
                             {"blas", kBlasAtBuild, "off: not found at build"},
                             {"cuda", kCudaAtBuild, "off: not found at build"},
                             {"nccl", kNcclAtBuild, "off: not found at build"}};
  Output output;
  Table table;
  table.columns = {{"name"}, {"value"}};
  table.has_header = false;
  for (const Fact& fact : kFacts) {
    const bool is_empty = std::string_view(fact.value).empty();
    output.json[fact.name] = version_or_null(fact.value);
    table.rows.push_back({fact.name, is_empty ? Cell({}, fact.when_empty) : Cell(fact.value)});
  }
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

Run add_version(CLI::App& /*app*/) { return version; }

}  // namespace twinrun::cli
