#include "core/io/json_tree.h"

#include <utility>

namespace twinrun {

// Recursion ends: the reader allows JsonTokens::kDeepest levels.
JsonTree to_tree(JsonValue value) {
  switch (value.kind()) {
    case JsonKind::kObject: {
      JsonTree object = JsonTree::object();
      auto& members = object.get_ref<JsonTree::object_t&>();
      for (JsonValue member = value.first(); member; member = member.next()) {
        // Appended, not looked up first: an object may have a million members.
        members.emplace_back(std::string(member.key()), to_tree(member));
      }
      return object;
    }
    case JsonKind::kArray: {
      JsonTree array = JsonTree::array();
      for (JsonValue one = value.first(); one; one = one.next()) {
        array.push_back(to_tree(one));
      }
      return array;
    }
    case JsonKind::kString:
      return value.text();
    case JsonKind::kInteger:
      return value.integer();
    case JsonKind::kNumber:
      return value.number();
    case JsonKind::kBoolean:
      return value.boolean();
    case JsonKind::kNull:
      break;
  }
  return nullptr;
}

JsonDocument to_document(const JsonTree& tree, PlaceMap places, Diagnostics& diagnostics) {
  const std::string text = tree.dump(-1, ' ', false, JsonTree::error_handler_t::replace);
  JsonDocument document = JsonDocument::read(Source::of_text("<tree>", text), diagnostics);
  document.set_places(std::move(places));
  return document;
}

}  // namespace twinrun
