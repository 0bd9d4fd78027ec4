#pragma once

#include <cstdint>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/model/model.h"

namespace twinrun {

// Whether a JSON object looks like a Hugging Face config.json rather than a file of ours.
bool is_huggingface(JsonValue root);

// The transformer a config.json describes. "model_type" chooses the names of the keys; keys that
// are not read are reported (W0501) unless they are known to change no size. Without a sequence,
// samples are as long as the model's positions, but at most kUsualSequence tokens.
Model read_huggingface(JsonValue root, std::int64_t sequence, Diagnostics& diagnostics);

// Rotary models allow a hundred thousand tokens and more; nobody trains on that by default.
inline constexpr std::int64_t kUsualSequence = 8192;

}  // namespace twinrun
