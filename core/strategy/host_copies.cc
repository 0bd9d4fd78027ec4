#include "core/strategy/host_copies.h"

#include <fmt/format.h>

#include "core/strategy/step_builder.h"

namespace twinrun {

bool HostCopies::has_hosts() const {
  for (const VertexId vertex : steps_.layout().devices) {
    const VertexId host = steps_.host_of(vertex);
    if (host == no_id<VertexId>() || host == vertex) {
      steps_.diagnostics().error("E0910", place_in(steps_.job(), "/training/offload"),
                                 host == vertex
                                     ? fmt::format("{} is a CPU: there is nothing to offload to",
                                                   steps_.topology().name(vertex))
                                     : fmt::format("the machine of {} has no CPU to offload to",
                                                   steps_.topology().name(vertex)),
                                 "\"offload\": \"none\", or GPUs with a host");
      return false;
    }
  }
  return true;
}

DeviceId HostCopies::host_of(std::size_t rank) const {
  return steps_.device_at(steps_.host_of(steps_.layout().devices[rank]));
}

void HostCopies::set_rank(std::size_t rank) {
  if (rank != rank_) {
    rank_ = rank;
    last_ = no_id<OpId>();
    before_last_ = no_id<OpId>();
  }
}

void HostCopies::leave(const RankStep& at, OpId last) {
  set_rank(at.rank);
  before_last_ = last_;
  last_ = last;
}

OpId HostCopies::in(const RankStep& at, std::string_view name, MemoryPart part, Bytes bytes) {
  set_rank(at.rank);
  const StreamId stream =
      steps_.plan().stream(host_of(at.rank), fmt::format("offload-in-rank{}", at.rank));
  const OpId copy =
      steps_.plan().add_copy(steps_.id(at, name), stream, steps_.device(at.rank), bytes);
  const OpId begins = steps_.job().parallelism.overlap ? before_last_ : last_;
  if (begins == no_id<OpId>()) {
    steps_.hold(at.rank, part, bytes);
  } else {
    steps_.plan().depend(copy, begins);
    steps_.plan().add_memory_effect(begins, {part, bytes, MemoryWhen::kEnd});
  }
  return copy;
}

OpId HostCopies::out(
    const RankStep& at, std::string_view name, MemoryPart part, Bytes bytes, OpId after) {
  const OpId copy = steps_.plan().add_copy(
      steps_.id(at, name), steps_.stream(at.rank, "offload-out"), host_of(at.rank), bytes);
  steps_.plan().depend(copy, after);
  steps_.plan().add_memory_effect(copy, {part, {-bytes.count}, MemoryWhen::kEnd});
  return copy;
}

}  // namespace twinrun
