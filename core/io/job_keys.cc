#include "core/io/job_keys.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/did_you_mean.h"
#include "core/io/algorithm_words.h"
#include "core/io/save_topology.h"

namespace twinrun {
namespace {

using Json = nlohmann::ordered_json;
using Written = std::optional<Json>;

constexpr std::int64_t kMostSamples = 1'000'000'000;
constexpr std::int64_t kMostDevices = 10'000'000;
constexpr std::int64_t kMostDatasetSamples = 1'000'000'000'000'000;
constexpr std::array<std::string_view, 4> kTrainingDtypes = {"fp32", "tf32", "fp16", "bf16"};
static_assert(kDtypeNames[static_cast<std::size_t>(Dtype::kFp32)] == kTrainingDtypes[0]);

template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
};

// The value of a member that is there, and not the usual one.
template <auto Block, auto Member>
auto given(const Job& job) {
  using Held = std::remove_cvref_t<decltype((job.*Block).*Member)>;
  const Job usual;
  const Held& held = (job.*Block).*Member;
  std::optional<typename Plain<Held>::Type> value;
  if (held != (usual.*Block).*Member) {
    value = held;
  }
  return value;
}

template <auto Block, auto Member>
Written write_plain(const Job& job) {
  const auto value = given<Block, Member>(job);
  return value ? Written(*value) : std::nullopt;
}

template <auto Block, auto Member>
Written write_quantity(const Job& job) {
  const auto value = given<Block, Member>(job);
  return value ? Written(exact_text(*value)) : std::nullopt;
}

template <auto Block, auto Member, std::int64_t Least, std::int64_t Most>
constexpr JobKey whole(std::string_view block, std::string_view name) {
  const auto read = [](JsonObject& object, std::string_view key, Job& job) {
    if (const auto value = object.integer(key, Least, Most)) {
      (job.*Block).*Member = *value;
    }
  };
  return {block, name, read, write_plain<Block, Member>};
}

std::optional<double> bounded(JsonObject& object, std::string_view key, double most) {
  const std::optional<double> value = object.number(key);
  if (value && *value > most) {
    object.diagnostics().error("E0203", object.place_of(key),
                               fmt::format("\"{}\" must be at most {}, is {}", key, most, *value));
    return std::nullopt;
  }
  return value;
}

template <auto Block, auto Member>
constexpr JobKey number(std::string_view block, std::string_view name) {
  const auto read = [](JsonObject& object, std::string_view key, Job& job) {
    if (const auto value = bounded(object, key, 1e9)) {
      (job.*Block).*Member = *value;
    }
  };
  return {block, name, read, write_plain<Block, Member>};
}

template <auto Block, auto Member>
constexpr JobKey flag(std::string_view block, std::string_view name) {
  const auto read = [](JsonObject& object, std::string_view key, Job& job) {
    if (const auto value = object.boolean(key)) {
      (job.*Block).*Member = *value;
    }
  };
  return {block, name, read, write_plain<Block, Member>};
}

template <auto Block, auto Member>
constexpr JobKey text(std::string_view block, std::string_view name) {
  const auto read = [](JsonObject& object, std::string_view key, Job& job) {
    if (const auto value = object.string(key)) {
      (job.*Block).*Member = *value;
    }
  };
  return {block, name, read, write_plain<Block, Member>, true};
}

template <auto Block, auto Member>
constexpr JobKey time(std::string_view block, std::string_view name) {
  const auto read = [](JsonObject& object, std::string_view key, Job& job) {
    if (const auto value = object.time(key)) {
      (job.*Block).*Member = *value;
    }
  };
  return {block, name, read, write_quantity<Block, Member>};
}

// A word of a list; the enumerators are in its order, the first word being number First.
template <auto Block, auto Member, const auto& Words, std::size_t First = 0>
constexpr JobKey word(std::string_view block, std::string_view name) {
  const auto read = [](JsonObject& object, std::string_view key, Job& job) {
    using Held = std::remove_cvref_t<decltype((job.*Block).*Member)>;
    if (const auto position = object.one_of(key, Words)) {
      (job.*Block).*Member = static_cast<typename Plain<Held>::Type>(*position + First);
    }
  };
  const auto write = [](const Job& job) -> Written {
    const auto value = given<Block, Member>(job);
    return value ? Written(Words[static_cast<std::size_t>(*value) - First]) : std::nullopt;
  };
  return {block, name, read, write};
}

void read_algorithm(JsonObject& object, std::string_view key, Job& job) {
  const std::optional<std::string> word = object.string(key);
  if (word && !is_algorithm_word(*word)) {
    const std::vector<std::string_view> words = algorithm_words();
    object.diagnostics().error(
        "E0204", object.place_of(key),
        fmt::format("{} is not a known \"{}\"", quoted_for_people(*word), key),
        did_you_mean(*word, std::vector<std::string>(words.begin(), words.end())));
  } else if (word) {
    job.parallelism.all_reduce_algorithm = *word;
  }
}

void read_shard_degree(JsonObject& object, std::string_view key, Job& job) {
  const auto value = object.integer(key, -1, kMostDevices);
  if (value == 0) {
    object.diagnostics().error("E0203", object.place_of(key),
                               fmt::format("\"{}\" must be at least 1, or -1, is 0", key),
                               "-1 takes all devices that are left");
  } else if (value) {
    job.parallelism.data_parallel_shard_degree = *value;
  }
}

void read_balance(JsonObject& object, std::string_view key, Job& job) {
  const JsonValue list = object.array(key);
  for (JsonValue one = list.first(); one; one = one.next()) {
    if (!one.is_integer()) {
      object.wrong_type(one, "the blocks of a stage as a whole number");
    } else if (one.integer() < 1 || one.integer() > kMostSamples) {
      object.diagnostics().error(
          "E0203", one.place(),
          fmt::format("a stage must have at least 1 block, has {}", one.integer()));
    } else {
      job.parallelism.balance.push_back(one.integer());
    }
  }
}

void read_bucket_cap(JsonObject& object, std::string_view key, Job& job) {
  if (const auto value = bounded(object, key, 1e9)) {
    job.ddp.bucket_cap_mb = *value;
    job.ddp.bucket_cap_given = true;  // then it holds for the first bucket as well
  }
}

Written write_bucket_cap(const Job& job) {
  return job.ddp.bucket_cap_given ? Written(job.ddp.bucket_cap_mb) : std::nullopt;
}

void read_storage(JsonObject& object, std::string_view key, Job& job) {
  const auto value = object.bandwidth(key);
  if (value && value->bytes_per_s <= 0) {
    object.diagnostics().error("E0203", object.place_of(key),
                               fmt::format("\"{}\" must be more than 0", key));
  } else if (value) {
    job.input.storage_bandwidth = value;
  }
}

void read_sample_bytes(JsonObject& object, std::string_view key, Job& job) {
  if (const auto value = object.bytes(key)) {
    job.input.sample_bytes = value->count;
  }
}

// What --ranks takes: "all", a number, or names; a list of names as well.
void read_ranks(JsonObject& object, std::string_view key, Job& job) {
  const JsonValue value = object.find(key);
  if (value && value.is_integer()) {
    if (const auto count = object.integer(key, 1, kMostDevices)) {
      job.mapping.ranks = std::to_string(*count);
    }
    return;
  }
  if (!value || !value.is_array()) {
    job.mapping.ranks = object.string(key).value_or(job.mapping.ranks);
    return;
  }
  std::string names;
  for (JsonValue one = value.first(); one; one = one.next()) {
    if (one.is_string()) {
      names += (names.empty() ? "" : ",") + std::string(one.text());
    } else {
      object.wrong_type(one, "the name of a device as a string");
    }
  }
  job.mapping.ranks = names;
}

constexpr JobKey kKeys[] = {
    whole<&Job::training, &Training::local_batch_size, 1, kMostSamples>("training",
                                                                        "local_batch_size"),
    whole<&Job::training, &Training::global_batch_size, 1, kMostSamples>("training",
                                                                         "global_batch_size"),
    whole<&Job::training, &Training::micro_batch_size, 1, kMostSamples>("training",
                                                                        "micro_batch_size"),
    whole<&Job::training, &Training::seq_length, 1, kMostSamples>("training", "seq_length"),
    word<&Job::training, &Training::dtype, kTrainingDtypes, static_cast<std::size_t>(Dtype::kFp32)>(
        "training", "dtype"),
    word<&Job::training, &Training::optimizer, kOptimizerWords>("training", "optimizer"),
    word<&Job::training, &Training::recompute, kRecomputeWords>("training", "recompute"),
    word<&Job::training, &Training::offload, kOffloadWords>("training", "offload"),
    whole<&Job::training, &Training::gradient_accumulation, 1, kMostSamples>(
        "training", "gradient_accumulation"),
    whole<&Job::training, &Training::dataset_samples, 1, kMostDatasetSamples>("training",
                                                                              "dataset_samples"),
    number<&Job::training, &Training::learning_rate>("training", "learning_rate"),
    flag<&Job::training, &Training::fused_norms>("training", "fused_norms"),
    flag<&Job::training, &Training::flash_attention>("training", "flash_attention"),

    text<&Job::parallelism, &Parallelism::strategy>("parallelism", "strategy"),
    whole<&Job::parallelism, &Parallelism::data_parallel_replicate_degree, 1, kMostDevices>(
        "parallelism", "data_parallel_replicate_degree"),
    {"parallelism", "data_parallel_shard_degree", read_shard_degree,
     write_plain<&Job::parallelism, &Parallelism::data_parallel_shard_degree>},
    whole<&Job::parallelism, &Parallelism::zero_stage, 0, 3>("parallelism", "zero_stage"),
    whole<&Job::parallelism, &Parallelism::tensor_parallel_degree, 1, kMostDevices>(
        "parallelism", "tensor_parallel_degree"),
    flag<&Job::parallelism, &Parallelism::sequence_parallel>("parallelism", "sequence_parallel"),
    whole<&Job::parallelism, &Parallelism::pipeline_parallel_degree, 1, kMostDevices>(
        "parallelism", "pipeline_parallel_degree"),
    whole<&Job::parallelism, &Parallelism::virtual_stages, 1, kMostDevices>("parallelism",
                                                                            "virtual_stages"),
    {"parallelism", "balance", read_balance, write_plain<&Job::parallelism, &Parallelism::balance>},
    {"parallelism", "all_reduce_algorithm", read_algorithm,
     write_plain<&Job::parallelism, &Parallelism::all_reduce_algorithm>, true},
    flag<&Job::parallelism, &Parallelism::overlap>("parallelism", "overlap"),

    word<&Job::server, &Server::placement, kServerSiteWords>("server", "placement"),
    whole<&Job::server, &Server::count, 1, kMostDevices>("server", "count"),
    flag<&Job::server, &Server::colocated>("server", "colocated"),
    word<&Job::server, &Server::mode, kServerModeWords>("server", "mode"),
    word<&Job::server, &Server::transport, kServerTransportWords>("server", "transport"),
    whole<&Job::server, &Server::staleness, 0, kMostSamples>("server", "staleness"),

    {"ddp", "bucket_cap_mb", read_bucket_cap, write_bucket_cap},
    number<&Job::ddp, &DdpOptions::first_bucket_mb>("ddp", "first_bucket_mb"),
    flag<&Job::ddp, &DdpOptions::gradient_as_bucket_view>("ddp", "gradient_as_bucket_view"),
    flag<&Job::ddp, &DdpOptions::broadcast_buffers>("ddp", "broadcast_buffers"),

    {"input", "storage_bandwidth", read_storage,
     write_quantity<&Job::input, &InputPipeline::storage_bandwidth>},
    whole<&Job::input, &InputPipeline::decode_cores, 0, kMostDevices>("input", "decode_cores"),
    number<&Job::input, &InputPipeline::decode_samples_per_core>("input",
                                                                 "decode_samples_per_core"),
    whole<&Job::input, &InputPipeline::prefetch, 0, kMostDevices>("input", "prefetch"),
    {"input", "sample_bytes", read_sample_bytes,
     write_plain<&Job::input, &InputPipeline::sample_bytes>},

    text<&Job::mapping, &Mapping::order>("mapping", "order"),
    {"mapping", "ranks", read_ranks, write_plain<&Job::mapping, &Mapping::ranks>, true},

    time<&Job::host, &HostCosts::launch>("host", "data_parallel_launch"),
    time<&Job::host, &HostCosts::checkpoint>("host", "checkpoint"),
    time<&Job::host, &HostCosts::forward>("host", "forward"),
    time<&Job::host, &HostCosts::backward>("host", "backward"),
};

}  // namespace

std::string JobKey::pointer() const { return fmt::format("/{}/{}", block, name); }
std::string JobKey::path() const { return fmt::format("{}.{}", block, name); }

std::span<const JobKey> job_keys() { return kKeys; }

const JobKey* find_job_key(std::string_view block, std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kKeys), std::end(kKeys),
                   [&](const JobKey& key) { return key.block == block && key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

}  // namespace twinrun
