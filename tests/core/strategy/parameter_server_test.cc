#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/trace/breakdown.h"
#include "core/trace/staleness.h"
#include "core/trace/worker_pace.h"
#include "tests/core/strategy/example_jobs.h"

namespace twinrun {
namespace {

using ::testing::HasSubstr;

constexpr double kRate = 1.25e9;   // bytes a second of a port
constexpr double kLatency = 2e-6;  // of a way: host to switch, switch to host
constexpr double kResNet = 25'557'032.0 * 4;

std::string hosts(std::size_t count) {
  return fmt::format("single-switch:hosts={},bandwidth=1.25GB/s,latency=1us", count);
}

Job server_job(ServerSite placement, std::optional<std::int64_t> count, bool colocated = true) {
  Job job = example_job("parameter_server", 4);
  job.server.given = true;
  job.server.placement = placement;
  job.server.count = count;
  job.server.colocated = colocated;
  return job;
}

double seconds_with_free_compute(const Example& example) {
  sim::SimulationOptions options;
  options.compute_scale = 0;
  return to_seconds(example.simulate(options).trace.makespan);
}

std::size_t ops_named(const Plan& plan, std::string_view begin, std::string_view end) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    count += id.starts_with(begin) && id.ends_with(end) ? 1U : 0U;
  }
  return count;
}

// Both directions of what joins a vertex to the fabric.
double bytes_through(const Example& example, const std::string& vertex) {
  const sim::Simulation run = example.simulate();
  double sum = 0;
  for (const LinkUse& link : run.trace.links) {
    const bool is_its =
        link.link.starts_with(vertex + " -> ") || link.link.ends_with(" -> " + vertex);
    sum += is_its ? link.bytes : 0;
  }
  return sum;
}

// ---- the textbook: 2 N K on the server's port, ring 2 (N − 1) K / N

TEST(ParameterServer, ADedicatedServerMovesTwiceNKOverItsPortAndTakesThatLong) {
  for (const std::size_t workers : {2U, 4U, 8U}) {
    const auto n = static_cast<double>(workers);
    const Example example =
        compile_example(server_job(ServerSite::kHosts, 1, false), "resnet50", hosts(workers + 1));
    EXPECT_EQ(example.compiled.layout.ranks(), workers);
    EXPECT_DOUBLE_EQ(bytes_through(example, fmt::format("node{}/cpu0", workers)), 2 * n * kResNet);
    const auto groups = static_cast<double>(ops_named(example.plan(), "step0/push/", "@rank0"));
    // Of messages in a row only the first waits for the wire.
    const double seconds = seconds_with_free_compute(example);
    EXPECT_GE(seconds, 2 * (n * kResNet / kRate + kLatency)) << workers;
    EXPECT_LE(seconds, 2 * (n * kResNet / kRate + groups * kLatency)) << workers;
  }
}

TEST(ParameterServer, AServerThatIsAWorkerMovesTwiceNMinusOneK) {
  for (const std::size_t workers : {2U, 4U, 8U}) {
    const auto others = static_cast<double>(workers) - 1;
    const Example example =
        compile_example(server_job(ServerSite::kCpu, 1), "resnet50", hosts(workers));
    EXPECT_DOUBLE_EQ(bytes_through(example, "node0/cpu0"), 2 * others * kResNet);
    const auto groups = static_cast<double>(ops_named(example.plan(), "step0/push/", "@rank1"));
    const double seconds = seconds_with_free_compute(example);
    EXPECT_GE(seconds, 2 * (others * kResNet / kRate + kLatency)) << workers;
    EXPECT_LE(seconds, 2 * (others * kResNet / kRate + groups * kLatency)) << workers;
  }
}

// Weights are pulled when the gradients pushed last are in: steps do not run into each other.
TEST(ParameterServer, TwoStepsTakeTwiceAsLong) {
  const Job job = server_job(ServerSite::kHosts, 1, false);
  const double one = seconds_with_free_compute(compile_example(job, "resnet50", hosts(5)));
  const double two = seconds_with_free_compute(compile_example(job, "resnet50", hosts(5), 2));
  EXPECT_NEAR(two, 2 * one, 1e-9);
}

// The ring's latencies and its uneven chunks are a few tenths of a per cent of these messages.
TEST(ParameterServer, TheRingIsNTimesFasterThanACentralServer) {
  constexpr std::size_t kWorkers = 8;
  Job ring = example_job("ddp", 4);
  ring.parallelism.all_reduce_algorithm = "ring";
  ring.ddp.broadcast_buffers = false;
  const double time = seconds_with_free_compute(compile_example(ring, "resnet50", hosts(kWorkers)));
  EXPECT_NEAR(time / (2.0 * 7 / 8 * kResNet / kRate), 1, 0.01);
  const double server = seconds_with_free_compute(
      compile_example(server_job(ServerSite::kCpu, 1), "resnet50", hosts(kWorkers)));
  EXPECT_NEAR(server / time, 8, 0.1);
}

// The largest share is at most a whole tensor (4 MB) above the mean.
TEST(ParameterServer, ShardingOverServersDividesTheTimeByTheirNumber) {
  constexpr double kWorkers = 8;
  for (const std::int64_t servers : {2, 4}) {
    const Example example = compile_example(
        server_job(ServerSite::kHosts, servers, false), "resnet50",
        hosts(static_cast<std::size_t>(kWorkers) + static_cast<std::size_t>(servers)));
    EXPECT_EQ(example.compiled.layout.ranks(), 8U);
    const double share = kResNet / static_cast<double>(servers);
    const double time = seconds_with_free_compute(example);
    EXPECT_GE(time, 2 * kWorkers * share / kRate);
    EXPECT_LE(time, 2 * kWorkers * (share + 4e6) / kRate + 2 * 100 * kLatency);
  }
}

TEST(ParameterServer, ShardsOnAllWorkersAreAsFastAsTheRing) {
  constexpr double kWorkers = 8;
  const Example example = compile_example(server_job(ServerSite::kHosts, {}), "vgg16", hosts(8));
  constexpr double kVgg = 138'357'544.0 * 4;
  const double ring = 2 * (kWorkers - 1) / kWorkers * kVgg / kRate;
  EXPECT_NEAR(seconds_with_free_compute(example) / ring, 1, 0.05);
}

// ---- overlap

TEST(ParameterServer, StepLiesBetweenTheLongerAndTheSumOfBoth) {
  const Example example =
      compile_example(server_job(ServerSite::kHosts, 1, false), "resnet50", hosts(5), 3);
  const double step = to_seconds(example.simulate().trace.makespan);
  sim::SimulationOptions options;
  options.has_communication = false;
  const double compute = to_seconds(example.simulate(options).trace.makespan);
  const double communication = seconds_with_free_compute(example);
  EXPECT_GE(step, std::max(compute, communication));
  EXPECT_LE(step, compute + communication + 1e-9);
}

TEST(ParameterServer, WithoutOverlapAStepIsNoShorter) {
  Job job = server_job(ServerSite::kCpu, 1);
  const Example beside = compile_example(job, "resnet50", "pcie-8gpu", 2);
  job.parallelism.overlap = false;
  const Example after = compile_example(job, "resnet50", "pcie-8gpu", 2);
  EXPECT_GT(after.simulate().trace.makespan, beside.simulate().trace.makespan);
}

// ---- sums over the plan

TEST(ParameterServer, BytesAndFlopsAreThoseOfTheModel) {
  const Example example = compile_example(server_job(ServerSite::kCpu, 3), "resnet50", "dgx1-v100");
  double sent = 0;
  double summed = 0;
  double updated = 0;
  const Plan& plan = example.plan();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const bool is_sum = plan.id(op).find("/sum/") != std::string_view::npos;
    const bool is_update = plan.id(op).find("/update/") != std::string_view::npos;
    sent += plan.kind(op) == OpKind::kSend ? static_cast<double>(plan.message(op).bytes.count) : 0;
    summed += is_sum ? static_cast<double>(plan.compute(op).bytes.count) : 0;
    updated += is_update ? plan.compute(op).flops : 0;
  }
  EXPECT_DOUBLE_EQ(sent, 2 * 8 * kResNet);
  EXPECT_DOUBLE_EQ(summed, 8 * 3 * kResNet);
  EXPECT_DOUBLE_EQ(updated, 2 * 25'557'032.0);  // SGD: two operations an element, once
  const double forward = 2.0 * 4'089'184'256;
  const double stem = 2.0 * 118'013'952;
  EXPECT_DOUBLE_EQ(total_flops(plan), (3 * forward - stem) * 4 * 8);
}

// ---- tied weights: GPT-2's head is its table of 50,257 words times 768

constexpr std::int64_t kGpt2 = 124'439'808;
constexpr std::int64_t kTable = 50'257 * 768;

struct ServerSums {
  double update_flops = 0;
  double update_bytes = 0;
  double pushed_bytes = 0;
  double pulled_bytes = 0;
};

ServerSums sums_of(const Plan& plan) {
  ServerSums out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const bool is_update = plan.id(op).starts_with("step0/update/");
    const bool is_push = plan.id(op).starts_with("step0/push/");
    const bool is_pull = plan.id(op).starts_with("step0/pull/");
    out.update_flops += is_update ? plan.compute(op).flops : 0;
    out.update_bytes += is_update ? static_cast<double>(plan.compute(op).bytes.count) : 0;
    out.pushed_bytes += is_push ? static_cast<double>(plan.message(op).bytes.count) : 0;
    out.pulled_bytes += is_pull ? static_cast<double>(plan.message(op).bytes.count) : 0;
  }
  return out;
}

std::int64_t parameters_held(const Example& example, std::string_view device) {
  const sim::Simulation run = example.simulate();
  for (std::size_t i = 0; i < example.plan().device_count(); ++i) {
    if (example.plan().device_name(id_at<DeviceId>(i)) == device) {
      return run.memory[i].parts[static_cast<std::size_t>(MemoryPart::kParameters)].count;
    }
  }
  return -1;
}

// SGD: two operations, and gradient, weight read and weight written of four bytes.
TEST(ParameterServer, TiedWeightsAreOneTensor) {
  const ServerSums sums =
      sums_of(compile_example(server_job(ServerSite::kCpu, 1), "gpt2", "dgx1-v100").plan());
  EXPECT_DOUBLE_EQ(sums.update_flops, 2.0 * kGpt2);
  EXPECT_DOUBLE_EQ(sums.update_bytes, 12.0 * kGpt2);
  EXPECT_DOUBLE_EQ(sums.pushed_bytes, 8 * 4.0 * kGpt2);
  EXPECT_DOUBLE_EQ(sums.pulled_bytes, 8 * 4.0 * kGpt2);
}

// Two pipelines of four stages: the first and the last stage both push a gradient of the table and
// pull it; there is one on the servers, updated once.
TEST(ParameterServer, WeightsTiedOverStagesAreUpdatedOnceFromBothGradients) {
  for (const std::int64_t servers : {1, 3}) {
    Job job = server_job(ServerSite::kCpu, servers);
    job.parallelism.strategy = "1f1b";
    job.parallelism.pipeline_parallel_degree = 4;
    job.training.local_batch_size = 4;
    const Example example = compile_example(job, "gpt2", "dgx1-v100");
    const ServerSums sums = sums_of(example.plan());
    EXPECT_DOUBLE_EQ(sums.update_flops, 2.0 * kGpt2) << servers;
    EXPECT_DOUBLE_EQ(sums.update_bytes, 12.0 * kGpt2) << servers;
    EXPECT_DOUBLE_EQ(sums.pushed_bytes, 2 * 4.0 * (kGpt2 + kTable)) << servers;
    EXPECT_DOUBLE_EQ(sums.pulled_bytes, 2 * 4.0 * (kGpt2 + kTable)) << servers;
    if (servers == 1) {
      EXPECT_EQ(parameters_held(example, "cpu0"), 4 * kGpt2);
    }
  }
}

// Each of the two pipelines' gradients makes an update of its own.
TEST(ParameterServer, AsynchronousPipelinesUpdateTiedWeightsOnceEach) {
  for (const ServerMode mode : {ServerMode::kAsync, ServerMode::kBounded}) {
    Job job = server_job(ServerSite::kCpu, 2);
    job.parallelism.strategy = "1f1b";
    job.parallelism.pipeline_parallel_degree = 4;
    job.parallelism.tensor_parallel_degree = 1;
    job.training.local_batch_size = 4;
    job.server.mode = mode;
    const Example example = compile_example(job, "gpt2", "dgx1-v100", 3);
    EXPECT_DOUBLE_EQ(sums_of(example.plan()).update_flops, 2 * 2.0 * kGpt2);
    EXPECT_GT(example.simulate().trace.makespan, Time{});
  }
}

TEST(ParameterServer, OnlyServersHoldOptimizerState) {
  Job job = server_job(ServerSite::kCpu, 1);
  job.training.optimizer = Optimizer::kAdam;
  const Example example = compile_example(job, "resnet50", "dgx1-v100");
  const sim::Simulation run = example.simulate();
  const auto part = [&](std::string_view device, MemoryPart which) {
    for (std::size_t i = 0; i < example.plan().device_count(); ++i) {
      if (example.plan().device_name(id_at<DeviceId>(i)) == device) {
        return run.memory[i].parts[static_cast<std::size_t>(which)].count;
      }
    }
    return std::int64_t{-1};
  };
  constexpr std::int64_t kCount = 25'557'032;
  EXPECT_EQ(part("gpu0", MemoryPart::kOptimizer), 0);
  EXPECT_EQ(part("gpu0", MemoryPart::kParameters), 4 * kCount);
  EXPECT_EQ(part("cpu0", MemoryPart::kOptimizer), 8 * kCount);
  EXPECT_EQ(part("cpu0", MemoryPart::kParameters), 4 * kCount);
  EXPECT_EQ(part("cpu0", MemoryPart::kGradients), 4 * kCount);
}

TEST(ParameterServer, AServerOnGpu0CostsItsGpu) {
  const Example on_gpu =
      compile_example(server_job(ServerSite::kGpu0, {}), "resnet50", "dgx1-v100");
  EXPECT_EQ(on_gpu.plan().device_count(), 8U);  // no CPU takes part
  EXPECT_GT(ops_named(on_gpu.plan(), "step0/update/server0-", "@server0"), 0U);
  EXPECT_EQ(ops_named(on_gpu.plan(), "step0/push/", "@rank0"), 0U);  // its own gradients are there
}

// ---- async, bounded

Example straggling_example(ServerMode mode, std::int64_t staleness = 3) {
  Job job = server_job(ServerSite::kCpu, 1);
  job.training.local_batch_size = 64;
  job.server.mode = mode;
  job.server.staleness = staleness;
  return compile_example(job, "resnet50", "dgx1-v100", 10);
}

sim::Simulation run_with_straggler(const Example& example) {
  sim::SimulationOptions options;
  options.slowdown = {{"gpu5", 3.0}};
  return example.simulate(options);
}

TEST(ParameterServer, AsynchronousWorkersDoNotWaitForAStraggler) {
  const Example sync = straggling_example(ServerMode::kSync);
  const Example async = straggling_example(ServerMode::kAsync);
  const double together = worker_pace(sync.plan(), run_with_straggler(sync).trace, 1).sum;
  const double alone =
      worker_pace(async.plan(), run_with_straggler(async).trace, async.compiled.warmup_steps).sum;
  // Sync: eight at a third of the speed. Async: seven at up to full speed and one at a third.
  EXPECT_GT(alone / together, 1.5);
  EXPECT_LT(alone / together, (7 + 1.0 / 3) / (8.0 / 3) + 0.01);
}

TEST(ParameterServer, StalenessOfNEqualWorkersIsNMinusOne) {
  for (const std::size_t workers : {2U, 5U, 8U}) {
    Job job = server_job(ServerSite::kHosts, 1, false);
    job.server.mode = ServerMode::kAsync;
    const Example example = compile_example(job, "resnet50", hosts(workers + 1), 6);
    const Staleness staleness =
        server_staleness(example.plan(), example.simulate().trace, example.compiled.warmup_steps);
    EXPECT_NEAR(staleness.mean, static_cast<double>(workers) - 1, 0.01) << workers;
  }
}

// While a worker that is k times slower makes a step, each of N − 1 others makes k; only the
// network is shared, and it is free here.
TEST(ParameterServer, AWorkerKTimesSlowerIsKTimesAsStale) {
  constexpr std::int64_t kOthers = 7;
  const Example example = straggling_example(ServerMode::kAsync);
  for (const std::int64_t factor : {2, 3}) {
    sim::SimulationOptions options;
    options.has_communication = false;
    options.slowdown = {{"gpu5", static_cast<double>(factor)}};
    const Staleness staleness = server_staleness(example.plan(), example.simulate(options).trace,
                                                 example.compiled.warmup_steps);
    EXPECT_NEAR(static_cast<double>(staleness.max), static_cast<double>(factor * kOthers), 1)
        << factor;
  }
}

// At the pull of step t the others' steps up to t − bound − 1 are in, and none begins a step after
// t + bound before this one's is: at most 2 · bound + 1 updates of each come between.
TEST(ParameterServer, BoundedStalenessNeverExceedsItsBound) {
  for (const std::int64_t bound : {0, 1, 3}) {
    const Example example = straggling_example(ServerMode::kBounded, bound);
    const Staleness staleness = server_staleness(example.plan(), run_with_straggler(example).trace);
    EXPECT_FALSE(staleness.histogram.empty());
    EXPECT_LE(staleness.max, (2 * bound + 1) * 7) << bound;
  }
}

// Seven at full speed and one at 1/k make 7 + 1/k steps in the time of one: a step of eight takes
// 8 / (7 + 1/k) of it, where synchronous workers take k.
TEST(ParameterServer, AStepOfIndependentWorkersIsWhatTheyMakeTogether) {
  const Example example = straggling_example(ServerMode::kAsync);
  sim::SimulationOptions options;
  options.has_communication = false;
  const std::int64_t warmup_steps = example.compiled.warmup_steps;
  const Breakdown equal = breakdown(example.plan(), example.simulate(options).trace, warmup_steps);
  options.slowdown = {{"gpu5", 3.0}};
  const Breakdown parts = breakdown(example.plan(), example.simulate(options).trace, warmup_steps);
  EXPECT_NEAR(to_seconds(parts.step) / to_seconds(equal.step), 8 / (7 + 1.0 / 3), 0.001);
  const Time sum = parts.compute + parts.recompute + parts.exposed_communication + parts.bubble +
                   parts.imbalance + parts.input_wait + parts.server_wait + parts.update +
                   parts.host + parts.idle;
  EXPECT_EQ(sum, parts.step);
  // They wait for nobody: but for the server's update between two steps it is all compute.
  EXPECT_GT(to_seconds(parts.compute) / to_seconds(parts.step), 0.9);
}

TEST(ParameterServer, SynchronousWorkersHaveNoStaleness) {
  const Example example = straggling_example(ServerMode::kSync);
  EXPECT_EQ(server_staleness(example.plan(), example.simulate().trace), Staleness{});
}

// Steps that the slowest worker had completed when another began one.
std::int64_t largest_lead(const Example& example, const Trace& trace) {
  const std::size_t ranks = example.compiled.layout.ranks();
  const auto steps = static_cast<std::size_t>(example.compiled.steps);
  std::vector<std::vector<Time>> begun(ranks, std::vector<Time>(steps, trace.makespan));
  std::vector<std::vector<Time>> ended(ranks, std::vector<Time>(steps));
  for (std::size_t i = 0; i < example.plan().size(); ++i) {
    const std::string id(example.plan().id(id_at<OpId>(i)));
    const bool is_forward = id.find("/forward/") != std::string::npos;
    const bool is_backward = id.find("/backward/") != std::string::npos;
    if (!is_forward && !is_backward) {
      continue;
    }
    const std::size_t step = std::stoul(id.substr(4));
    const std::size_t rank = std::stoul(id.substr(id.rfind('k') + 1));
    begun[rank][step] = std::min(begun[rank][step], trace.ops[i].start);
    ended[rank][step] = std::max(ended[rank][step], trace.ops[i].end);
  }
  std::int64_t lead = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::size_t other = 0; other < ranks; ++other) {
        const auto done = std::count_if(ended[other].begin(), ended[other].end(),
                                        [&](Time end) { return end <= begun[rank][step]; });
        lead = std::max(lead, static_cast<std::int64_t>(step) - static_cast<std::int64_t>(done));
      }
    }
  }
  return lead;
}

TEST(ParameterServer, BoundedWorkersAreNeverFurtherAheadThanTheirBound) {
  for (const std::int64_t bound : {0, 1, 3}) {
    const Example example = straggling_example(ServerMode::kBounded, bound);
    EXPECT_EQ(largest_lead(example, run_with_straggler(example).trace), bound);
  }
  const Example free = straggling_example(ServerMode::kAsync);
  EXPECT_GT(largest_lead(free, run_with_straggler(free).trace), 3);
}

TEST(ParameterServer, AsynchronousJobsRunTenStepsUnlessToldOtherwise) {
  Job job = server_job(ServerSite::kCpu, 1);
  job.server.mode = ServerMode::kAsync;
  const Example example = compile_example(job, "alexnet", "dgx1-v100", 0);
  EXPECT_EQ(example.compiled.steps, 10);
  EXPECT_EQ(example.compiled.warmup_steps, 2);
}

// ---- two levels

// d2l-cluster: four workers of four GPUs, two servers. Each machine's port carries K out and K in,
// where sixteen ranks of a flat layout would carry four times as much.
TEST(HierarchicalPs, AMachineSendsItsGradientsOnce) {
  Job job = example_job("hierarchical_ps", 4);
  const Example two_levels = compile_example(job, "resnet50", "d2l-cluster");
  EXPECT_DOUBLE_EQ(bytes_through(two_levels, "node0/nic0") / 2, 2 * kResNet);
  job.parallelism.strategy = "parameter_server";
  const Example flat = compile_example(job, "resnet50", "d2l-cluster");
  EXPECT_DOUBLE_EQ(bytes_through(flat, "node0/nic0") / 2, 4 * 2 * kResNet);
  EXPECT_LT(two_levels.simulate().trace.makespan, flat.simulate().trace.makespan);
}

// 16 ranks are summed in four machines, then four machines on the servers.
TEST(HierarchicalPs, SumsAreInMachinesFirst) {
  const Example example =
      compile_example(example_job("hierarchical_ps", 4), "resnet50", "d2l-cluster");
  double in_machines = 0;
  double on_servers = 0;
  const Plan& plan = example.plan();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::string_view id = plan.id(op);
    if (id.find("/sum/") != std::string_view::npos) {
      const bool on_server = id.find("@server") != std::string_view::npos;
      (on_server ? on_servers : in_machines) += static_cast<double>(plan.compute(op).bytes.count);
    }
  }
  EXPECT_DOUBLE_EQ(in_machines, 16 * 3 * kResNet);
  EXPECT_DOUBLE_EQ(on_servers, 4 * 3 * kResNet);
}

TEST(HierarchicalPs, AMachineSplitsItsBlockOfTheBatchOverItsGpus) {
  Job job = example_job("hierarchical_ps", 4);
  const Example example = compile_example(job, "resnet50", "d2l-cluster", 2);
  const Plan& plan = example.plan();
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const bool is_share = plan.id(op).find("/input/split") != std::string_view::npos;
    bytes += is_share && plan.kind(op) == OpKind::kRecv ? plan.message(op).bytes.count : 0;
  }
  EXPECT_EQ(bytes, 2 * 16 * 4 * 4 * 3 * 224 * 224);
  job.input.given = true;  // then the input pipeline brings it
  EXPECT_EQ(
      ops_named(compile_example(job, "resnet50", "d2l-cluster").plan(), "step0/input/split", ""),
      0U);
}

// ---- many shapes, and what cannot be

TEST(ParameterServer, PlansOfManyShapesAreValid) {
  for (const std::string strategy : {"parameter_server", "hierarchical_ps"}) {
    for (const std::string topology :
         {"dgx1-v100", "d2l-cluster", "pcie-8gpu:nodes=2", "cpu:devices=3",
          "single-switch:hosts=3,bandwidth=1.25GB/s,latency=1us"}) {
      for (const ServerSite site : {ServerSite::kGpu0, ServerSite::kCpu, ServerSite::kHosts}) {
        for (const std::int64_t count : {1, 3}) {
          for (const ServerMode mode :
               {ServerMode::kSync, ServerMode::kAsync, ServerMode::kBounded}) {
            Job job = server_job(site, count);
            job.parallelism.strategy = strategy;
            job.server.mode = mode;
            job.training.dtype = count == 1 ? Dtype::kFp32 : Dtype::kFp16;
            SCOPED_TRACE(fmt::format("{} on {}, site {}, {} servers, mode {}", strategy, topology,
                                     static_cast<int>(site), count, static_cast<int>(mode)));
            const Example example = compile_example(job, "alexnet", topology, 3);
            EXPECT_GT(example.simulate().trace.makespan, Time{});
          }
        }
      }
    }
  }
}

TEST(ParameterServer, TensorParallelWorkersHaveServersToo) {
  Job job = server_job(ServerSite::kCpu, 2);
  job.parallelism.tensor_parallel_degree = 2;
  const Example example = compile_example(job, "gpt2", "dgx1-v100", 2);
  EXPECT_EQ(example.compiled.layout.replicas, 4);
  EXPECT_GT(ops_named(example.plan(), "step1/update/server1-group0-s0t1", "@server1"), 0U);
  EXPECT_GT(example.simulate().trace.makespan, Time{});
}

// Two pipelines of four stages: every stage exchanges its own part with the servers.
TEST(ParameterServer, ReplicasOfAPipelineUseServersWhereTheJobHasThem) {
  Job job = server_job(ServerSite::kCpu, 2);
  for (const std::string strategy : {"gpipe", "1f1b", "interleaved_1f1b", "layer_model_parallel"}) {
    job.parallelism.strategy = strategy;
    job.parallelism.pipeline_parallel_degree = 4;
    job.training.local_batch_size = 16;
    SCOPED_TRACE(strategy);
    const Example example = compile_example(job, "resnet50", "dgx1-v100", 2);
    double pushed = 0;
    for (std::size_t i = 0; i < example.plan().size(); ++i) {
      const auto op = id_at<OpId>(i);
      const bool is_push = example.plan().id(op).starts_with("step0/push/");
      pushed += is_push ? static_cast<double>(example.plan().message(op).bytes.count) : 0;
      EXPECT_NE(example.plan().kind(op), OpKind::kCollective);
    }
    EXPECT_DOUBLE_EQ(pushed, 2 * kResNet);
    EXPECT_GT(example.simulate().trace.makespan, Time{});
  }
}

TEST(ParameterServer, AServerBlockWithoutEffectIsWarnedAbout) {
  Job job = server_job(ServerSite::kCpu, 1);
  job.parallelism.strategy = "ddp";
  Diagnostics diagnostics;
  compile(job, *catalogue_model("alexnet", 0), example_topology("dgx1-v100"), {}, diagnostics);
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("W0701 /server: ddp has no servers"));
}

// ---- the textbook's models: compute over communication, on the same topology and batch

TEST(Textbook, InceptionComputesMostForWhatItCommunicatesAndAlexNetLeast) {
  std::vector<double> ratios;
  for (const std::string model : {"inception-v3", "resnet50", "alexnet"}) {
    const Example example = compile_example(example_job("ddp", 32), model, "pcie-8gpu");
    sim::SimulationOptions options;
    options.has_communication = false;
    const double t1 = to_seconds(example.simulate(options).trace.makespan);
    ratios.push_back(t1 / seconds_with_free_compute(example));
  }
  EXPECT_GT(ratios[0], ratios[1]);
  EXPECT_GT(ratios[1], ratios[2]);
}

TEST(ParameterServer, NoMachineLeftForAServerNamesWhatWouldDo) {
  const std::string said =
      complaints_about(server_job(ServerSite::kHosts, 1, false), "resnet50", "dgx1-v100");
  EXPECT_THAT(said, HasSubstr("E0920 /server/placement"));
  EXPECT_THAT(said, HasSubstr("\"colocated\": true"));
  Job job = server_job(ServerSite::kHosts, 1, false);
  job.mapping.ranks = "node0/cpu0,node1/cpu0,node2/cpu0";
  EXPECT_THAT(complaints_about(job, "resnet50", hosts(3)), HasSubstr("E0920"));
  EXPECT_THAT(complaints_about(server_job(ServerSite::kCpu, 0), "resnet50", "dgx1-v100"),
              HasSubstr("E0921 /server/count"));
}

}  // namespace
}  // namespace twinrun
