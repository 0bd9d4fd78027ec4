#pragma once

#include <span>
#include <string_view>

namespace twinrun {

// What `twinrun explain CODE` prints. A test holds that every code used in the sources is here.
struct DiagnosticCode {
  std::string_view code;
  std::string_view title;
  std::string_view explanation;
};

std::span<const DiagnosticCode> diagnostic_codes();
const DiagnosticCode* find_diagnostic_code(std::string_view code);  // null when unknown

}  // namespace twinrun
