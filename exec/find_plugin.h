#pragma once

#include <string>

namespace twinrun::exec {

// The file with a plugin: beside the program, or where an installation has it; "" when there is
// none.
std::string find_plugin(const std::string& file_name);

}  // namespace twinrun::exec
