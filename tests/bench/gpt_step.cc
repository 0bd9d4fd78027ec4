#include "tests/bench/gpt_step.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

constexpr std::size_t kTensor = 4;
constexpr std::size_t kStages = 2;
constexpr std::size_t kLayers = 8;  // a stage
constexpr std::size_t kMicroBatches = 8;
constexpr std::size_t kForwardKernels = 10;  // a layer
constexpr std::size_t kBackwardKernels = 19;
constexpr std::size_t kGradients = 8;     // all-reduces a layer
constexpr std::size_t kOtherKernels = 5;  // embedding, head and loss, a micro-batch

constexpr double kHidden = 4096;
constexpr double kSequence = 2048;
// Multiply-adds of a layer and sample, as the scenario's generator counts them, over its roofline.
constexpr double kForwardWork =
    (12 * kSequence * kHidden * kHidden + 2 * kSequence * kSequence * kHidden) / kTensor;
constexpr double kFlopsPerSecond = 312e12;
constexpr double kLinkRate = 50e9;
constexpr double kLinkLatency = 1e-6;
constexpr Bytes kActivation{static_cast<std::int64_t>(kSequence * kHidden) * 2};
constexpr std::int64_t kGradientBytes = 3'350'000'000;

Time seconds(double s) { return {static_cast<std::int64_t>(s * 1e12)}; }

// A rank's share of a ring over so many ranks, `passes` times round.
double ring_seconds(double bytes, std::size_t ranks, double passes) {
  const auto n = static_cast<double>(ranks);
  return passes * (n - 1) * (2 * kLinkLatency + bytes / n / kLinkRate);
}

class Generator {
 public:
  explicit Generator(std::size_t gpus) : gpus_(gpus), replicas_(gpus / (kTensor * kStages)) {
    for (std::size_t i = 0; i < gpus; ++i) {
      devices_.push_back(builder_.add_device(fmt::format("node{}/cpu0", i)));
    }
    builder_.reserve(gpus * 2620, gpus * 2800);
    make_groups();
  }

  GptStep run() {
    for (std::size_t rank = 0; rank < gpus_; ++rank) {
      rank_ = rank;
      compute_ = builder_.stream(devices_[rank], "compute");
      tensor_ = builder_.stream(devices_[rank], "tp");
      data_ = builder_.stream(devices_[rank], "dp");
      pipe_ = builder_.stream(devices_[rank], "pp");
      last_ = no_id<OpId>();
      one_rank();
    }
    const double kernels = static_cast<double>(kMicroBatches * kLayers) * 3 * kForwardWork;
    const double collectives =
        640 * ring_seconds(static_cast<double>(kActivation.count), kTensor, 1) +
        ring_seconds(static_cast<double>(kGradientBytes), replicas_, 2) +
        64 * ring_seconds(0, replicas_, 2) +
        16 * (2 * kLinkLatency + static_cast<double>(kActivation.count) / kLinkRate);
    GptStep step{std::move(builder_).finish(), seconds(kernels / kFlopsPerSecond), {}};
    step.no_overlap = seconds(2 * (kernels / kFlopsPerSecond + collectives));
    return step;
  }

 private:
  // Data parallel innermost, then tensor, then pipeline.
  [[nodiscard]] std::size_t stage() const { return rank_ / (kTensor * replicas_); }

  void make_groups() {
    for (std::size_t s = 0; s < kStages; ++s) {
      const std::size_t first = s * kTensor * replicas_;
      for (std::size_t t = 0; t < kTensor; ++t) {
        const GroupId group = builder_.add_group(fmt::format("dp{}.{}", s, t));
        for (std::size_t d = 0; d < replicas_; ++d) {
          builder_.add_to_group(group, devices_[first + t * replicas_ + d]);
        }
        data_groups_.push_back(group);
      }
      for (std::size_t d = 0; d < replicas_; ++d) {
        const GroupId group = builder_.add_group(fmt::format("tp{}.{}", s, d));
        for (std::size_t t = 0; t < kTensor; ++t) {
          builder_.add_to_group(group, devices_[first + t * replicas_ + d]);
        }
        tensor_groups_.push_back(group);
      }
    }
  }

  void chain(OpId op) {
    if (last_ != no_id<OpId>()) {
      builder_.depend(op, last_);
    }
    last_ = op;
  }

  void kernels(const std::string& name, std::size_t count, double work) {
    for (std::size_t i = 0; i < count; ++i) {
      const OpId op = builder_.add_compute(fmt::format("{}{}@{}", name, i, rank_), compute_, {});
      builder_.set_duration(op, seconds(work / static_cast<double>(count) / kFlopsPerSecond));
      if (i == 0) {
        chain(op);
      }
      last_ = op;
    }
  }

  void tensor(const std::string& name, CollectiveKind kind) {
    const GroupId group = tensor_groups_[stage() * replicas_ + rank_ % replicas_];
    chain(builder_.add_collective(
        fmt::format("{}@{}", name, rank_), tensor_,
        {.kind = kind, .group = group, .bytes = kActivation, .algorithm = "ring"}));
  }

  // The reduction of a layer's gradients goes on beside the backward pass of the layers before it.
  void data(const std::string& name, Bytes bytes) {
    const GroupId group = data_groups_[stage() * kTensor + rank_ / replicas_ % kTensor];
    const OpId op = builder_.add_collective(fmt::format("{}@{}", name, rank_), data_,
                                            {.group = group, .bytes = bytes, .algorithm = "ring"});
    builder_.depend(op, last_);
  }

  void forward_layer(const std::string& at) {
    for (const char* const half : {"a", "m"}) {
      tensor(fmt::format("{}/f{}g", at, half), CollectiveKind::kAllGather);
      kernels(fmt::format("{}/f{}", at, half), kForwardKernels / 2, kForwardWork / 2);
      tensor(fmt::format("{}/f{}s", at, half), CollectiveKind::kReduceScatter);
    }
  }

  void backward_layer(const std::string& at) {
    for (const char* const half : {"m", "a"}) {
      const std::size_t count = kBackwardKernels / 2 + (half[0] == 'm' ? 1 : 0);
      tensor(fmt::format("{}/b{}g", at, half), CollectiveKind::kAllGather);
      tensor(fmt::format("{}/b{}w", at, half), CollectiveKind::kAllGather);
      kernels(fmt::format("{}/b{}", at, half), count, kForwardWork);
      tensor(fmt::format("{}/b{}s", at, half), CollectiveKind::kReduceScatter);
    }
  }

  void pass_on(const std::string& name, bool is_send, std::size_t peer, std::int32_t tag) {
    const MessageSpec spec{devices_[peer], kActivation, tag};
    const std::string id = fmt::format("{}@{}", name, rank_);
    chain(is_send ? builder_.add_send(id, pipe_, spec) : builder_.add_recv(id, pipe_, spec));
  }

  void one_rank() {
    const std::size_t width = kTensor * replicas_;
    const bool first = stage() == 0;
    const std::size_t peer = first ? rank_ + width : rank_ - width;
    for (std::size_t m = 0; m < kMicroBatches; ++m) {
      const std::string at = fmt::format("m{}", m);
      const auto tag = static_cast<std::int32_t>(m);
      if (!first) {
        pass_on(at + "/in", false, peer, tag);
      }
      kernels(at + "/edge", kOtherKernels, 0);
      for (std::size_t l = 0; l < kLayers; ++l) {
        forward_layer(fmt::format("{}/l{}", at, l));
      }
      if (first) {
        pass_on(at + "/out", true, peer, tag);
      }
    }
    for (std::size_t m = 0; m < kMicroBatches; ++m) {
      const std::string at = fmt::format("m{}", m);
      const auto tag = static_cast<std::int32_t>(kMicroBatches + m);
      if (first) {
        pass_on(at + "/gin", false, peer, tag);
      }
      for (std::size_t l = kLayers; l-- > 0;) {
        backward_layer(fmt::format("{}/l{}", at, l));
        for (std::size_t g = 0; g < kGradients && m + 1 == kMicroBatches; ++g) {
          data(fmt::format("g{}.{}", l, g), {kGradientBytes / 65});
        }
      }
      if (!first) {
        pass_on(at + "/gout", true, peer, tag);
      }
    }
    data("embedding", {kGradientBytes / 65});
    tensor("norm", CollectiveKind::kAllReduce);
    kernels("update", 2, 0);
  }

  std::size_t gpus_;
  std::size_t replicas_;
  PlanBuilder builder_{"GPT"};
  std::vector<DeviceId> devices_;
  std::vector<GroupId> data_groups_;
  std::vector<GroupId> tensor_groups_;
  std::size_t rank_ = 0;
  StreamId compute_{};
  StreamId tensor_{};
  StreamId data_{};
  StreamId pipe_{};
  OpId last_ = no_id<OpId>();
};

}  // namespace

GptStep gpt_step(std::size_t gpus) { return Generator(gpus).run(); }

}  // namespace twinrun
