#pragma once

#include <cstddef>
#include <future>
#include <utility>

#include "core/plan/plan.h"

namespace twinrun::cli {

// Starts a question about a large plan on another core; about a small one, or where no thread is to
// be had, it is answered when asked for. The answer does not depend on which. What it refers to
// must outlive the future, which waits when it goes.
template <class Question>
auto beside(const Plan& plan, Question question) {
  constexpr std::size_t kFewestOpsForThread = 200'000;
  const std::launch how = plan.size() < kFewestOpsForThread
                              ? std::launch::deferred
                              : std::launch::async | std::launch::deferred;
  return std::async(how, std::move(question));
}

}  // namespace twinrun::cli
