#pragma once

#include <string>
#include <vector>

namespace twinrun::exec {

// "running: a on gpu0; waiting: b on gpu1 for a, c on gpu2 for its partners": what streams did when
// a run failed. The first ones are named, the others counted.
std::string words_of_streams(const std::vector<std::string>& running,
                             const std::vector<std::string>& waiting);

}  // namespace twinrun::exec
