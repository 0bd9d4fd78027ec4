#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/topology/spec.h"

namespace twinrun {

// Many single links as few lines: those with the same far end and figures become one entry with a
// pattern such as gpu[0-3].
class LinkList {
 public:
  struct End {
    std::string part;       // "gpu"
    std::size_t index = 0;  // gpu3
    std::size_t total = 0;  // how many there are: gpu* stands for all
  };

  void add(End from, End to, LinkSpec figures);  // the patterns of the figures are set here
  [[nodiscard]] std::vector<LinkSpec> finish() const;

 private:
  struct Group {
    LinkSpec figures;
    std::string part;
    std::size_t total = 0;
    std::vector<std::size_t> from;
    End to;
  };
  std::vector<Group> groups_;
};

// gpu[0-3,5]; gpu* when the ascending indices are all of them.
[[nodiscard]] std::string index_pattern(std::string_view part,
                                        const std::vector<std::size_t>& indices,
                                        std::size_t total);

}  // namespace twinrun
