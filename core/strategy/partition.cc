#include "core/strategy/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/compute/compute_time.h"

namespace twinrun {
namespace {

// Two rounds over the places where the last part may begin: how fast the slowest part can be, and
// among the cuts that reach this the one with the least sum of squares, which is the most even.
class EvenCut {
 public:
  explicit EvenCut(std::span<const std::vector<Time>> times)
      : parts_(times.size()), blocks_(times.front().size()) {
    for (const std::vector<Time>& row : times) {
      std::vector<std::int64_t>& sums = before_.emplace_back(1, 0);
      for (const Time time : row) {
        sums.push_back(sums.back() + time.ps);
      }
    }
  }

  std::vector<ChunkRange> cut() {
    const auto slowest = static_cast<std::int64_t>(
        best([](double others, double part) { return std::max(others, part); },
             std::numeric_limits<std::int64_t>::max()));
    best([](double others, double part) { return others + part * part; }, slowest);
    std::vector<ChunkRange> out(parts_);
    std::size_t end = blocks_;
    for (std::size_t part = parts_; part-- > 0;) {
      out[part] = {begin_[part][end], end};
      end = out[part].first;
    }
    return out;
  }

 private:
  // The least cost of all parts where none may take longer than `most`; begin_ says which cut. Of
  // equal ones that with the larger part behind: stages in front keep more micro-batches.
  template <class Join>
  double best(const Join& join, std::int64_t most) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> cost(blocks_ + 1, kNever);
    cost[0] = 0;
    begin_.assign(parts_, std::vector<std::size_t>(blocks_ + 1, 0));
    for (std::size_t part = 0; part < parts_; ++part) {
      std::vector<double> next(blocks_ + 1, kNever);
      for (std::size_t end = part + 1; end <= blocks_; ++end) {
        next[end] = best_part(join, most, cost, part, end);
      }
      cost = std::move(next);
    }
    return cost[blocks_];
  }

  // The same with this part the last and ending there; cost is that of the parts before.
  template <class Join>
  double best_part(const Join& join,
                   std::int64_t most,
                   const std::vector<double>& cost,
                   std::size_t part,
                   std::size_t end) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t first = end; first-- > part;) {
      const std::int64_t time = before_[part][end] - before_[part][first];
      if (time > most) {
        break;
      }
      const double sum = join(cost[first], static_cast<double>(time));
      if (std::isfinite(sum) && sum <= least) {
        least = sum;
        begin_[part][end] = first;
      }
    }
    return least;
  }

  std::size_t parts_;
  std::size_t blocks_;
  std::vector<std::vector<std::int64_t>> before_;  // by part: sums of the blocks before
  std::vector<std::vector<std::size_t>> begin_;    // by part and end: where the part begins
};

Time time_on(const Topology& topology, VertexId vertex, const ComputeSpec& spec) {
  const DeviceSpec* const device = topology.device(vertex);
  TWINRUN_CHECK(device != nullptr);
  const ComputeOp op{spec.flops, spec.bytes, no_id<KernelId>(), spec.dtype};
  return compute_time(*device, op, spec.kernel ? &*spec.kernel : nullptr,
                      {topology.compute_scale(vertex), topology.memory_bandwidth_scale(vertex)})
      .time;
}

Time layer_time(const Topology& topology, VertexId vertex, const LayerWork& work, Recompute again) {
  const Time forward = time_on(topology, vertex, work.forward);
  const bool is_recomputed = again == Recompute::kFull || again == Recompute::kExceptLast ||
                             (again == Recompute::kSelective && work.saved_scores.count > 0);
  Time sum = is_recomputed ? forward + forward : forward;
  for (const auto& backward : {work.backward_input, work.backward_weight}) {
    sum = backward ? sum + time_on(topology, vertex, *backward) : sum;
  }
  return sum;
}

}  // namespace

std::vector<ChunkRange> cut_evenly(std::span<const std::vector<Time>> times) {
  TWINRUN_CHECK(!times.empty() && times.front().size() >= times.size());
  return EvenCut(times).cut();
}

std::vector<ChunkRange> cut_as_told(std::span<const std::int64_t> balance) {
  std::vector<ChunkRange> out;
  std::size_t first = 0;
  for (const std::int64_t count : balance) {
    out.push_back({first, first + static_cast<std::size_t>(count)});
    first = out.back().end;
  }
  return out;
}

std::vector<ChunkRange> cut_equal_layers(const Model& model, std::int64_t parts) {
  if (!model.transformer || model.transformer->layers % parts != 0 ||
      static_cast<std::int64_t>(model.blocks.size()) != model.transformer->layers + 2) {
    return {};
  }
  std::vector<std::int64_t> balance(static_cast<std::size_t>(parts),
                                    model.transformer->layers / parts);
  ++balance.front();
  ++balance.back();
  return cut_as_told(balance);
}

std::vector<std::vector<Time>> block_times(const Job& job,
                                           const Model& model,
                                           const Topology& topology,
                                           const Layout& layout,
                                           std::span<const LayerWork> work) {
  std::vector<std::vector<Time>> of_stage;
  for (std::int64_t stage = 0; stage < layout.stages; ++stage) {
    const VertexId vertex = layout.devices[layout.rank(0, stage, 0)];
    std::vector<Time>& row = of_stage.emplace_back();
    for (const Block& block : model.blocks) {
      Time& sum = row.emplace_back();
      for (const LayerWork& layer : work.subspan(block.first_layer, block.layer_count)) {
        sum = sum + layer_time(topology, vertex, layer, job.training.recompute);
      }
    }
  }
  std::vector<std::vector<Time>> out;
  for (std::int64_t part = 0; part < layout.stages * layout.virtual_stages; ++part) {
    out.push_back(of_stage[static_cast<std::size_t>(part % layout.stages)]);
  }
  return out;
}

std::vector<ChunkRange> partition(const Job& job,
                                  const Model& model,
                                  const Topology& topology,
                                  const Layout& layout,
                                  std::span<const LayerWork> work,
                                  bool has_equal_layers) {
  const std::int64_t parts = layout.stages * layout.virtual_stages;
  if (parts == 1) {
    return {{0, model.blocks.size()}};
  }
  if (!job.parallelism.balance.empty()) {
    return cut_as_told(job.parallelism.balance);
  }
  if (has_equal_layers) {
    if (std::vector<ChunkRange> equal = cut_equal_layers(model, parts); !equal.empty()) {
      return equal;
    }
  }
  return cut_evenly(block_times(job, model, topology, layout, work));
}

}  // namespace twinrun
