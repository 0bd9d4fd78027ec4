#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/base/place_map.h"
#include "core/io/json_tree.h"

namespace twinrun {

// Another name of a key of a job: a short one, Megatron's, DeepSpeed's or torchtitan's.
struct JobAlias {
  enum class Where : std::uint8_t { kBlock, kTop, kBoth };  // where that tool has it

  std::string_view name;  // with underscores; "zero_optimization.stage" is a key of an object
  std::string_view block;
  std::string_view key;  // "" when we do not model it: only the value 1 is accepted
  Where where = Where::kBlock;
  // What the value means for our key, or nothing when it says nothing; as it is when null.
  std::optional<JsonTree> (*convert)(const JsonTree& value) = nullptr;
};

std::span<const JobAlias> job_aliases();

// The alias that a person wrote in a block ("" is the top), with dashes or underscores.
const JobAlias* find_job_alias(std::string_view block, std::string_view written);

// "--micro-batch-size" -> "micro_batch_size"
std::string with_underscores(std::string_view name);

// Moves every value that stands under another name to its own key, and notes where it was written.
// Complains when two names of one key have different values (E0208).
void settle_aliases(JsonTree& job,
                    const std::string& file,
                    PlaceMap& places,
                    Diagnostics& diagnostics);

}  // namespace twinrun
