#pragma once

#include <map>
#include <string>

#include "core/base/diagnostics.h"

namespace twinrun {

// Where the values of a document were written, when the document was put together: from a file,
// from keys that have other names in other tools, from options of the command line. Complaints
// about the document then point at what the person wrote.
class PlaceMap {
 public:
  PlaceMap() = default;
  explicit PlaceMap(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] const std::string& file() const { return file_; }

  // The value at this pointer of the document, and all below it, was written at that place.
  void move(const std::string& pointer, Place place);
  // … by an option such as "--set training.dtype=fp16", which has no lines to point at.
  void move_to_option(const std::string& pointer, std::string option);

  [[nodiscard]] Place at(const std::string& pointer, bool at_key = false) const;
  // Whether the value was written in the document's own file.
  [[nodiscard]] bool is_in_file(const std::string& pointer) const;

 private:
  struct Origin {
    Place place;
    bool is_option = false;
  };

  std::string file_;
  std::map<std::string, Origin> moved_;
};

}  // namespace twinrun
