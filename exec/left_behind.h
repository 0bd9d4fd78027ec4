#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace twinrun::exec {

// Keeps something until the process ends, because a thread that does not come back or a message
// under way may still use it. It stays reachable, so that leaks are told from it.
template <class Thing>
void leave_behind(std::unique_ptr<Thing> thing) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Thing>>;  // destroyed never
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(thing));
}

}  // namespace twinrun::exec
