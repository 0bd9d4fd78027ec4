#include "core/calibrate/traffic_plan.h"

#include <utility>

#include <fmt/format.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

class TrafficBuilder {
 public:
  explicit TrafficBuilder(const Traffic& traffic) : traffic_(traffic) {}

  Plan build() {
    for (const std::string& name : traffic_.summed) {
      summed_.push_back(builder_.add_device(name));
    }
    if (!summed_.empty()) {
      all_ = builder_.add_group("all", summed_);
    }
    for (std::int64_t i = 0; i < kTrafficWarmUp + traffic_.rounds; ++i) {
      add_round(fmt::format("step{}", i));
    }
    return std::move(builder_).finish();
  }

 private:
  void add_round(const std::string& step) {
    for (const std::int64_t bytes : traffic_.message_bytes) {
      for (const Traffic::Pair& pair : traffic_.messages) {
        add_message(pair, {bytes}, fmt::format("{}/{}B/{}-{}", step, bytes, pair.from, pair.to));
      }
    }
    for (const std::int64_t bytes : traffic_.copy_bytes) {
      for (const Traffic::Pair& pair : traffic_.copies) {
        add_copy(pair, {bytes}, fmt::format("{}/copy{}B/{}-{}", step, bytes, pair.from, pair.to));
      }
    }
    for (const std::int64_t bytes : traffic_.sum_bytes) {
      add_sum({bytes}, fmt::format("{}/sum{}B", step, bytes));
    }
  }

  StreamId stream_of(const std::string& name, std::string_view what) {
    return builder_.stream(builder_.add_device(name), what);
  }

  void add_message(const Traffic::Pair& pair, Bytes bytes, const std::string& id) {
    const DeviceId from = builder_.add_device(pair.from);
    const DeviceId to = builder_.add_device(pair.to);
    meet({builder_.add_send(id + "/send", stream_of(pair.from, "communication"), {to, bytes}),
          builder_.add_recv(id + "/receive", stream_of(pair.to, "communication"), {from, bytes})});
  }

  void add_copy(const Traffic::Pair& pair, Bytes bytes, const std::string& id) {
    meet(
        {builder_.add_copy(id, stream_of(pair.from, "copy"), builder_.add_device(pair.to), bytes)});
  }

  void add_sum(Bytes bytes, const std::string& id) {
    std::vector<OpId> ops;
    for (std::size_t i = 0; i < summed_.size(); ++i) {
      ops.push_back(builder_.add_collective(fmt::format("{}@{}", id, traffic_.summed[i]),
                                            builder_.stream(summed_[i], "communication"),
                                            {.group = all_, .bytes = bytes}));
    }
    meet(std::move(ops));
  }

  void meet(std::vector<OpId> ops) {
    for (const OpId op : ops) {
      for (const OpId before : last_) {
        builder_.depend(op, before);
      }
    }
    last_ = std::move(ops);
  }

  const Traffic& traffic_;
  PlanBuilder builder_{"calibration: traffic"};
  std::vector<DeviceId> summed_;
  GroupId all_{};
  std::vector<OpId> last_;
};

}  // namespace

Plan traffic_plan(const Traffic& traffic) { return TrafficBuilder(traffic).build(); }

std::vector<Traffic::Pair> telling_pairs(const std::vector<std::string>& devices) {
  std::vector<Traffic::Pair> out;
  const auto add = [&](const std::string& a, const std::string& b) {
    out.push_back({a, b});
    out.push_back({b, a});
  };
  for (std::size_t i = 1; i < devices.size(); ++i) {
    add(devices[0], devices[i]);
    if (i > 1) {
      add(devices[i - 1], devices[i]);
    }
  }
  return out;
}

}  // namespace twinrun
