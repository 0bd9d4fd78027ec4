#include "core/io/save_plan.h"

#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/io/load_plan.h"
#include "core/plan/plan_builder.h"
#include "tests/core/io/example_plan.h"

namespace twinrun {
namespace {

Plan read(const std::string& text) {
  Diagnostics diagnostics;
  auto plan = load_plan(Source::of_text("plan.json", text), diagnostics);
  diagnostics.throw_if_errors();
  return std::move(plan).value();
}

TEST(SavePlan, WritesOneOpALineWithDefaultsLeftOut) {
  PlanBuilder b("small");
  const DeviceId gpu0 = b.add_device("gpu0");
  const DeviceId gpu1 = b.add_device("gpu1");
  b.add_group("world", std::vector{gpu0, gpu1});
  const OpId a = b.add_compute("a", b.stream(gpu0, "compute"), {.flops = 1e9});
  const OpId c = b.add_copy("c\"1\"", b.stream(gpu0, "side"), gpu1, {25});
  b.set_duration(c, Time{1'500'000});
  b.add_memory_effect(c, {MemoryPart::kBuffers, {-4}, MemoryWhen::kEnd});
  b.depend(c, a);
  EXPECT_EQ(plan_to_json(std::move(b).finish()), R"({
  "schema": "twinrun/plan/1",
  "name": "small",
  "devices": ["gpu0", "gpu1"],
  "groups": {
    "world": ["gpu0", "gpu1"]
  },
  "ops": [
    {"id": "a", "kind": "compute", "device": "gpu0", "flops": 1000000000},
    {"id": "c\"1\"", "kind": "copy", "device": "gpu0", "stream": "side", "to": "gpu1", "bytes": 25, "duration": 1.5, "memory": [{"part": "buffers", "bytes": -4, "when": "end"}], "after": ["a"]}
  ]
}
)");
}

TEST(SavePlan, AnEmptyPlanIsWrittenAndRead) {
  const std::string text = plan_to_json(PlanBuilder().finish());
  EXPECT_EQ(plan_to_json(read(text)), text);
}

TEST(SavePlan, TheExampleSurvivesWritingAndReading) {
  const std::string once = plan_to_json(read(kExamplePlan));
  EXPECT_EQ(plan_to_json(read(once)), once);
}

class RandomPlanMaker {
 public:
  explicit RandomPlanMaker(std::uint32_t seed) : random_(seed), b_(word()) {}

  Plan make() {
    for (int i = 0; i < 4; ++i) {
      devices_.push_back(b_.add_device(word()));
    }
    groups_ = {b_.add_group("g/0", devices_), b_.add_group(word())};
    const std::size_t count = random_() % 40;
    for (std::size_t i = 0; i < count; ++i) {
      std::string id = word();
      id += std::to_string(i);
      add_op(id);
    }
    for (std::size_t i = 0; i < 2 * count; ++i) {  // also forward, doubled and to itself
      b_.depend(id_at<OpId>(random_() % count), id_at<OpId>(random_() % count));
    }
    return std::move(b_).finish();
  }

 private:
  std::string word() {
    static const std::vector<std::string> kWords = {"compute", "comm",     "copy",  "gpu0", "a@b",
                                                    "x\"y\\z", "\n\t\x01", "größe", "",     "~/"};
    return kWords[random_() % kWords.size()];
  }
  std::int64_t large() {
    const std::uint64_t bits = std::uint64_t{random_()} << 32 | random_();
    return static_cast<std::int64_t>(bits >> (1 + random_() % 63));
  }
  DeviceId device() { return devices_[random_() % devices_.size()]; }
  Dtype dtype() { return static_cast<Dtype>(random_() % kDtypeNames.size()); }

  Kernel layer_kernel() {
    Kernel kernel{KernelKind::kBackward, 0, 0, 0, word(), std::nullopt};
    kernel.gradient = static_cast<GradientOf>(random_() % kGradientOfNames.size());
    kernel.taps = static_cast<std::uint32_t>(random_() % 3);
    kernel.stride = static_cast<std::uint32_t>(1 + random_() % 2);
    return kernel;
  }

  OpId add_kind(const std::string& id, StreamId stream) {
    switch (static_cast<OpKind>(random_() % kOpKindNames.size())) {
      case OpKind::kCompute: {
        ComputeSpec spec{static_cast<double>(large()) / 7, {large()}, dtype(), std::nullopt};
        if (random_() % 2 == 0) {
          spec.kernel = random_() % 2 == 0 ? Kernel{KernelKind::kGemm, 1, 2, 3, "", std::nullopt}
                                           : layer_kernel();
        }
        return b_.add_compute(id, stream, spec);
      }
      case OpKind::kCopy:
        return b_.add_copy(id, stream, device(), {large()});
      case OpKind::kSend:
        return b_.add_send(id, stream, {device(), {large()}, static_cast<int>(random_() % 3)});
      case OpKind::kRecv:
        return b_.add_recv(id, stream, {device(), {large()}, static_cast<int>(random_() % 3)});
      case OpKind::kCollective: {
        const auto kind = static_cast<CollectiveKind>(random_() % kCollectiveKindNames.size());
        return b_.add_collective(id, stream,
                                 {kind,
                                  groups_[random_() % 2],
                                  {large()},
                                  random_() % 2 == 0 ? "auto" : "ring",
                                  dtype(),
                                  has_root(kind) ? device() : no_id<DeviceId>(),
                                  random_() % 2 == 0 ? "" : "m"});
      }
      case OpKind::kHost:
        return b_.add_host(id, stream, Time{large()});
      case OpKind::kMarker:
        break;
    }
    return b_.add_marker(id, stream);
  }

  void add_op(const std::string& id) {
    const OpId op = add_kind(id, b_.stream(device(), word()));
    if (random_() % 3 == 0) {
      b_.set_duration(op, Time{large()});
    }
    if (random_() % 5 == 0) {
      b_.set_priority(op, static_cast<std::int16_t>(random_() % 65536 - 32768));
    }
    while (random_() % 2 == 0) {
      b_.add_memory_effect(op, {static_cast<MemoryPart>(random_() % kMemoryPartNames.size()),
                                {large() / 256 - MemoryEffect::kLargest / 2},
                                static_cast<MemoryWhen>(random_() % 2)});
    }
  }

  std::mt19937 random_;
  PlanBuilder b_;
  std::vector<DeviceId> devices_;
  std::vector<GroupId> groups_;
};

TEST(SavePlan, WriteReadWriteIsByteIdenticalForRandomPlans) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const std::string once = plan_to_json(RandomPlanMaker(seed).make());
    ASSERT_EQ(plan_to_json(read(once)), once) << "seed " << seed;
  }
}

TEST(SavePlanFile, ReplacesAFileOnlyWhenForced) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("twinrun-save-plan-" + std::to_string(std::random_device{}()) + ".json");
  const Plan plan = read(kExamplePlan);
  save_plan_file(plan, path.string(), false);
  EXPECT_THROW(save_plan_file(plan, path.string(), false), UsageError);
  save_plan_file(plan, path.string(), true);
  Diagnostics diagnostics;
  const auto again = load_plan(Source::of_file(path.string()), diagnostics);
  std::filesystem::remove(path);
  ASSERT_TRUE(again);
  EXPECT_EQ(plan_to_json(*again), plan_to_json(plan));
}

}  // namespace
}  // namespace twinrun
