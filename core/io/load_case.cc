#include "core/io/load_case.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/io/embedded.h"
#include "core/io/job_inputs.h"
#include "core/io/json_object.h"

namespace twinrun {
namespace {

constexpr std::string_view kCaseSchema = "twinrun/case/1";
constexpr std::int64_t kMostCalls = 1'000'000;
constexpr std::array<std::string_view, 7> kCallWords = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"};
constexpr std::size_t kSendRecvWord = 6;

std::vector<std::string> read_sentences(JsonObject& object, std::string_view key) {
  std::vector<std::string> out;
  const JsonValue list = object.array(key);
  for (JsonValue one = list.first(); one; one = one.next()) {
    if (one.is_string()) {
      out.emplace_back(one.text());
    } else {
      object.wrong_type(one, "a sentence as a string");
    }
  }
  return out;
}

// Text as it is, else JSON: what --set takes.
std::string override_text(JsonValue value) {
  return value.is_string() ? std::string(value.text()) : to_tree(value).dump();
}

CaseRow read_row(JsonValue value, const CaseFile& file, Diagnostics& diagnostics) {
  CaseRow row;
  JsonObject object(value, "row", diagnostics);
  object.require("name");
  row.name = object.string("name").value_or("");
  const JsonValue set = object.object("set");
  for (JsonValue one = set.first(); one; one = one.next()) {
    const std::string path(one.key());
    const std::string text = override_text(one);
    row.set.push_back(
        {fmt::format("{}, row \"{}\": {} = {}", file.file, row.name, path, text), path, text});
  }
  object.require("measured");
  row.measured = object.number("measured").value_or(0);
  if (object.find("measured").is_number() && row.measured <= 0) {
    diagnostics.error("E0203", object.place_of("measured"), "\"measured\" must be more than 0");
  }
  row.group = object.string("group").value_or("");
  row.relative_to = object.string("relative_to").value_or("");
  object.finish();
  return row;
}

void check_rows(const CaseFile& file, JsonValue rows, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const CaseRow& row : file.rows) {
    names.push_back(row.name);
  }
  std::size_t i = 0;
  for (JsonValue one = rows.first(); one; one = one.next(), ++i) {
    const CaseRow& row = file.rows[i];
    const auto first = std::find(names.begin(), names.end(), row.name);
    if (static_cast<std::size_t>(first - names.begin()) < i) {
      diagnostics.error("E1001", one.place(),
                        fmt::format("two rows are called {}", quoted_for_people(row.name)),
                        "give each row a name of its own");
    }
    const bool refers = !row.relative_to.empty();
    if (refers && std::find(names.begin(), names.end(), row.relative_to) == names.end()) {
      diagnostics.error("E1002", one.find("relative_to").place(),
                        fmt::format("there is no row {}", quoted_for_people(row.relative_to)),
                        did_you_mean(row.relative_to, names));
    }
  }
}

void read_base(JsonObject& object, CaseFile& file) {
  const JsonValue job = object.object("job");
  const JsonValue collective = object.object("collective");
  if (static_cast<bool>(job) == static_cast<bool>(collective)) {
    object.diagnostics().error("E1003", object.place(),
                               job ? "a case is about a job or a collective, not both"
                                   : "a case has no \"job\" and no \"collective\"",
                               "give one of the two");
    return;
  }
  file.is_collective = static_cast<bool>(collective);
  file.base = to_tree(job ? job : collective);
  if (file.is_collective != (file.metric == CaseMetric::kTimeS)) {
    object.diagnostics().error(
        "E1003", object.place_of("metric"),
        file.is_collective ? "of collectives only the time is known" : "a job has no \"time_s\"",
        file.is_collective ? "write \"metric\": \"time_s\""
                           : "write \"samples_per_s\" or \"step_s\"");
  }
}

void read_heading(JsonObject& object, CaseFile& file) {
  const auto schema = object.string("schema");
  if (schema && *schema != kCaseSchema) {
    object.diagnostics().error("E0207", object.place_of("schema"),
                               fmt::format("this is {}, not a case", quoted_for_people(*schema)),
                               fmt::format("a case says \"schema\": \"{}\"", kCaseSchema));
  }
  for (const char* const key : {"name", "table", "citation", "metric", "rows"}) {
    object.require(key);
  }
  file.name = object.string("name").value_or("");
  file.table = object.string("table").value_or("");
  file.citation = object.string("citation").value_or("");
  file.assumed = read_sentences(object, "assumed");
  file.left_out = read_sentences(object, "left_out");
  file.metric = static_cast<CaseMetric>(object.one_of("metric", kCaseMetricWords).value_or(0));
  file.steps = object.integer("steps", 1, kMostCalls).value_or(0);
}

CollectiveCall read_call(JsonObject& object) {
  CollectiveCall call;
  object.require("kind");
  const std::size_t word = object.one_of("kind", kCallWords).value_or(0);
  if (word != kSendRecvWord) {
    call.kind = static_cast<CollectiveKind>(word);
  }
  object.require("bytes");
  call.bytes = object.bytes("bytes").value_or(Bytes{});
  call.times = object.integer("times", 1, kMostCalls).value_or(1);
  return call;
}

CaseCollective read_collective(JsonValue value, const CaseFile& file, Diagnostics& diagnostics) {
  CaseCollective out;
  JsonObject object(value, "collective", diagnostics);
  const JobTopology topology =
      read_job_topology(object.require("topology"), file.file, Source::of_argument, diagnostics);
  out.topology = topology.spec;
  out.ranks = object.string("ranks").value_or(out.ranks);
  out.algorithm = object.string("algorithm").value_or(out.algorithm);
  out.dtype = static_cast<Dtype>(
      object.one_of("dtype", kDtypeNames).value_or(static_cast<std::size_t>(out.dtype)));
  out.gpus_per_process = object.integer("gpus_per_process", 1, 64).value_or(out.gpus_per_process);
  out.calls.push_back(read_call(object));
  const JsonValue then = object.array("then");
  for (JsonValue one = then.first(); one; one = one.next()) {
    JsonObject call(one, "call", diagnostics);
    out.calls.push_back(read_call(call));
    call.finish();
  }
  object.finish();
  return out;
}

JsonTree value_of_text(const std::string& text) {
  Diagnostics complaints;
  const JsonDocument document = JsonDocument::read(Source::of_text("set", text), complaints);
  return complaints.has_errors() ? JsonTree(text) : to_tree(document.root());
}

// The base stands under this key of its file.
PlaceMap places_of(const CaseFile& file, const char* key) {
  PlaceMap places(file.file);
  for (const auto& member : file.base.items()) {
    places.move("/" + member.key(),
                {file.file, fmt::format("/{}/{}", key, member.key()), -1, false});
  }
  return places;
}

}  // namespace

CaseFile read_case(const Source& source, Diagnostics& diagnostics) {
  CaseFile file;
  file.file = source.name();
  const JsonDocument document = JsonDocument::read(source, diagnostics);
  if (!document.root()) {
    return file;
  }
  JsonObject object(document.root(), "case", diagnostics);
  read_heading(object, file);
  read_base(object, file);
  const JsonValue rows = object.array("rows");
  for (JsonValue one = rows.first(); one; one = one.next()) {
    file.rows.push_back(read_row(one, file, diagnostics));
  }
  if (rows) {
    check_rows(file, rows, diagnostics);
  }
  object.finish();
  return file;
}

LoadedJob read_case_job(const CaseFile& file, const CaseRow& row, Diagnostics& diagnostics) {
  JobOptions options;
  options.overrides = row.set;
  return read_job_tree(file.base, places_of(file, "job"), options, diagnostics);
}

CaseCollective read_case_collective(const CaseFile& file,
                                    const CaseRow& row,
                                    Diagnostics& diagnostics) {
  JsonTree tree = file.base;
  PlaceMap places = places_of(file, "collective");
  for (const JobOverride& change : row.set) {
    tree[change.path] = value_of_text(change.value);
    places.move_to_option("/" + change.path, change.option);
  }
  const JsonDocument document = to_document(tree, places, diagnostics);
  return read_collective(document.root(), file, diagnostics);
}

std::vector<Source> published_cases() {
  std::vector<Source> out;
  for (const EmbeddedFile& file : embedded_cases()) {
    out.push_back(Source::of_text(std::string(file.name), std::string(file.text)));
  }
  std::sort(out.begin(), out.end(),
            [](const Source& a, const Source& b) { return a.name() < b.name(); });
  return out;
}

}  // namespace twinrun
