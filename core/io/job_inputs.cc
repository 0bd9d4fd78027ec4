#include "core/io/job_inputs.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/io/catalogue.h"
#include "core/io/json_object.h"
#include "core/io/load_model.h"
#include "core/io/load_topology.h"
#include "core/io/topology_argument.h"
#include "core/model/catalogue.h"
#include "core/topology/fabric.h"

namespace twinrun {
namespace {

// Complaints about a name or an expression have no place; in a job they do.
void add_at(const Place& place, const Diagnostics& from, Diagnostics& to) {
  for (Diagnostic one : from.all()) {
    if (one.place.file.empty()) {
      one.place = place;
    }
    to.add(std::move(one));
  }
}

// False, with a complaint, when the value is neither.
bool is_text_or_object(JsonValue value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_string() || value.is_object()) {
    return true;
  }
  diagnostics.error("E0202", value.place(),
                    fmt::format("expected a {} as a name, a file or an object, found {}", what,
                                json_kind_name(value.kind())));
  return false;
}

// Standard input belongs to the command line: a job that names it would wait for a person.
bool refuse_dash(JsonValue value, const std::string& job_file, Diagnostics& diagnostics) {
  if (value.text() != "-" || job_file.empty()) {
    return false;
  }
  diagnostics.error("E0101", value.place(), "a job cannot name standard input",
                    "name a file, or use --model - or --topology -");
  return true;
}

}  // namespace

bool is_topology_name(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  return catalogue_topology(name).has_value() || find_fabric_kind(name) != nullptr;
}

std::string file_of(const std::string& written, const std::string& job_file) {
  const std::filesystem::path beside = std::filesystem::path(job_file).parent_path() / written;
  std::error_code unreadable;  // a name too long for a file is no file
  return !job_file.empty() && std::filesystem::exists(beside, unreadable) ? beside.string()
                                                                          : written;
}

JobModel read_job_model(JsonValue value,
                        const std::string& job_file,
                        std::int64_t sequence,
                        const OpenSource& open,
                        Diagnostics& diagnostics) {
  JobModel out;
  if (!value || !is_text_or_object(value, "model", diagnostics)) {
    return out;
  }
  Diagnostics complaints;
  if (value.is_object()) {
    out.model = read_model(value, sequence, complaints);
  } else if (refuse_dash(value, job_file, complaints)) {
    // said so
  } else if (value.text() == "-") {
    const JsonDocument document = JsonDocument::read(open("-"), complaints);
    out.model = read_model(document.root(), sequence, complaints);
  } else {
    const std::string written(value.text());
    out.is_named = catalogue_model(written).has_value();
    out.model = read_model_argument(out.is_named ? written : file_of(written, job_file), sequence,
                                    complaints);
  }
  add_at(value.place(), complaints, diagnostics);
  return out;
}

JobTopology read_job_topology(JsonValue value,
                              const std::string& job_file,
                              const OpenSource& open,
                              Diagnostics& diagnostics) {
  JobTopology out;
  if (!value || !is_text_or_object(value, "topology", diagnostics)) {
    return out;
  }
  Diagnostics complaints;
  if (value.is_object()) {
    out.spec = read_topology(value, complaints);
  } else if (refuse_dash(value, job_file, complaints)) {
    // said so
  } else if (value.text() == "-") {
    const JsonDocument document = JsonDocument::read(open("-"), complaints);
    out.spec = read_topology(document.root(), complaints);
  } else {
    const std::string written(value.text());
    out.is_named = is_topology_name(written);
    out.spec =
        read_topology_argument(out.is_named ? written : file_of(written, job_file), complaints);
  }
  add_at(value.place(), complaints, diagnostics);
  return out;
}

}  // namespace twinrun
