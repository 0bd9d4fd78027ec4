#pragma once

#include <string>

namespace substitute {

// What a GPU would answer with silence, garbage or a crash much later ends here at once: prints
// "gpu substitute: <sentence>" and aborts.
[[noreturn]] void refuse(const std::string& sentence);

}  // namespace substitute
