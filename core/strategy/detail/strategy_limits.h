#pragma once

#include <string_view>

namespace twinrun {

class StepBuilder;

// What some strategies cannot do. Each complains, naming the field and what would do, and is false
// when the job asks for it.

// All ranks in one machine; `instead` is the strategy for several.
bool needs_one_machine(StepBuilder& steps, std::string_view strategy, std::string_view instead);
// Every rank has the whole model: no stages, no tensor parallelism, no shards.
bool needs_whole_models(StepBuilder& steps, std::string_view strategy);

// Warns that "input" and "offload" have no effect, for a strategy that writes its passes itself.
void warn_of_unused_options(StepBuilder& steps, std::string_view strategy);

}  // namespace twinrun
