#include "core/base/diagnostics.h"

#include <algorithm>

namespace twinrun {
namespace {

constexpr std::size_t kKeptAtMost = 20;  // of each severity

std::string headline(const std::vector<Diagnostic>& complaints) {
  const auto first = std::find_if(complaints.begin(), complaints.end(), [](const Diagnostic& one) {
    return one.severity == Severity::kError;
  });
  return first == complaints.end() ? "invalid input" : first->message;
}

}  // namespace

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kError) {
    ++error_count_;
  }
  // Counted by severity, so that many warnings cannot push out the error behind them.
  const auto alike = std::count_if(kept_.begin(), kept_.end(), [&](const Diagnostic& kept) {
    return kept.severity == diagnostic.severity;
  });
  if (static_cast<std::size_t>(alike) < kKeptAtMost) {
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
    : std::runtime_error(headline(diagnostics.all())), diagnostics_(std::move(diagnostics)) {}

}  // namespace twinrun
