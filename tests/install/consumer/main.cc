#include <iostream>

#include "core/base/units.h"
#include "core/io/embedded.h"

int main() {
  std::cout << twinrun::to_text(twinrun::microseconds(1.5)) << "\n";
  for (const twinrun::EmbeddedFile& schema : twinrun::embedded_schemas()) {
    if (schema.name.ends_with("topology.json") && !schema.text.empty()) {
      std::cout << "topology\n";
    }
  }
  return 0;
}
