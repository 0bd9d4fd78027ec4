#include <cstdio>
#include <string>

#include "core/io/embedded.h"

int main() {
  for (const twinrun::EmbeddedFile& file : twinrun::embedded_schemas()) {
    std::printf("%s\n", std::string(file.name).c_str());
  }
  return 0;
}
