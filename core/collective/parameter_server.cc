#include "core/collective/parameter_server.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/collective/algorithms.h"

// Parameter server, one or several.
//
//   push                      pull                      sharded over 2 servers, push
//    w0  w1  w2                w0  w1  w2                w0    w1    w2
//      ↘ ↓ ↙  reduce             ↖ ↑ ↗                    ↓ ⤨   ⤨   ↓
//        S                         S                      S0 = shard 0   S1 = shard 1
//
// Every worker sends the whole array, each shard to its server, which reduces what comes in; then
// it sends the sum to every worker. Two steps whatever the number of workers, but all of it over
// the servers' ports: a single server beside one of N workers takes (N - 1) K in and sends as much
// out. A server of its own starts with zeros.
//
// Source: Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014.

namespace twinrun {

std::uint32_t ServerGroup::server_rank(std::uint32_t server) const {
  return are_colocated ? server * stride : first_appended + server;
}

bool ServerGroup::is_worker(std::uint32_t rank) const {
  return rank % stride == 0 && rank / stride < workers;
}

std::optional<std::uint32_t> ServerGroup::server_at(std::uint32_t rank) const {
  if (are_colocated) {
    const bool has_one = is_worker(rank) && rank / stride < servers;
    return has_one ? std::optional(rank / stride) : std::nullopt;
  }
  return rank >= first_appended ? std::optional(rank - first_appended) : std::nullopt;
}

std::uint32_t ServerGroup::steps() const { return are_colocated && workers == 1 ? 0 : 2; }

ServerGroup servers_of(const CollectiveSpec& spec, std::uint32_t ranks_per_worker) {
  return {spec.ranks / ranks_per_worker, ranks_per_worker, spec.servers,
          spec.placement == ServerPlacement::kColocated, spec.ranks};
}

std::optional<std::string> too_many_servers(const ServerGroup& group) {
  if (!group.are_colocated || group.servers <= group.workers) {
    return std::nullopt;
  }
  return fmt::format("{} servers do not fit beside {} workers; give them places of their own.",
                     group.servers, group.workers);
}

void push(const CollectiveSpec& spec,
          const ServerGroup& group,
          std::uint32_t rank,
          StepTransfers& out) {
  for (std::uint32_t k = 0; k < group.servers && group.is_worker(rank); ++k) {
    if (group.server_rank(k) != rank) {
      out.send(group.server_rank(k), chunk_of(spec, group.servers, k), Action::kReduce);
    }
  }
  const auto server = group.server_at(rank);
  for (std::uint32_t w = 0; w < group.workers && server; ++w) {
    if (w * group.stride != rank) {
      out.receive(w * group.stride, chunk_of(spec, group.servers, *server), Action::kReduce);
    }
  }
}

void pull(const CollectiveSpec& spec,
          const ServerGroup& group,
          std::uint32_t rank,
          StepTransfers& out) {
  const auto server = group.server_at(rank);
  for (std::uint32_t w = 0; w < group.workers && server; ++w) {
    if (w * group.stride != rank) {
      out.send(w * group.stride, chunk_of(spec, group.servers, *server), Action::kCopy);
    }
  }
  for (std::uint32_t k = 0; k < group.servers && group.is_worker(rank); ++k) {
    if (group.server_rank(k) != rank) {
      out.receive(group.server_rank(k), chunk_of(spec, group.servers, k), Action::kCopy);
    }
  }
}

// A server beside a worker saves that worker's own shard once, and serves it to all others.
std::int64_t worker_bytes(const CollectiveSpec& spec, const ServerGroup& group) {
  if (!group.are_colocated) {
    return spec.bytes;
  }
  const std::int64_t workers = group.workers;
  return workers == 1 ? 0 : spec.bytes + (workers - 2) * chunk_size(spec, group.servers, 0);
}

std::int64_t appended_server_bytes(const CollectiveSpec& spec, const ServerGroup& group) {
  return group.are_colocated ? 0 : group.workers * chunk_size(spec, group.servers, 0);
}

namespace {

std::optional<std::string> refusal(const CollectiveSpec& spec) {
  return too_many_servers(servers_of(spec, 1));
}

std::uint32_t steps(const CollectiveSpec& spec) { return servers_of(spec, 1).steps(); }

std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const ServerGroup group = servers_of(spec, 1);
  return std::max(worker_bytes(spec, group), appended_server_bytes(spec, group));
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  const ServerGroup group = servers_of(spec, 1);
  step == 0 ? push(spec, group, rank, out) : pull(spec, group, rank, out);
}

std::optional<std::string> more_than_one(const CollectiveSpec& spec) {
  if (spec.servers == 1) {
    return std::nullopt;
  }
  return fmt::format("ps has one server, not {}; ps-sharded takes several.", spec.servers);
}

}  // namespace

CollectiveFunctions central_parameter_server() {
  return {more_than_one, steps, bytes_sent, transfers};
}

CollectiveFunctions sharded_parameter_server() { return {refusal, steps, bytes_sent, transfers}; }

}  // namespace twinrun
