#pragma once

#include <string>

#include "core/topology/spec.h"

namespace twinrun {

// The topology as JSON text for people: keys in the order of the documentation, short objects on
// one line, quantities with units that read back to exactly the same value, defaults left out.
[[nodiscard]] std::string save_topology(const TopologySpec& spec);

// "12.5GB/s", "0.4us", "80GiB", "19.5TFLOP/s": the shortest of the usual units that reads back
// exactly.
[[nodiscard]] std::string exact_text(Bandwidth bandwidth);
[[nodiscard]] std::string exact_text(Time time);
[[nodiscard]] std::string exact_text(Bytes bytes);
[[nodiscard]] std::string exact_text(FlopRate rate);
// The same of a network's rate, in bits: "200Gb/s".
[[nodiscard]] std::string bits_text(Bandwidth rate);

}  // namespace twinrun
