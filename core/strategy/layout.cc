#include "core/strategy/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/strategy/server_sites.h"
#include "core/topology/name_lookup.h"

namespace twinrun {
namespace {

constexpr std::string_view kReplicateKey = "/parallelism/data_parallel_replicate_degree";
constexpr std::string_view kShardKey = "/parallelism/data_parallel_shard_degree";
constexpr std::string_view kTensorKey = "/parallelism/tensor_parallel_degree";
constexpr std::string_view kStageKey = "/parallelism/pipeline_parallel_degree";

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 1; i * i <= number; ++i) {
    if (number % i == 0) {
      out.push_back(i);
      if (i != number / i) {
        out.push_back(number / i);
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// "4 or 8": the divisors on both sides of a value that divides not.
std::string nearest_divisors(std::int64_t number, std::int64_t value) {
  std::string text;
  const std::vector<std::int64_t> all = divisors(number);
  const auto above = std::upper_bound(all.begin(), all.end(), value);
  if (above != all.begin()) {
    text = std::to_string(*std::prev(above));
  }
  if (above != all.end()) {
    text += (text.empty() ? "" : " or ") + std::to_string(*above);
  }
  return text;
}

std::string nearest_multiples(std::int64_t of, std::int64_t value) {
  const std::int64_t below = value / of * of;
  return below > 0 ? fmt::format("{} or {}", below, below + of) : std::to_string(of);
}

class LayoutMaker {
 public:
  LayoutMaker(const Job& job,
              const Model& model,
              const Topology& topology,
              const StrategyTraits& traits,
              Diagnostics& diagnostics)
      : job_(job), model_(model), topology_(topology), traits_(traits), diagnostics_(diagnostics) {}

  std::optional<Layout> make() {
    const std::size_t errors_before = diagnostics_.error_count();
    layout_.uses_servers = traits_.has_server || (job_.server.given && traits_.may_use_servers);
    layout_.devices = ranks_of(
        topology_,
        layout_.uses_servers ? worker_candidates(job_, topology_) : topology_.compute_devices(),
        job_.mapping.ranks, place("/mapping/ranks"), diagnostics_);
    if (layout_.devices.empty()) {
      return std::nullopt;
    }
    if (traits_.is_single) {
      layout_.devices.erase(layout_.devices.begin() + 1, layout_.devices.end());
    }
    degrees();
    const bool has_degrees = diagnostics_.error_count() == errors_before;
    if (has_degrees) {
      batches();
    }
    // What does not depend on the number of replicas is complained about at the same time.
    check_heads();
    if (has_degrees || job_.parallelism.pipeline_parallel_degree) {
      check_stages();
    }
    if (diagnostics_.error_count() == errors_before) {
      check_interleaving();
    }
    strides();
    return diagnostics_.error_count() == errors_before ? std::optional(layout_) : std::nullopt;
  }

 private:
  [[nodiscard]] Place place(std::string_view pointer) const {
    return place_in(job_, std::string(pointer));
  }
  void error(std::string code,
             std::string_view pointer,
             std::string message,
             std::string help = {}) {
    diagnostics_.error(std::move(code), place(pointer), std::move(message), std::move(help));
  }

  // A dimension takes what it is given; what is left over goes to the one the strategy is about,
  // and for the others to the replicas.
  void degrees() {
    const Parallelism& asked = job_.parallelism;
    const auto devices = static_cast<std::int64_t>(layout_.devices.size());
    layout_.tensor = asked.tensor_parallel_degree.value_or(1);
    layout_.stages = asked.pipeline_parallel_degree.value_or(1);
    layout_.virtual_stages = asked.virtual_stages.value_or(traits_.has_virtual_stages ? 2 : 1);
    const std::int64_t shard = asked.data_parallel_shard_degree.value_or(1);
    layout_.zero_stage = asked.zero_stage.value_or(shard == 1 ? 0 : 3);
    const bool shards_rest =
        shard == -1 || (layout_.zero_stage > 0 && !asked.data_parallel_shard_degree);
    layout_.shards = shards_rest ? 1 : shard;
    std::int64_t replicate =
        asked.data_parallel_replicate_degree.value_or(batch_degree(shards_rest));
    const std::int64_t taken =
        layout_.tensor * layout_.stages * layout_.shards * std::max<std::int64_t>(replicate, 1);
    if (taken > devices) {
      return too_many(taken, devices);
    }
    if (devices % taken != 0 && !asked.data_parallel_replicate_degree) {
      return does_not_divide(taken, devices);
    }
    const std::int64_t rest = devices / taken;
    if (traits_.has_stages && !asked.pipeline_parallel_degree) {
      layout_.stages = std::min<std::int64_t>(rest, most_stages());
    } else if (traits_.is_tensor && !asked.tensor_parallel_degree) {
      layout_.tensor = rest;
    } else if (shards_rest) {
      layout_.shards = rest;
    } else if (replicate == 0) {
      replicate = rest;
    }
    layout_.replicas = std::max<std::int64_t>(replicate, 1) * layout_.shards;
    keep_needed(devices);
  }

  [[nodiscard]] std::int64_t most_stages() const {
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(model_.blocks.size()) / layout_.virtual_stages);
  }

  // Replicas that local and global batch say; 0 when they do not.
  [[nodiscard]] std::int64_t batch_degree(bool shards_rest) const {
    const Training& training = job_.training;
    const bool is_said = training.local_batch_size && training.global_batch_size && !shards_rest;
    if (!is_said || *training.global_batch_size % *training.local_batch_size != 0) {
      return 0;
    }
    const std::int64_t degree = *training.global_batch_size / *training.local_batch_size;
    return degree % layout_.shards == 0 ? degree / layout_.shards : 0;
  }

  void too_many(std::int64_t taken, std::int64_t devices) {
    error("E0902", widest_key(),
          fmt::format("the job needs {} devices ({}), {} has {}", taken, degrees_text(),
                      topology_.name(), devices),
          fmt::format("degrees whose product is {} at most, or a larger topology", devices));
  }

  void does_not_divide(std::int64_t taken, std::int64_t devices) {
    error("E0902", widest_key(),
          fmt::format("{} devices cannot be divided into groups of {} ({})", devices, taken,
                      degrees_text()),
          fmt::format("a product of {}", nearest_divisors(devices, taken)));
  }

  [[nodiscard]] std::string_view widest_key() const {
    const std::array<std::pair<std::int64_t, std::string_view>, 4> keys = {{
        {layout_.tensor, kTensorKey},
        {layout_.stages, kStageKey},
        {job_.parallelism.data_parallel_shard_degree.value_or(0), kShardKey},
        {job_.parallelism.data_parallel_replicate_degree.value_or(0), kReplicateKey},
    }};
    return std::max_element(keys.begin(), keys.end(),
                            [](const auto& a, const auto& b) { return a.first < b.first; })
        ->second;
  }

  [[nodiscard]] std::string degrees_text() const {
    std::string text = fmt::format("tensor {} × pipeline {}", layout_.tensor, layout_.stages);
    if (layout_.shards > 1) {
      text += fmt::format(" × shard {}", layout_.shards);
    }
    if (job_.parallelism.data_parallel_replicate_degree) {
      text += fmt::format(" × replicate {}", *job_.parallelism.data_parallel_replicate_degree);
    }
    return text;
  }

  void keep_needed(std::int64_t devices) {
    const std::int64_t needed = layout_.tensor * layout_.stages * layout_.replicas;
    layout_.devices.erase(layout_.devices.begin() + needed, layout_.devices.end());
    if (needed < devices && job_.mapping.ranks == "all" && !traits_.is_single) {
      diagnostics_.warning(
          "W0901", place("/mapping/ranks"),
          fmt::format("{} of {} devices have nothing to do", devices - needed, devices),
          fmt::format("\"ranks\": \"{}\" if that is meant", needed));
    }
  }

  // As torch.chunk divides: parts of ceil(batch / replicas) until nothing is left, so that the last
  // may be smaller, and some replicas may get none.
  void uneven_batches(std::int64_t parts) {
    const std::int64_t global = *job_.training.global_batch_size;
    if (global % parts != 0) {
      error("E0904", "/training/gradient_accumulation",
            fmt::format("a global batch of {} cannot be divided into {} parts", global, parts),
            fmt::format("{} parts", nearest_divisors(global, parts)));
      return;
    }
    layout_.micro_batches = parts;
    layout_.micro_batch = (global / parts + layout_.replicas - 1) / layout_.replicas;
    layout_.local_batch = layout_.micro_batch * parts;
    layout_.global_batch = global;
    const auto devices = static_cast<std::int64_t>(layout_.devices.size());
    layout_.replicas = (global / parts + layout_.micro_batch - 1) / layout_.micro_batch;
    keep_needed(devices);
  }

  void batches() {
    const Training& asked = job_.training;
    const std::int64_t accumulation = asked.gradient_accumulation.value_or(1);
    if (traits_.has_uneven_batches && asked.global_batch_size && !asked.local_batch_size &&
        !asked.micro_batch_size) {
      return uneven_batches(accumulation);
    }
    if (asked.global_batch_size && !asked.local_batch_size &&
        *asked.global_batch_size % layout_.replicas != 0) {
      error("E0904", "/training/global_batch_size",
            fmt::format("a global batch of {} cannot be divided among {} replicas",
                        *asked.global_batch_size, layout_.replicas),
            fmt::format("a global batch of {}",
                        nearest_multiples(layout_.replicas, *asked.global_batch_size)));
      return;
    }
    layout_.local_batch =
        asked.local_batch_size    ? *asked.local_batch_size
        : asked.global_batch_size ? *asked.global_batch_size / layout_.replicas
        : asked.micro_batch_size
            ? *asked.micro_batch_size * std::max(accumulation, usual_micro_batches())
            : usual_batch();
    layout_.global_batch = layout_.local_batch * layout_.replicas;
    if (asked.global_batch_size && *asked.global_batch_size != layout_.global_batch) {
      error(
          "E0903", "/training/global_batch_size",
          fmt::format("local_batch_size {} on {} replicas makes a global_batch_size of {}, not {}",
                      layout_.local_batch, layout_.replicas, layout_.global_batch,
                      *asked.global_batch_size),
          fmt::format("leave one of the three out, or a global batch of {}", layout_.global_batch));
      return;
    }
    micro_batches(accumulation);
  }

  void micro_batches(std::int64_t accumulation) {
    const Training& asked = job_.training;
    const std::int64_t local = layout_.local_batch;
    if (asked.micro_batch_size) {
      layout_.micro_batch = *asked.micro_batch_size;
      if (local % layout_.micro_batch != 0) {
        error("E0904", "/training/micro_batch_size",
              fmt::format("a local batch of {} cannot be divided into micro-batches of {}", local,
                          layout_.micro_batch),
              fmt::format("micro-batches of {}", nearest_divisors(local, layout_.micro_batch)));
        return;
      }
      layout_.micro_batches = local / layout_.micro_batch;
      check_accumulation();
      return;
    }
    std::int64_t parts = accumulation;
    if (traits_.has_micro_batches && !asked.gradient_accumulation) {
      parts = usual_parts(local);
    }
    if (local % parts != 0) {
      error("E0904", "/training/gradient_accumulation",
            fmt::format("a local batch of {} cannot be divided into {} parts", local, parts),
            fmt::format("{} parts", nearest_divisors(local, parts)));
      return;
    }
    layout_.micro_batches = parts;
    layout_.micro_batch = local / parts;
  }

  // As many as divide the batch and are four a stage at most; interleaved in whole groups of
  // `stages` where that can be.
  [[nodiscard]] std::int64_t usual_parts(std::int64_t local) const {
    std::int64_t most = 1;
    std::int64_t most_grouped = 0;
    for (const std::int64_t parts : divisors(local)) {
      if (parts <= 4 * layout_.stages) {
        most = parts;
        most_grouped = parts % layout_.stages == 0 ? parts : most_grouped;
      }
    }
    return layout_.virtual_stages > 1 && most_grouped > 0 ? most_grouped : most;
  }

  void check_accumulation() {
    const auto& asked = job_.training.gradient_accumulation;
    if (asked && *asked > 1 && *asked != layout_.micro_batches) {
      error("E0903", "/training/gradient_accumulation",
            fmt::format("a local batch of {} in micro-batches of {} makes {} parts, not {}",
                        layout_.local_batch, layout_.micro_batch, layout_.micro_batches, *asked),
            "leave one of the three out");
    }
  }

  [[nodiscard]] std::int64_t usual_batch() const {
    return (model_.transformer ? 1 : 32) * usual_micro_batches();
  }
  [[nodiscard]] std::int64_t usual_micro_batches() const {
    return traits_.has_micro_batches ? 4 * layout_.stages : 1;
  }

  void check_stages() {
    const auto blocks = static_cast<std::int64_t>(model_.blocks.size());
    const std::int64_t chunks = layout_.stages * layout_.virtual_stages;
    if (chunks > blocks) {
      error("E0905", kStageKey,
            fmt::format("{} stages{} are more than the {} blocks of {}", layout_.stages,
                        layout_.virtual_stages > 1
                            ? fmt::format(" of {} chunks", layout_.virtual_stages)
                            : "",
                        blocks, model_.name),
            fmt::format("{} stages at most", blocks / layout_.virtual_stages));
      return;
    }
    check_balance(blocks, chunks);
  }

  void check_interleaving() {
    if (layout_.virtual_stages > 1 && layout_.micro_batches % layout_.stages != 0) {
      error("E0904", "/training/micro_batch_size",
            fmt::format("interleaving needs micro-batches ({}) in multiples of the {} stages",
                        layout_.micro_batches, layout_.stages),
            fmt::format("{} micro-batches",
                        nearest_multiples(layout_.stages, layout_.micro_batches)));
    }
  }

  void check_heads() {
    if (!model_.transformer || layout_.tensor == 1) {
      return;
    }
    const TransformerShape& shape = *model_.transformer;
    if (shape.heads % layout_.tensor != 0) {
      error("E0906", kTensorKey,
            fmt::format("tensor_parallel_degree {} does not divide the {} attention heads of {}",
                        layout_.tensor, shape.heads, model_.name),
            fmt::format("one of {}", fmt::join(divisors(shape.heads), ", ")));
    }
  }

  void check_balance(std::int64_t blocks, std::int64_t chunks) {
    const std::vector<std::int64_t>& balance = job_.parallelism.balance;
    if (balance.empty()) {
      return;
    }
    std::int64_t sum = 0;
    for (const std::int64_t part : balance) {
      sum += part;
    }
    if (static_cast<std::int64_t>(balance.size()) != chunks) {
      error("E0907", "/parallelism/balance",
            fmt::format("the balance has {} numbers for {} stages", balance.size(), chunks),
            fmt::format("{} numbers", chunks));
    } else if (*std::min_element(balance.begin(), balance.end()) < 1) {
      error("E0907", "/parallelism/balance",
            fmt::format("the balance gives a stage {} blocks",
                        *std::min_element(balance.begin(), balance.end())),
            "1 block at least for each");
    } else if (sum != blocks) {
      error("E0907", "/parallelism/balance",
            fmt::format("the balance adds up to {}, {} has {} blocks", sum, model_.name, blocks),
            fmt::format("numbers that add up to {}", blocks));
    }
  }

  // "tp-cp-ep-dp-pp": the first moves fastest. Context and expert degrees are 1.
  void strides() {
    std::int64_t stride = 1;
    std::string_view rest = job_.mapping.order;
    int seen = 0;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find('-'));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      if (word == "tp") {
        layout_.tensor_stride = stride;
        stride *= layout_.tensor;
        seen |= 1;
      } else if (word == "dp") {
        layout_.replica_stride = stride;
        stride *= layout_.replicas;
        seen |= 2;
      } else if (word == "pp") {
        layout_.stage_stride = stride;
        stride *= layout_.stages;
        seen |= 4;
      } else if (word != "cp" && word != "ep") {
        seen = -8;
        break;
      }
    }
    if (seen != 7) {
      error("E0908", "/mapping/order",
            fmt::format("\"{}\" is no order of tp, dp and pp", job_.mapping.order),
            "\"tp-cp-ep-dp-pp\", fastest first");
    }
  }

  const Job& job_;
  const Model& model_;
  const Topology& topology_;
  const StrategyTraits& traits_;
  Diagnostics& diagnostics_;
  Layout layout_;
};

std::optional<std::size_t> count_in(std::string_view text) {
  std::size_t number = 0;
  const auto [last, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && last == text.data() + text.size() ? std::optional(number)
                                                                     : std::nullopt;
}

}  // namespace

std::vector<VertexId> ranks_of(const Topology& topology,
                               const std::string& list,
                               const Place& place,
                               Diagnostics& diagnostics) {
  return ranks_of(topology, topology.compute_devices(), list, place, diagnostics);
}

std::vector<VertexId> ranks_of(const Topology& topology,
                               std::vector<VertexId> candidates,
                               const std::string& list,
                               const Place& place,
                               Diagnostics& diagnostics) {
  if (list == "all") {
    return candidates;
  }
  if (const auto count = count_in(list)) {
    if (*count == 0 || *count > candidates.size()) {
      diagnostics.error(
          "E0901", place,
          fmt::format("{} ranks: {} has {} devices", *count, topology.name(), candidates.size()),
          fmt::format("1 to {}, all, or names", candidates.size()));
      return {};
    }
    candidates.resize(*count);
    return candidates;
  }
  std::vector<VertexId> named;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, comma - begin);
    const auto vertex = topology.find(name);
    const bool is_new = vertex && std::find(named.begin(), named.end(), *vertex) == named.end();
    if (is_new) {
      named.push_back(*vertex);
    } else {
      diagnostics.error(
          "E0901", place,
          vertex ? fmt::format("{} is named twice", name)
                 : fmt::format("{} has no \"{}\"", topology.name(), name),
          vertex ? "name each device once" : did_you_mean(name, some_names(topology)));
    }
    begin = comma + 1;
  }
  return named;
}

std::optional<Layout> make_layout(const Job& job,
                                  const Model& model,
                                  const Topology& topology,
                                  const StrategyTraits& traits,
                                  Diagnostics& diagnostics) {
  return LayoutMaker(job, model, topology, traits, diagnostics).make();
}

}  // namespace twinrun
