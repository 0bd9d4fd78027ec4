#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twinrun {

// What people may call the algorithm of a collective: auto, ours, those that only NCCL has, and
// whatever MPI does.
std::vector<std::string_view> algorithm_words();
bool is_algorithm_word(std::string_view word);  // - or _ between words

}  // namespace twinrun
