#include "tests/substitute/refusal.h"

#include <cstdio>
#include <cstdlib>

namespace substitute {

void refuse(const std::string& sentence) {
  std::fprintf(stderr, "gpu substitute: %s\n", sentence.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace substitute
