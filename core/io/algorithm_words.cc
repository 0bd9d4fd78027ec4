#include "core/io/algorithm_words.h"

#include <algorithm>
#include <iterator>

#include "core/collective/algorithms.h"

namespace twinrun {

std::vector<std::string_view> algorithm_words() {
  std::vector<std::string_view> words = {"auto"};
  const std::span<const CollectiveAlgorithm> ours = collective_algorithms();
  std::transform(ours.begin(), ours.end(), std::back_inserter(words),
                 [](const CollectiveAlgorithm& algorithm) { return algorithm.name; });
  words.insert(words.end(), {"nvls", "nvlstree", "pat", "collnetdirect", "collnetchain", "mpi"});
  return words;
}

bool is_algorithm_word(std::string_view word) {
  std::string dashed(word);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const std::vector<std::string_view> words = algorithm_words();
  return std::find(words.begin(), words.end(), dashed) != words.end();
}

}  // namespace twinrun
