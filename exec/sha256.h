#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace twinrun::exec {

// FIPS 180-4, as lower-case hexadecimal digits: what two runs' weights are compared by.
std::string sha256(std::span<const std::byte> data);

}  // namespace twinrun::exec
