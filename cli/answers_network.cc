#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "cli/answers.h"

// Server or ring, which link, which strategy.

namespace twinrun::cli {
namespace {

struct Pair {
  JobFigures server;
  JobFigures ring;
};

std::optional<Pair> server_and_ring(JobSearch& search, const TopologySpec* topology = nullptr) {
  const std::int64_t batch = search.base().global_batch;
  const Job server = with_strategy(search.job(), "parameter_server", batch);
  const Job ring = with_strategy(search.job(), "ddp", batch);
  const auto run = [&](const Job& job) {
    return topology != nullptr ? search.run(job, *topology) : search.run(job);
  };
  const auto a = run(server);
  const auto b = a ? run(ring) : std::nullopt;
  return b ? std::optional(Pair{*a, *b}) : std::nullopt;
}

// Above 0: the ring is faster.
std::optional<double> ring_advantage(JobSearch& search, double factor) {
  const TopologySpec spec = with_scaled_network(search.topology_spec(), factor);
  const auto pair = server_and_ring(search, &spec);
  return pair ? std::optional(pair->server.step_s - pair->ring.step_s) : std::nullopt;
}

// Whether the ring is at least as fast on so many devices, each with the job's batch.
std::optional<bool> ring_wins_on(JobSearch& search, std::size_t devices) {
  const auto run = [&](const char* strategy) {
    Job job = with_strategy(search.job(), strategy, 0);
    job.training.global_batch_size.reset();
    job.training.local_batch_size = search.base().local_batch;
    return search.run_on(devices, job);
  };
  const auto server = run("parameter_server");
  const auto ring = server ? run("ddp") : std::nullopt;
  return ring ? std::optional(ring->samples_per_s >= server->samples_per_s) : std::nullopt;
}

// "With 4 devices the server is faster, with 8 the ring."
std::string where_count_decides(JobSearch& search) {
  constexpr std::size_t kMost = 128;
  const auto name = [](bool ring_wins) { return ring_wins ? "ring" : "server"; };
  const std::size_t here = search.topology().compute_devices().size();
  std::optional<bool> before;
  std::size_t tried = 0;
  for (std::size_t count = 2; count <= std::min(8 * here, kMost); count *= 2) {
    const auto now = ring_wins_on(search, count);
    if (now && before && *now != *before) {
      return fmt::format(" With {} devices the {} is faster, with {} the {}.", tried, name(*before),
                         count, name(*now));
    }
    if (now) {
      before = now;
      tried = count;
    }
  }
  return before ? fmt::format(" The {} is faster with any number of devices from 2 to {}.",
                              name(*before), tried)
                : "";
}

// The factor between two where the advantage changes its sign; they differ in sign.
double meeting_point(JobSearch& search, double low, double high, double at_low) {
  for (int i = 0; i < 10; ++i) {
    const double middle = std::sqrt(low * high);
    const double at_middle = ring_advantage(search, middle).value_or(0);
    ((at_middle > 0) == (at_low > 0) ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

// "node12/gpu3" as node*/gpu*: all of that kind.
std::string pattern_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      out += c;
    } else if (out.empty() || out.back() != '*') {
      out += '*';
    }
  }
  return out;
}

std::optional<JobFigures> with_link_doubled(JobSearch& search, const std::string& link) {
  const std::size_t arrow = link.find(" -> ");
  if (arrow == std::string::npos) {
    return std::nullopt;
  }
  TopologySpec spec = search.topology_spec();
  OverrideSpec faster;
  faster.link_ends = {pattern_of(link.substr(0, arrow)), pattern_of(link.substr(arrow + 4))};
  faster.bandwidth_scale = 2;
  spec.overrides.push_back(faster);
  return search.run(search.job(), spec);
}

}  // namespace

Answer server_or_ring(JobSearch& search) {
  Answer answer{
      "server_or_ring",
      "",
      nullptr,
      "",
      {"same global batch; the server as the job's \"server\" block says, else one shard a machine",
       "the ring is DDP with the job's all-reduce",
       "other numbers of devices: powers of two, each with the same batch on a replica"}};
  const auto pair = server_and_ring(search);
  if (!pair) {
    answer.answer = fmt::format("Cannot be compared here: {}.", search.why());
    return answer;
  }
  const bool ring_wins = pair->ring.step_s <= pair->server.step_s;
  const JobFigures& first = ring_wins ? pair->ring : pair->server;
  const JobFigures& second = ring_wins ? pair->server : pair->ring;
  answer.value = ring_wins ? "ring" : "server";
  answer.answer = fmt::format(
      "The {} is faster: a step of {:.2f} ms against {:.2f} ms ({:.0f} against {:.0f} samples/s). "
      "The {} has more: {}.",
      ring_wins ? "ring" : "server", first.step_s * 1e3, second.step_s * 1e3, first.samples_per_s,
      second.samples_per_s, ring_wins ? "server" : "ring",
      largest_difference(second.parts, first.parts));
  answer.answer += where_count_decides(search);
  return answer;
}

Answer bandwidth_where_server_and_ring_meet(JobSearch& search) {
  const double rate = to_gigabytes_per_second(network_rate(search.topology()));
  const bool is_cluster = search.topology().node_count() > 1;
  Answer answer{
      "bandwidth_where_server_and_ring_meet",
      "",
      nullptr,
      "GB/s",
      {is_cluster
           ? "the rate of every NIC and switch port is scaled together"
           : "every link of the machine is scaled together; the rate is that of the fastest"}};
  constexpr std::array kFactors = {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0, 4.0, 16.0, 64.0};
  std::optional<double> before;
  for (const double factor : kFactors) {
    const auto now = ring_advantage(search, factor);
    if (!now) {
      answer.answer = fmt::format("Cannot be compared here: {}.", search.why());
      return answer;
    }
    if (before && (*before > 0) != (*now > 0)) {
      const double meet = meeting_point(search, factor / 4, factor, *before);
      answer.value = meet * rate;
      answer.answer = fmt::format(
          "They meet at {:.3g} GB/s ({:.2g} times what is there): below, the {} is faster, above, "
          "the {}.",
          meet * rate, meet, *before > 0 ? "ring" : "server", *now > 0 ? "ring" : "server");
      return answer;
    }
    before = now;
  }
  answer.answer = fmt::format("The {} is faster at every bandwidth from {:.3g} to {:.3g} GB/s.",
                              before.value_or(0) > 0 ? "ring" : "server", kFactors.front() * rate,
                              kFactors.back() * rate);
  return answer;
}

Answer bottleneck_link(JobSearch& search) {
  const JobFigures& base = search.base();
  Answer answer{"bottleneck_link",
                "",
                nullptr,
                "",
                {"the busiest link when communication runs alone; doubled together with all links "
                 "of its kind"}};
  if (!base.busiest_link) {
    answer.answer = "No link carries anything.";
    return answer;
  }
  const LinkUse& link = *base.busiest_link;
  answer.value = link.link;
  answer.answer =
      fmt::format("{} is busiest: {:.0f} % of the communication's time.", link.link, link.busy_pct);
  if (const auto faster = with_link_doubled(search, link.link)) {
    answer.answer += fmt::format(
        " Twice as fast, a step takes {:.2f} ms instead of {:.2f} ({:.1f} % less).",
        faster->step_s * 1e3, base.step_s * 1e3, 100 * (1 - faster->step_s / base.step_s));
  }
  return answer;
}

std::vector<StrategyRun> strategies_by_speed(JobSearch& search) {
  std::vector<StrategyRun> runs;
  for (const Strategy& strategy : all_strategies()) {
    const std::string name(strategy.name);
    const auto figures = search.run(with_strategy(search.job(), name, search.base().global_batch));
    if (figures) {
      runs.push_back({name, *figures});
    }
  }
  std::stable_sort(runs.begin(), runs.end(), [](const StrategyRun& a, const StrategyRun& b) {
    return a.figures.fits != b.figures.fits ? a.figures.fits
                                            : a.figures.samples_per_s > b.figures.samples_per_s;
  });
  return runs;
}

std::string resolve_auto(LoadedJob& loaded) {
  if (loaded.job.parallelism.strategy != "auto") {
    return "";
  }
  loaded.job.parallelism.strategy.clear();
  JobSearch search(loaded);
  const std::vector<StrategyRun> runs = strategies_by_speed(search);
  if (runs.empty()) {
    throw CannotRun("no strategy can carry this job out: " + search.why());
  }
  loaded.job = with_strategy(loaded.job, runs.front().name, search.base().global_batch);
  return fmt::format(
      "strategy: {}, {:.0f} samples/s{}", runs.front().name, runs.front().figures.samples_per_s,
      runs.size() > 1
          ? fmt::format("; next {}, {:.0f}", runs[1].name, runs[1].figures.samples_per_s)
          : "");
}

Answer fastest_strategy(JobSearch& search) {
  Answer answer{"fastest_strategy",
                "",
                nullptr,
                "",
                {"each strategy with its own defaults and the job's global batch; those that do "
                 "not fit count last",
                 launch_assumption(search.job())}};
  const std::vector<StrategyRun> runs = strategies_by_speed(search);
  if (runs.empty() || !runs.front().figures.fits) {
    answer.answer = "No strategy can train this with its defaults: nothing fits.";
    return answer;
  }
  const StrategyRun& best = runs.front();
  answer.value = best.name;
  answer.answer = fmt::format("{} is fastest: {:.0f} samples/s, a step of {:.2f} ms.", best.name,
                              best.figures.samples_per_s, best.figures.step_s * 1e3);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const StrategyRun& other = runs[i];
    answer.answer +=
        fmt::format("\n  {:<22} {:>10.1f} samples/s{}{}", other.name, other.figures.samples_per_s,
                    other.figures.fits ? "  " : "  does not fit; ",
                    largest_difference(other.figures.parts, best.figures.parts));
  }
  return answer;
}

}  // namespace twinrun::cli
