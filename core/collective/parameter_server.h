#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/collective/schedule.h"

namespace twinrun {

// Workers and servers of a push and a pull: worker w is rank w * stride. Server k holds shard k of
// the array.
struct ServerGroup {
  std::uint32_t workers = 1;
  std::uint32_t stride = 1;
  std::uint32_t servers = 1;
  bool are_colocated = true;
  std::uint32_t first_appended = 1;

  [[nodiscard]] std::uint32_t server_rank(std::uint32_t server) const;
  [[nodiscard]] bool is_worker(std::uint32_t rank) const;
  [[nodiscard]] std::optional<std::uint32_t> server_at(std::uint32_t rank) const;
  // 2, or 0 when the only worker is its own server.
  [[nodiscard]] std::uint32_t steps() const;
};

ServerGroup servers_of(const CollectiveSpec& spec, std::uint32_t ranks_per_worker);
// A colocated server needs a worker to be beside.
std::optional<std::string> too_many_servers(const ServerGroup& group);

void push(const CollectiveSpec& spec,
          const ServerGroup& group,
          std::uint32_t rank,
          StepTransfers& out);
void pull(const CollectiveSpec& spec,
          const ServerGroup& group,
          std::uint32_t rank,
          StepTransfers& out);

// What a worker sends when it pushes and, if it has a server beside it, is pulled from; the most of
// all. And what an appended server sends.
std::int64_t worker_bytes(const CollectiveSpec& spec, const ServerGroup& group);
std::int64_t appended_server_bytes(const CollectiveSpec& spec, const ServerGroup& group);

}  // namespace twinrun
