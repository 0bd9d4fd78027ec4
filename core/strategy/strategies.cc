#include "core/strategy/strategies.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/plan/run_graph.h"
#include "core/plan/validate.h"
#include "core/strategy/detail/builders.h"
#include "core/strategy/step_builder.h"

namespace twinrun {
namespace {

constexpr std::array<std::string_view, 1> kNoAlias = {""};
constexpr std::array<std::string_view, 4> kDdpAliases = {"all_reduce", "distributed_data_parallel",
                                                         "fsdp", "zero"};
constexpr std::array<std::string_view, 2> kLayerAliases = {"layerwise", "model_parallel"};
constexpr std::array<std::string_view, 2> kTensorAliases = {"megatron", "tp"};
constexpr std::array<std::string_view, 3> kGpipeAliases = {"pipeline", "torchgpipe",
                                                           "schedulegpipe"};
constexpr std::array<std::string_view, 3> kOneFOneBAliases = {"one_f_one_b", "pipedream_flush",
                                                              "schedule1f1b"};
constexpr std::array<std::string_view, 3> kInterleavedAliases = {"interleaved1f1b", "interleaved",
                                                                 "scheduleinterleaved1f1b"};
constexpr std::array<std::string_view, 4> kServerAliases = {"ps", "kvstore", "server",
                                                            "parameter_server_strategy"};
constexpr std::array<std::string_view, 2> kHierarchicalPsAliases = {"hierarchical_parameter_server",
                                                                    "two_level_ps"};
constexpr std::array<std::string_view, 4> kDataParallelAliases = {
    "dp", "dataparallel", "nn.dataparallel", "torch.nn.dataparallel"};
constexpr std::array<std::string_view, 3> kMirroredAliases = {"mirrored_strategy",
                                                              "mirroredstrategy", "replicated"};
constexpr std::array<std::string_view, 3> kMultiWorkerAliases = {
    "multi_worker_mirrored_strategy", "multiworkermirroredstrategy", "collective_all_reduce"};

constexpr std::array kStrategies = {
    Strategy{"single", kNoAlias, "one device", {.is_single = true}, build_single},
    Strategy{"ddp",
             kDdpAliases,
             "replicas, gradients all-reduced in buckets beside backward",
             {.may_shard = true},
             build_ddp},
    Strategy{"layer_model_parallel",
             kLayerAliases,
             "layers on different devices, one stage at a time",
             {.has_stages = true, .may_shard = true, .may_use_servers = true},
             build_layer_model_parallel},
    Strategy{"tensor_parallel",
             kTensorAliases,
             "every layer divided among all devices, as in Megatron",
             {.is_tensor = true, .may_shard = true},
             build_tensor_parallel},
    Strategy{
        "gpipe",
        kGpipeAliases,
        "stages filled with micro-batches, all forward and then all backward",
        {.has_stages = true, .has_micro_batches = true, .may_shard = true, .may_use_servers = true},
        build_gpipe},
    Strategy{"1f1b",
             kOneFOneBAliases,
             "stages with one forward and one backward in turn",
             {.has_stages = true,
              .has_micro_batches = true,
              .has_equal_layers = true,
              .may_shard = true,
              .may_use_servers = true},
             build_one_f_one_b},
    Strategy{"interleaved_1f1b",
             kInterleavedAliases,
             "1f1b with several chunks of the model on each stage",
             {.has_stages = true,
              .has_micro_batches = true,
              .has_virtual_stages = true,
              .has_equal_layers = true,
              .may_shard = true,
              .may_use_servers = true},
             build_one_f_one_b},
    Strategy{"pipedream",
             kNoAlias,
             "1f1b without flush: an update after every micro-batch, stale weights",
             {.has_stages = true, .has_micro_batches = true},
             build_pipedream},
    Strategy{"parameter_server",
             kServerAliases,
             "workers push gradients to servers and pull weights",
             {.has_server = true},
             build_parameter_server},
    Strategy{"hierarchical_ps",
             kHierarchicalPsAliases,
             "the same, summed in each machine first",
             {.has_server = true},
             build_hierarchical_ps},
    Strategy{"data_parallel",
             kDataParallelAliases,
             "one process: batch, model and gradients go through GPU 0",
             {.has_uneven_batches = true},
             build_data_parallel},
    Strategy{"mirrored",
             kMirroredAliases,
             "one machine, all gradients summed after backward",
             {},
             build_mirrored},
    Strategy{"multi_worker_mirrored",
             kMultiWorkerAliases,
             "the same over machines; the first writes checkpoints",
             {},
             build_multi_worker_mirrored},
};

std::string normal(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

const Strategy* strategy_of(const Job& job, const Topology& topology, Diagnostics& diagnostics) {
  const std::string& asked = job.parallelism.strategy;
  if (asked.empty()) {
    return find_strategy(
        topology.compute_devices().size() > 1 && job.mapping.ranks != "1" ? "ddp" : "single");
  }
  if (const Strategy* const found = find_strategy(asked)) {
    return found;
  }
  std::vector<std::string> names;
  names.reserve(kStrategies.size());
  for (const Strategy& strategy : kStrategies) {
    names.emplace_back(strategy.name);
  }
  diagnostics.error("E0900", place_in(job, "/parallelism/strategy"),
                    fmt::format("there is no strategy \"{}\"", asked), did_you_mean(asked, names));
  return nullptr;
}

// Tensor parallelism divides attention and pairs of dense layers; other models gain nothing.
void warn_of_whole_layers(const Job& job,
                          const Model& model,
                          const Layout& layout,
                          Diagnostics& diagnostics) {
  if (layout.tensor == 1) {
    return;
  }
  const std::vector<TensorSplit> splits = tensor_splits(model, false);
  if (std::all_of(splits.begin(), splits.end(),
                  [](TensorSplit split) { return split == TensorSplit::kWhole; })) {
    diagnostics.warning("W0902", place_in(job, "/parallelism/tensor_parallel_degree"),
                        fmt::format("{} has no layer to divide: all {} ranks do the same",
                                    model.name, layout.tensor),
                        "data_parallel_replicate_degree or pipeline_parallel_degree instead");
  }
}

// Three steps show the first and a steady one; large plans are long enough with one. Asynchronous
// workers need some to drift apart.
std::int64_t usual_steps(const Job& job, const Layout& layout) {
  if (layout.uses_servers && job.server.mode != ServerMode::kSync) {
    return layout.ranks() > 64 ? 5 : 10;
  }
  return layout.ranks() * static_cast<std::size_t>(layout.micro_batches) > 512 ? 1 : 3;
}

}  // namespace

std::span<const Strategy> all_strategies() { return kStrategies; }

const Strategy* find_strategy(std::string_view name) {
  const std::string wanted = normal(name);
  for (const Strategy& strategy : kStrategies) {
    const bool is_alias = std::find(strategy.aliases.begin(), strategy.aliases.end(), wanted) !=
                          strategy.aliases.end();
    if (strategy.name == wanted || is_alias) {
      return &strategy;
    }
  }
  return nullptr;
}

std::optional<CompiledJob> compile(const Job& job,
                                   const Model& model,
                                   const Topology& topology,
                                   const CompileOptions& options,
                                   Diagnostics& diagnostics) {
  const Strategy* const strategy = strategy_of(job, topology, diagnostics);
  if (strategy == nullptr) {
    return std::nullopt;
  }
  std::optional<Layout> layout = make_layout(job, model, topology, strategy->traits, diagnostics);
  if (!layout) {
    return std::nullopt;
  }
  if (job.server.given && !layout->uses_servers) {
    diagnostics.warning("W0701", place_in(job, "/server"),
                        fmt::format("{} has no servers: \"server\" has no effect", strategy->name),
                        "\"strategy\": \"parameter_server\", or leave it out");
  }
  warn_of_whole_layers(job, model, *layout, diagnostics);
  const std::int64_t count = options.steps > 0 ? options.steps : usual_steps(job, *layout);
  StepBuilder steps(job, model, topology, *layout, count, diagnostics);
  std::string why_not_trained;
  if (options.for_execution) {
    TrainedJob trained = trained_job(job, model, *layout, options.trains_in_short_types);
    why_not_trained = std::move(trained.why_not);
    if (why_not_trained.empty()) {
      steps.set_workload(std::move(trained.workload));
    }
  }
  steps.set_parts(
      partition(job, model, topology, *layout, steps.work(), strategy->traits.has_equal_layers));
  strategy->build(steps);
  if (diagnostics.has_errors()) {
    return std::nullopt;
  }
  Plan plan = std::move(steps.plan()).finish();
  if (options.checks_waiting) {
    check_waiting(job, plan, diagnostics);
    if (diagnostics.has_errors()) {
      return std::nullopt;
    }
  }
  return CompiledJob{std::move(plan), *std::move(layout), count, steps.warmup_steps(),
                     std::move(why_not_trained)};
}

// A schedule that blocks itself would be our mistake. The rest of validate() takes longer than some
// simulations, and tests hold it for every strategy.
void check_waiting(const Job& job, const Plan& plan, Diagnostics& diagnostics) {
  if (!runs_to_its_end(RunGraph(plan))) {
    validate(plan, {.file = "the plan of " + job.name}, diagnostics);
  }
}

}  // namespace twinrun
