#include "core/base/place_map.h"

#include <utility>

namespace twinrun {

void PlaceMap::move(const std::string& pointer, Place place) {
  moved_[pointer] = {std::move(place), false};
}

void PlaceMap::move_to_option(const std::string& pointer, std::string option) {
  moved_[pointer] = {{std::move(option), "", -1, false}, true};
}

Place PlaceMap::at(const std::string& pointer, bool at_key) const {
  for (std::size_t end = pointer.size(); end != std::string::npos && end > 0;
       end = pointer.rfind('/', end - 1)) {
    const auto found = moved_.find(pointer.substr(0, end));
    if (found == moved_.end()) {
      continue;
    }
    Place place = found->second.place;
    if (!found->second.is_option) {
      place.pointer += pointer.substr(end);
      place.at_key = at_key;
    }
    return place;
  }
  return {file_, pointer, -1, at_key};
}

bool PlaceMap::is_in_file(const std::string& pointer) const { return at(pointer).file == file_; }

}  // namespace twinrun
