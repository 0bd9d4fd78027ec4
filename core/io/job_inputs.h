#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/io/source.h"
#include "core/model/model.h"
#include "core/topology/spec.h"

namespace twinrun {

// Opens what an option names, "-" (standard input) among it.
using OpenSource = std::function<Source(const std::string& argument)>;

// The model or topology that a job names, or has written out inside.
struct JobModel {
  Model model;
  bool is_named = false;  // in the catalogue: the name says all
};
struct JobTopology {
  TopologySpec spec;
  bool is_named = false;  // … or an expression
};

// A value of a job: a string or an object. Files are looked for beside the job's file first, and
// from the current folder when an option named them (job_file is "" then). Complaints that have no
// place of their own get that of the value.
JobModel read_job_model(JsonValue value,
                        const std::string& job_file,
                        std::int64_t sequence,
                        const OpenSource& open,
                        Diagnostics& diagnostics);
JobTopology read_job_topology(JsonValue value,
                              const std::string& job_file,
                              const OpenSource& open,
                              Diagnostics& diagnostics);

// Whether the text is a machine of the catalogue or a kind of fabric, with or without settings.
bool is_topology_name(const std::string& text);
// The path of a file that a job names: beside the job if it is there.
std::string file_of(const std::string& written, const std::string& job_file);

}  // namespace twinrun
