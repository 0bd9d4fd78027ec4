#include "core/nccl/channel_packing.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace twinrun {
namespace {

constexpr double kRounding = 1e-6;  // GB/s
// Steps of one packing: a few milliseconds. Only machines whose last channel is hard to place, or
// impossible, use them up.
constexpr int kMostSteps = 1 << 14;

// Depth-first over channels, and within a channel over GPUs. Two shortcuts keep it short: a channel
// that fits as often as any could is simply repeated (NVSwitch), and each channel takes its mirror
// image along where that fits, because links have two directions and a mesh that carries a ring one
// way carries it the other way too.
class Packing {
 public:
  Packing(const NcclMachine& machine, const NcclChannelLimits& limits)
      : machine_(machine),
        limits_(limits),
        ledger_(machine),
        bound_(most_channels(machine, limits)),
        visited_(machine.gpu_count(), false) {}

  std::vector<NcclChannel> run() {
    add_channel();
    return std::move(best_);
  }

 private:
  struct Step {
    double room = 0;
    std::size_t next = 0;
  };

  [[nodiscard]] bool done() const {
    return static_cast<int>(best_.size()) >= bound_ || steps_taken_ > kMostSteps;
  }
  [[nodiscard]] bool networked() const { return machine_.nic_count() > 0; }

  void add_channel() {
    if (chosen_.size() > best_.size()) {
      best_ = chosen_;
    }
    if (done()) {
      return;
    }
    if (!networked()) {
      start(0, std::nullopt);
      return;
    }
    const int nics = static_cast<int>(machine_.nic_count());
    for (int enters = 0; enters < nics && !done(); ++enters) {
      for (int turn = 0; turn < (limits_.may_cross_nics ? nics : 1) && !done(); ++turn) {
        enter(enters, (enters + turn) % nics);
      }
    }
  }

  // The channel that has just been closed is left as it is, to be varied afterwards.
  void add_channel_aside() {
    const NcclChannel channel = channel_;
    const std::optional<std::size_t> last = last_;
    const std::vector<bool> visited = visited_;
    add_channel();
    channel_ = channel;
    last_ = last;
    visited_ = visited;
  }

  // Both ends are settled before the way between them is sought.
  void enter(int enters, int leaves) {
    const std::size_t gpus = machine_.gpu_count();
    for (std::size_t first = 0; first < gpus && !done(); ++first) {
      const NcclWire& in = machine_.from_nic(static_cast<std::size_t>(enters), first);
      if (in.path > limits_.worst_inter || !ledger_.take(in, limits_.inter_gbps)) {
        continue;
      }
      for (std::size_t turn = 0; turn < gpus && !done(); ++turn) {
        const std::size_t last = (first + turn) % gpus;
        const NcclWire& out = machine_.to_nic(last, static_cast<std::size_t>(leaves));
        if ((last == first) != (gpus == 1) || out.path > limits_.worst_inter ||
            !ledger_.take(out, limits_.inter_gbps)) {
          continue;
        }
        channel_.enters = enters;
        channel_.leaves = leaves;
        start(first, last);
        ledger_.give_back(out, limits_.inter_gbps);
      }
      ledger_.give_back(in, limits_.inter_gbps);
    }
  }

  void start(std::size_t first, std::optional<std::size_t> last) {
    last_ = last;
    channel_.gpus.assign(1, static_cast<std::uint32_t>(first));
    visited_.assign(machine_.gpu_count(), false);
    visited_[first] = true;
    walk(first);
  }

  // The last GPU is kept for the end.
  [[nodiscard]] bool may_visit(std::size_t next) const {
    const bool at_end = channel_.gpus.size() + 1 == machine_.gpu_count();
    return !visited_[next] && (!last_ || at_end || next != *last_);
  }

  void walk(std::size_t at) {
    ++steps_taken_;
    const std::size_t gpus = machine_.gpu_count();
    if (channel_.gpus.size() == gpus) {
      close(at);
      return;
    }
    const std::size_t begin = steps_.size();
    for (std::size_t turn = 1; turn < gpus; ++turn) {
      const std::size_t next = (at + turn) % gpus;
      const NcclWire& wire = machine_.between(at, next);
      if (may_visit(next) && wire.path <= limits_.worst_intra) {
        steps_.push_back({ledger_.room(wire), next});
      }
    }
    const std::size_t end = steps_.size();
    std::stable_sort(steps_.begin() + static_cast<std::ptrdiff_t>(begin), steps_.end(),
                     [](const Step& a, const Step& b) { return a.room > b.room; });
    for (std::size_t i = begin; i < end && !done(); ++i) {
      go_on(at, steps_[i].next);
    }
    steps_.resize(begin);
  }

  void go_on(std::size_t at, std::size_t next) {
    const NcclWire& wire = machine_.between(at, next);
    if (!ledger_.take(wire, limits_.intra_gbps)) {
      return;
    }
    visited_[next] = true;
    channel_.gpus.push_back(static_cast<std::uint32_t>(next));
    walk(next);
    channel_.gpus.pop_back();
    visited_[next] = false;
    ledger_.give_back(wire, limits_.intra_gbps);
  }

  void close(std::size_t at) {
    const NcclWire& home = machine_.between(at, channel_.gpus.front());
    if (!networked() && (home.path > limits_.worst_intra ||
                         (machine_.gpu_count() > 1 && !ledger_.take(home, limits_.intra_gbps)))) {
      return;
    }
    const std::size_t before = chosen_.size();
    chosen_.push_back(channel_);
    if (before == 0) {
      repeat(channel_);
    }
    const std::optional<NcclChannel> twin = mirrored(channel_);
    const bool with_twin =
        !done() && static_cast<int>(chosen_.size()) < bound_ && twin && take_whole(*twin);
    if (with_twin) {
      chosen_.push_back(*twin);
    }
    add_channel_aside();
    if (with_twin) {
      give_whole_back(*twin);
    }
    chosen_.resize(before);
    if (!networked() && machine_.gpu_count() > 1) {
      ledger_.give_back(home, limits_.intra_gbps);
    }
  }

  // All channels alike, when that reaches the bound.
  void repeat(const NcclChannel& channel) {
    int copies = 1;
    while (copies < bound_ && take_whole(channel)) {
      ++copies;
    }
    if (copies == bound_) {
      best_.assign(static_cast<std::size_t>(bound_), channel);
    }
    for (; copies > 1; --copies) {
      give_whole_back(channel);
    }
  }

  // The same the other way round; nothing when a hop would reach too far.
  [[nodiscard]] std::optional<NcclChannel> mirrored(const NcclChannel& channel) const {
    NcclChannel twin = channel;
    std::reverse(twin.gpus.begin(), twin.gpus.end());
    std::swap(twin.enters, twin.leaves);
    bool near = true;
    for_each_hop(twin, [&](const NcclWire& wire, bool inter) {
      near = near && wire.path <= (inter ? limits_.worst_inter : limits_.worst_intra);
    });
    return near ? std::optional(twin) : std::nullopt;
  }

  template <class Function>
  void for_each_hop(const NcclChannel& channel, Function function) const {
    if (networked()) {
      function(machine_.from_nic(static_cast<std::size_t>(channel.enters), channel.gpus.front()),
               true);
      function(machine_.to_nic(channel.gpus.back(), static_cast<std::size_t>(channel.leaves)),
               true);
    } else if (channel.gpus.size() > 1) {
      function(machine_.between(channel.gpus.back(), channel.gpus.front()), false);
    }
    for (std::size_t i = 1; i < channel.gpus.size(); ++i) {
      function(machine_.between(channel.gpus[i - 1], channel.gpus[i]), false);
    }
  }

  bool take_whole(const NcclChannel& channel) {
    std::vector<std::pair<const NcclWire*, double>> taken;
    bool fits = true;
    for_each_hop(channel, [&](const NcclWire& wire, bool inter) {
      const double gbps = inter ? limits_.inter_gbps : limits_.intra_gbps;
      fits = fits && ledger_.take(wire, gbps);
      if (fits) {
        taken.emplace_back(&wire, gbps);
      }
    });
    for (std::size_t i = 0; !fits && i < taken.size(); ++i) {
      ledger_.give_back(*taken[i].first, taken[i].second);
    }
    return fits;
  }

  void give_whole_back(const NcclChannel& channel) {
    for_each_hop(channel, [&](const NcclWire& wire, bool inter) {
      ledger_.give_back(wire, inter ? limits_.inter_gbps : limits_.intra_gbps);
    });
  }

  const NcclMachine& machine_;
  const NcclChannelLimits& limits_;
  NcclLedger ledger_;
  int bound_;
  int steps_taken_ = 0;
  std::vector<NcclChannel> chosen_;
  std::vector<NcclChannel> best_;
  NcclChannel channel_;              // being built
  std::optional<std::size_t> last_;  // where it must end
  std::vector<bool> visited_;
  std::vector<Step> steps_;  // open choices of all levels, the innermost last
};

// Channels that the first (or last) links of these wires can carry; wires that begin with the same
// link share it.
int channels_over(const NcclMachine& machine,
                  const std::vector<std::uint32_t>& capacities,
                  double gbps) {
  double sum = 0;
  for (const std::uint32_t capacity : capacities) {
    sum += std::floor((machine.capacities()[capacity] + kRounding) / gbps);
  }
  return static_cast<int>(std::min(sum, 1e6));
}

void add_once(std::vector<std::uint32_t>& capacities, std::uint32_t capacity) {
  if (std::find(capacities.begin(), capacities.end(), capacity) == capacities.end()) {
    capacities.push_back(capacity);
  }
}

int most_through_gpu(const NcclMachine& machine, const NcclChannelLimits& limits, std::size_t gpu) {
  std::vector<std::uint32_t> out;
  std::vector<std::uint32_t> in;
  for (std::size_t other = 0; other < machine.gpu_count(); ++other) {
    const NcclWire& there = machine.between(gpu, other);
    const NcclWire& back = machine.between(other, gpu);
    if (other != gpu && there.path <= limits.worst_intra && !there.tolls.empty()) {
      add_once(out, there.tolls.front().capacity);
    }
    if (other != gpu && back.path <= limits.worst_intra && !back.tolls.empty()) {
      add_once(in, back.tolls.back().capacity);
    }
  }
  return std::min(channels_over(machine, out, limits.intra_gbps),
                  channels_over(machine, in, limits.intra_gbps));
}

}  // namespace

double NcclLedger::room(const NcclWire& wire) const {
  double narrowest = 1e9;
  for (const NcclToll& toll : wire.tolls) {
    narrowest = std::min(narrowest, left_[toll.capacity] / toll.gbps);
  }
  return narrowest;
}

bool NcclLedger::take(const NcclWire& wire, double gbps) {
  bool fits = true;
  for (const NcclToll& toll : wire.tolls) {
    left_[toll.capacity] -= toll.gbps * gbps;
    fits = fits && left_[toll.capacity] > -kRounding;
  }
  if (!fits) {
    give_back(wire, gbps);
  }
  return fits;
}

void NcclLedger::give_back(const NcclWire& wire, double gbps) {
  for (const NcclToll& toll : wire.tolls) {
    left_[toll.capacity] += toll.gbps * gbps;
  }
}

double NcclLedger::fullest(const NcclMachine& machine) const {
  double share = 0;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    const double capacity = machine.capacities()[i];
    share = capacity > 0 ? std::max(share, (capacity - left_[i]) / capacity) : share;
  }
  return share;
}

std::vector<NcclChannel> pack_channels(const NcclMachine& machine,
                                       const NcclChannelLimits& limits) {
  return Packing(machine, limits).run();
}

int most_channels(const NcclMachine& machine, const NcclChannelLimits& limits) {
  if (machine.nic_count() == 0) {
    int most = limits.most;
    for (std::size_t gpu = 0; gpu < machine.gpu_count() && machine.gpu_count() > 1; ++gpu) {
      most = std::min(most, most_through_gpu(machine, limits, gpu));
    }
    return most;
  }
  std::vector<std::uint32_t> ports;
  for (std::size_t nic = 0; nic < machine.nic_count(); ++nic) {
    bool near = false;
    for (std::size_t gpu = 0; gpu < machine.gpu_count(); ++gpu) {
      near = near || machine.from_nic(nic, gpu).path <= limits.worst_inter;
    }
    if (near) {
      ports.push_back(machine.port_in(nic));
    }
  }
  return std::min(limits.most, channels_over(machine, ports, limits.inter_gbps));
}

}  // namespace twinrun
