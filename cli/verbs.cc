#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/verb.h"
#include "core/base/did_you_mean.h"

namespace twinrun::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{
        "simulate", "run a job or a plan over a topology: how long, and why",
        "twinrun simulate job.json\n"
        "twinrun simulate job.json --topology dgx-a100:nodes=4 --set training.local_batch_size=64\n"
        "twinrun simulate step.json --topology dgx1-v100 --slow gpu3=1.5 --format json",
        add_simulate},
    Verb{"execute", "run a job or a plan for real: the same plan, a measured trace",
         "twinrun execute job.json --backend cpu\n"
         "twinrun execute job.json --backend cpu --steps 100 --warmup-steps 5 --out runs/e\n"
         "twinrun execute plan.json --backend cpu --timeout 10 --format json",
         add_execute},
    Verb{"compare", "two runs op by op: how far apart, and where that comes from",
         "twinrun compare runs/simulated runs/executed\n"
         "twinrun compare runs/simulated runs/executed --fail-above 10% --html difference.html",
         add_compare},
    Verb{"sweep", "simulate a job for many values of its keys: which is best",
         "twinrun sweep job.json --set training.local_batch_size=1,2,4,8,16,32\n"
         "twinrun sweep job.json --set topology.nodes=1,2,4 --set training.dtype=fp32,fp16 --out "
         "runs/s",
         add_sweep},
    Verb{"report", "one HTML page of runs and sweeps: figures, timeline, curves",
         "twinrun report runs/sim -o report.html\n"
         "twinrun report runs/sim runs/real -o comparison.html\n"
         "twinrun report runs/sweep -o sweep.html --size 10MB",
         add_report},
    Verb{"serve", "the same page on this machine's loopback, with sliders that simulate again",
         "twinrun serve runs/sim\n"
         "twinrun serve runs/sim --port 8080",
         add_serve},
    Verb{"topo", "machines and networks: the catalogue, paths, matrices, import",
         "twinrun topo list\n"
         "twinrun topo show dgx-a100\n"
         "twinrun topo paths dgx-h100:nodes=16 node0/gpu0 node9/gpu3",
         add_topo},
    Verb{"model", "layers of networks: parameters, FLOPs and activations; import",
         "twinrun model list\n"
         "twinrun model show resnet50 --batch 64\n"
         "twinrun model import --from hf config.json -o model.json",
         add_model},
    Verb{"plan", "task graphs: compile, check and describe them",
         "twinrun plan compile job.json -o plan.json\n"
         "twinrun plan validate plan.json --topology dgx-a100\n"
         "twinrun plan show plan.json",
         add_plan},
    Verb{"collective", "nccl-tests, simulated or measured: time and bandwidth by size",
         "twinrun collective all_reduce --topology dgx-a100 -b 8 -e 8G\n"
         "twinrun collective all_reduce --topology p3.2xlarge:nodes=8 -b 100MB --algorithm ps\n"
         "twinrun collective send_recv --topology dgx1-v100 --ranks cpu0,gpu0 -b 1G\n"
         "twinrun collective all_reduce --backend mpi --ranks 4 -b 8 -e 64M",
         add_collective},
    Verb{"flows", "transfers that share a network: when each ends",
         "twinrun flows transfers.csv --topology dgx-h100:nodes=16 --each\n"
         "twinrun flows list.csv --topology single-switch:hosts=64,bandwidth=12.5GB/s --window 16",
         add_flows},
    Verb{"validate", "predictions beside published measurements",
         "twinrun validate\n"
         "twinrun validate --only tf_benchmarks --summary\n"
         "twinrun validate my-measurements --format json",
         add_validate},
    Verb{"doctor", "what this machine offers, and what to do about each missing part",
         "twinrun doctor\n"
         "twinrun doctor --format json",
         add_doctor},
    Verb{"explain", "answers about a job: batch, server or ring, links, devices; or an error code",
         "twinrun explain job.json\n"
         "twinrun explain job.json --time-to-accuracy critical:steps=5000,batch=4000\n"
         "twinrun explain E0203\n"
         "twinrun explain              every code on one line",
         add_explain},
    Verb{"schema", "the JSON Schema of a file format",
         "twinrun schema topology\n"
         "twinrun schema plan > plan.schema.json",
         add_schema},
    Verb{"completion", "a completion script for your shell",
         "source <(twinrun completion bash)\n"
         "twinrun completion zsh  > ~/.zfunc/_twinrun\n"
         "twinrun completion fish > ~/.config/fish/completions/twinrun.fish",
         add_completion},
    Verb{"version", "the version, and what it was built with",
         "twinrun version\n"
         "twinrun version --format json",
         add_version},
};

}  // namespace

std::span<const Verb> all_verbs() { return kVerbs; }

Run add_verbs(CLI::App& app, std::span<const Verb> verbs) {
  app.require_subcommand(1);
  std::vector<std::pair<const CLI::App*, Run>> runs;
  for (const Verb& verb : verbs) {
    CLI::App* added = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    added->footer(std::string(verb.examples));
    runs.emplace_back(added, verb.add(*added));
  }
  return [runs = std::move(runs)](Context& context) {
    for (const auto& [verb, run] : runs) {
      if (verb->parsed()) {
        return run(context);
      }
    }
    throw std::logic_error("no verb was parsed");
  };
}

std::size_t check_word(std::string_view what,
                       const std::string& typed,
                       std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), typed);
  if (found == words.end()) {
    throw UsageError(fmt::format("\"{}\" is not a {}", typed, what),
                     did_you_mean(typed, std::vector<std::string>(words.begin(), words.end())));
  }
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace twinrun::cli
