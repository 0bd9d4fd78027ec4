#include "core/base/diagnostics.h"

namespace twinrun {
namespace {

constexpr std::size_t kKeptAtMost = 20;

}  // namespace

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kError) {
    ++error_count_;
  }
  if (kept_.size() < kKeptAtMost) {
    kept_.push_back(std::move(diagnostic));
  } else {
    ++dropped_;
  }
}

void Diagnostics::error(std::string code, Place place, std::string message, std::string help) {
  add({Severity::kError, std::move(code), std::move(message), std::move(place), "",
       std::move(help)});
}

void Diagnostics::warning(std::string code, Place place, std::string message, std::string help) {
  add({Severity::kWarning, std::move(code), std::move(message), std::move(place), "",
       std::move(help)});
}

void Diagnostics::throw_if_errors() const {
  if (has_errors()) {
    throw InputError(*this);
  }
}

InputError::InputError(Diagnostics diagnostics)
    : std::runtime_error(diagnostics.all().empty() ? "invalid input"
                                                   : diagnostics.all().front().message),
      diagnostics_(std::move(diagnostics)) {}

}  // namespace twinrun
