#include "exec/mpi/channels.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::exec {
namespace {

constexpr std::int64_t kMostCommunicators = 1000;

}  // namespace

Channels::Channels(const Plan& plan, const DeviceHomes& homes, std::int64_t largest_tag)
    : homes_(homes), tags_(largest_tag + 1) {
  const std::int64_t numbers =
      static_cast<std::int64_t>(plan.size()) * std::max<std::int64_t>(1, homes.most_together());
  const std::int64_t wanted = std::max<std::int64_t>(1, (numbers + tags_ - 1) / tags_);
  if (wanted > kMostCommunicators) {
    throw CannotRun(
        fmt::format("this MPI has {} tags: too few for a plan of {} ops", tags_, plan.size()));
  }
  communicators_ = static_cast<int>(wanted);
}

Address Channels::address(DeviceId from, OpId to, int other_process) const {
  const std::int64_t number =
      static_cast<std::int64_t>(index_of(to)) * homes_.most_together() + homes_.number_within(from);
  return {other_process, static_cast<int>(number % tags_), static_cast<int>(number / tags_)};
}

}  // namespace twinrun::exec
