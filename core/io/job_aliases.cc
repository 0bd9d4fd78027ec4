#include "core/io/job_aliases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/json_pointer.h"
#include "core/io/job_keys.h"

namespace twinrun {
namespace {

using Where = JobAlias::Where;

// "Interleaved1F1B", "ScheduleGPipe", "1f1b" -> interleaved1f1b, gpipe, 1f1b
std::string bare_word(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (c != '_' && c != '-') {
      bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return bare.starts_with("schedule") ? bare.substr(8) : bare;
}

// torch.distributed.pipelining's names of schedules are strategies of ours.
std::optional<JsonTree> strategy_of_schedule(const JsonTree& value) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSchedules = {
      {{"gpipe", "gpipe"}, {"1f1b", "1f1b"}, {"interleaved1f1b", "interleaved_1f1b"}}};
  if (value.is_string()) {
    const std::string bare = bare_word(value.get_ref<const std::string&>());
    for (const auto& [schedule, strategy] : kSchedules) {
      if (bare == schedule) {
        return strategy;
      }
    }
  }
  return value;
}

// A switch that stands for a value of a key; off, it says nothing.
template <const auto& Value>
std::optional<JsonTree> when_on(const JsonTree& value) {
  if (value.is_boolean()) {
    return value.get<bool>() ? std::optional<JsonTree>(Value) : std::nullopt;
  }
  return value;
}

constexpr std::int64_t kZeroOne = 1;
constexpr std::string_view kFp16 = "fp16";
constexpr std::string_view kBf16 = "bf16";

constexpr JobAlias kAliases[] = {
    {"dp", "parallelism", "data_parallel_replicate_degree"},
    {"fsdp", "parallelism", "data_parallel_shard_degree"},
    {"zero", "parallelism", "zero_stage"},
    {"zero_optimization.stage", "parallelism", "zero_stage", Where::kBoth},
    {"use_distributed_optimizer", "parallelism", "zero_stage", Where::kBoth, when_on<kZeroOne>},
    {"tp", "parallelism", "tensor_parallel_degree"},
    {"tensor_model_parallel_size", "parallelism", "tensor_parallel_degree", Where::kBoth},
    {"tensor_parallel", "parallelism", "tensor_parallel_degree", Where::kBoth},
    {"sp", "parallelism", "sequence_parallel"},
    {"enable_sequence_parallel", "parallelism", "sequence_parallel", Where::kBoth},
    {"sequence_parallel", "parallelism", "sequence_parallel", Where::kTop},
    {"pp", "parallelism", "pipeline_parallel_degree"},
    {"pipeline_model_parallel_size", "parallelism", "pipeline_parallel_degree", Where::kBoth},
    {"schedule", "parallelism", "strategy", Where::kBlock, strategy_of_schedule},
    {"pipeline_parallel_schedule", "parallelism", "strategy", Where::kBoth, strategy_of_schedule},
    {"vpp", "parallelism", "virtual_stages"},
    {"num_virtual_stages_per_pipeline_rank", "parallelism", "virtual_stages", Where::kBoth},
    {"virtual_pipeline_model_parallel_size", "parallelism", "virtual_stages", Where::kBoth},
    {"overlap_grad_reduce", "parallelism", "overlap", Where::kBoth},
    {"cp", "parallelism", ""},
    {"context_parallel_degree", "parallelism", ""},
    {"context_parallel_size", "parallelism", "", Where::kBoth},
    {"ep", "parallelism", ""},
    {"expert_parallel_degree", "parallelism", ""},
    {"expert_model_parallel_size", "parallelism", "", Where::kBoth},
    {"mbs", "training", "micro_batch_size"},
    {"micro_batch_size", "training", "micro_batch_size", Where::kTop},
    {"train_micro_batch_size_per_gpu", "training", "micro_batch_size", Where::kBoth},
    {"gbs", "training", "global_batch_size"},
    {"global_batch_size", "training", "global_batch_size", Where::kTop},
    {"train_batch_size", "training", "global_batch_size", Where::kBoth},
    {"gradient_accumulation_steps", "training", "gradient_accumulation", Where::kBoth},
    {"seq", "training", "seq_length"},
    {"seq_len", "training", "seq_length"},
    {"max_context_length", "training", "seq_length"},
    {"seq_length", "training", "seq_length", Where::kTop},
    {"ac", "training", "recompute"},
    {"recompute_granularity", "training", "recompute", Where::kBoth},
    {"activation_checkpoint.mode", "training", "recompute", Where::kTop},
    {"fp16", "training", "dtype", Where::kBoth, when_on<kFp16>},
    {"fp16.enabled", "training", "dtype", Where::kBoth, when_on<kFp16>},
    {"bf16", "training", "dtype", Where::kBoth, when_on<kBf16>},
    {"bf16.enabled", "training", "dtype", Where::kBoth, when_on<kBf16>},
    {"lr", "training", "learning_rate", Where::kBoth},
};

// A value in a message: an input may hold megabytes there.
std::string shown(const JsonTree& value) {
  constexpr std::size_t kMost = 60;
  const std::string text = value.is_string()
                               ? quoted_for_people(value.get_ref<const std::string&>())
                               : value.dump(-1, ' ', true, JsonTree::error_handler_t::replace);
  return text.size() > kMost + 5 ? text.substr(0, kMost) + "…" : text;
}

bool stands_in(const JobAlias& alias, std::string_view block) {
  return block.empty() ? alias.where != Where::kBlock
                       : alias.where != Where::kTop && alias.block == block;
}

// One use of another name.
struct Use {
  const JobKey* key = nullptr;
  std::string written;  // as the person sees it: parallelism.tp
  Place place;
  JsonTree value;
};

class Settler {
 public:
  Settler(JsonTree& job, const std::string& file, PlaceMap& places, Diagnostics& diagnostics)
      : job_(job), file_(file), places_(places), diagnostics_(diagnostics) {}

  void run() {
    take_from(job_, "");
    for (const std::string_view block : kJobBlocks) {
      const auto found = job_.find(block);
      if (found != job_.end() && found->is_object()) {
        take_from(*found, block);
      }
    }
    for (Use& use : uses_) {
      settle(use);
    }
  }

 private:
  void take_from(JsonTree& object, std::string_view block) {
    const std::string above = block.empty() ? "" : fmt::format("/{}", block);
    std::vector<std::string> taken;
    for (const auto& [name, value] : object.items()) {
      const std::string pointer = fmt::format("{}/{}", above, escaped_for_pointer(name));
      const std::string written = block.empty() ? name : fmt::format("{}.{}", block, name);
      const bool is_taken = value.is_object() ? take_members(block, name, value, pointer)
                                              : take(block, name, value, pointer, written);
      if (is_taken) {
        taken.push_back(name);
      }
    }
    for (const std::string& name : taken) {
      object.erase(name);
    }
  }

  // An object of another tool, such as DeepSpeed's zero_optimization: the members that we know.
  bool take_members(std::string_view block,
                    const std::string& name,
                    const JsonTree& object,
                    const std::string& pointer) {
    const std::string start = with_underscores(name) + ".";
    const bool is_known =
        std::any_of(std::begin(kAliases), std::end(kAliases), [&](const JobAlias& alias) {
          return stands_in(alias, block) && alias.name.starts_with(start);
        });
    if (!is_known) {
      return false;
    }
    for (const auto& [member, value] : object.items()) {
      const std::string path = fmt::format("{}.{}", name, member);
      const std::string below = fmt::format("{}/{}", pointer, escaped_for_pointer(member));
      if (!take(block, path, value, below, path)) {
        diagnostics_.warning("W0702", {file_, below, -1, true},
                             fmt::format("\"{}\" is not read: nothing here is like it", path));
      }
    }
    return true;
  }

  bool take(std::string_view block,
            std::string_view name,
            const JsonTree& value,
            const std::string& pointer,
            const std::string& written) {
    const Place place{file_, pointer, -1, false};
    if (const JobAlias* const alias = find_job_alias(block, name)) {
      if (alias->key.empty()) {
        refuse_unless_one(written, value, place);
        return true;
      }
      const auto meant = alias->convert == nullptr ? std::optional(value) : alias->convert(value);
      if (meant) {
        uses_.push_back({find_job_key(alias->block, alias->key), written, place, *meant});
      }
      return true;
    }
    // One of ours with dashes.
    const JobKey* const key = find_job_key(block, with_underscores(name));
    if (key == nullptr || key->name == name) {
      return false;
    }
    uses_.push_back({key, written, place, value});
    return true;
  }

  void refuse_unless_one(const std::string& written, const JsonTree& value, const Place& place) {
    if (!value.is_number() || value.get<double>() != 1) {
      diagnostics_.error("E0209", place, fmt::format("\"{}\" is not modelled", written),
                         "leave it out, or set it to 1");
    }
  }

  void settle(Use& use) {
    JsonTree& block = job_[std::string(use.key->block)];
    if (block.is_null()) {
      block = JsonTree::object();
    }
    if (!block.is_object()) {
      return;  // complained about when it is read
    }
    const std::string name(use.key->name);
    const auto other = block.find(name);
    if (other == block.end()) {
      block[name] = std::move(use.value);
      places_.move(use.key->pointer(), use.place);
      written_[use.key->pointer()] = use.written;
      return;
    }
    if (is_same(*use.key, *other, use.value)) {
      return;
    }
    const auto first = written_.find(use.key->pointer());
    const std::string first_name = first == written_.end() ? use.key->path() : first->second;
    diagnostics_.error("E0208", use.place,
                       fmt::format("\"{}\" is {}, but \"{}\" is {}: they are one setting",
                                   use.written, shown(use.value), first_name, shown(*other)),
                       "keep one of them");
  }

  static bool is_same(const JobKey& key, const JsonTree& a, const JsonTree& b) {
    if (key.name == "strategy" && a.is_string() && b.is_string()) {
      return bare_word(a.get_ref<const std::string&>()) ==
             bare_word(b.get_ref<const std::string&>());
    }
    return a == b;
  }

  JsonTree& job_;
  const std::string& file_;
  PlaceMap& places_;
  Diagnostics& diagnostics_;
  std::vector<Use> uses_;
  std::map<std::string, std::string> written_;  // by pointer: the name its value came under
};

}  // namespace

std::span<const JobAlias> job_aliases() { return kAliases; }

std::string with_underscores(std::string_view name) {
  name.remove_prefix(name.starts_with("--") ? 2 : 0);
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

const JobAlias* find_job_alias(std::string_view block, std::string_view written) {
  const std::string name = with_underscores(written);
  const auto* const found = std::find_if(
      std::begin(kAliases), std::end(kAliases),
      [&](const JobAlias& alias) { return alias.name == name && stands_in(alias, block); });
  return found == std::end(kAliases) ? nullptr : found;
}

void settle_aliases(JsonTree& job,
                    const std::string& file,
                    PlaceMap& places,
                    Diagnostics& diagnostics) {
  if (job.is_object()) {
    Settler(job, file, places, diagnostics).run();
  }
}

}  // namespace twinrun
