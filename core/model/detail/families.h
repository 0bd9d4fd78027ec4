#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/catalogue.h"

namespace twinrun {

// Each family is one file: what it has, and how to build one of them by name.
struct ModelFamily {
  std::vector<CatalogueModel> (*list)();
  std::optional<Model> (*build)(std::string_view name, std::int64_t sequence);
};

extern const ModelFamily kAlexNetFamily;
extern const ModelFamily kVggFamily;
extern const ModelFamily kResNetFamily;
extern const ModelFamily kInceptionFamily;
extern const ModelFamily kAmoebaNetFamily;
extern const ModelFamily kBertFamily;
extern const ModelFamily kGptFamily;
extern const ModelFamily kLlamaFamily;
extern const ModelFamily kMlpFamily;

// The numbers after a prefix: "784-256-10" gives 784, 256, 10. Nothing unless each is a plain
// number from 1 to a million, and there are at most a thousand.
std::optional<std::vector<std::int64_t>> dashed_numbers(std::string_view text);

}  // namespace twinrun
