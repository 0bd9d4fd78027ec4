#pragma once

#include <nlohmann/json.hpp>

#include "core/io/json_document.h"

namespace twinrun {

// A document that can be changed: keys in file order, no places.
using JsonTree = nlohmann::ordered_json;

JsonTree to_tree(JsonValue value);

// The tree as a document whose values were written where the map says.
JsonDocument to_document(const JsonTree& tree, PlaceMap places, Diagnostics& diagnostics);

}  // namespace twinrun
