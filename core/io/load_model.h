#pragma once

#include <cstdint>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/model/model.h"

namespace twinrun {

// Reads a model: twinrun/model/1 with "layers" or "transformer", or a Hugging Face config.json.
// Transformers are built for samples of so many tokens (0: as many as usual). Complaints go to the
// diagnostics; with errors the result is incomplete.
Model read_model(JsonValue root, std::int64_t sequence, Diagnostics& diagnostics);

// Whether a transformer can be built, with complaints about the place when it cannot: heads that do
// not divide (E0508), counts beyond 64 bits (E0505). Warns about samples longer than the table of
// positions (W0503).
bool check_transformer(const TransformerShape& shape,
                       std::int64_t sequence,
                       const Place& place,
                       Diagnostics& diagnostics);

// What people write for a model, on the command line or in a job: a name of the catalogue, a file,
// or "-" for standard input.
Model read_model_argument(const std::string& argument,
                          std::int64_t sequence,
                          Diagnostics& diagnostics);

}  // namespace twinrun
