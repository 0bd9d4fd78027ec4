#pragma once

#include <string>

#include "core/model/model.h"

namespace twinrun {

// The model as twinrun/model/1: a transformer by its shape (for any sequence), others by their
// layers. read_model() gives the same model back.
std::string save_model(const Model& model);

}  // namespace twinrun
