#include "core/plan/repeated_calls.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

constexpr Bytes kBarrierBytes{4};

class Repeater {
 public:
  Repeater(const std::vector<std::string>& devices, const RepeatedCall& call)
      : call_(call), builder_("repeated calls") {
    for (const std::string& device : devices) {
      devices_.push_back(builder_.add_device(device));
    }
    group_ = builder_.add_group("ranks", devices_);
  }

  RepeatedCallPlan run() && {
    for (std::int64_t i = 0; i < call_.settling; ++i, ++number_) {
      one_call(settling_size());
    }
    std::vector<std::vector<std::vector<OpId>>> ops;
    for (const Bytes size : call_.sizes) {
      std::vector<std::vector<OpId>>& of_size = ops.emplace_back();
      for (std::int64_t i = 0; i < call_.times; ++i, ++number_) {
        of_size.push_back(one_call(size));
      }
    }
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
      host(rank, "comm");
    }
    return {std::move(builder_).finish(), std::move(ops)};
  }

 private:
  [[nodiscard]] std::string name(std::string_view word, std::size_t rank) const {
    return fmt::format("{}.{}@{}", word, number_, rank);
  }
  StreamId stream(std::size_t rank, std::string_view word) {
    return builder_.stream(devices_[rank], word);
  }
  OpId host(std::size_t rank, std::string_view stream_word) {
    const std::string word = fmt::format("host-{}", stream_word);
    return builder_.add_host(name(word, rank), stream(rank, stream_word), std::nullopt);
  }
  OpId barrier(std::size_t rank) {
    CollectiveOpSpec spec;
    spec.kind = CollectiveKind::kBarrier;
    spec.group = group_;
    spec.bytes = kBarrierBytes;
    return builder_.add_collective(name("barrier", rank), stream(rank, "comm"), spec);
  }

  // An element for each rank.
  [[nodiscard]] Bytes settling_size() const {
    return {static_cast<std::int64_t>(devices_.size()) * stored_bytes(call_.dtype)};
  }

  std::vector<OpId> one_call(Bytes size) { return call_.kind ? collective(size) : messages(size); }

  std::vector<OpId> collective(Bytes size) {
    CollectiveOpSpec spec;
    spec.kind = *call_.kind;
    spec.group = group_;
    spec.bytes = size;
    spec.algorithm = call_.algorithm;
    spec.dtype = call_.dtype;
    spec.root = devices_[call_.root];
    std::vector<OpId> ops;
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
      host(rank, "comm");
      barrier(rank);
      ops.push_back(
          builder_.add_collective(name(name_of(spec.kind), rank), stream(rank, "comm"), spec));
    }
    return ops;
  }

  std::vector<OpId> messages(Bytes size) {
    const std::size_t ranks = devices_.size();
    std::vector<OpId> ops;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const bool sends = ranks > 2 || (ranks == 2 && rank == 0);
      const bool receives = ranks > 2 || (ranks == 2 && rank == 1);
      host(rank, "comm");
      const OpId together = barrier(rank);
      if (sends) {
        builder_.depend(together, host(rank, "send"));
        ops.push_back(builder_.add_send(name("send", rank), stream(rank, "send"),
                                        {devices_[(rank + 1) % ranks], size}));
        builder_.depend(ops.back(), together);
      }
      if (receives) {
        ops.push_back(builder_.add_recv(name("recv", rank), stream(rank, "comm"),
                                        {devices_[(rank + ranks - 1) % ranks], size}));
      }
    }
    return ops;
  }

  const RepeatedCall& call_;
  PlanBuilder builder_;
  std::vector<DeviceId> devices_;
  GroupId group_{};
  std::int64_t number_ = 0;  // of the call, over all sizes
};

}  // namespace

RepeatedCallPlan repeat_calls(const std::vector<std::string>& devices, const RepeatedCall& call) {
  return Repeater(devices, call).run();
}

}  // namespace twinrun
