#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "tests/core/strategy/example_jobs.h"

namespace twinrun {

inline Topology topology_of_json(const std::string& text) {
  Diagnostics diagnostics;
  const JsonDocument document =
      JsonDocument::read(Source::of_text("plain.json", text), diagnostics);
  Topology topology = build_topology(read_topology(document.root(), diagnostics), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << all_messages(diagnostics);
  return topology;
}

inline constexpr std::string_view kPlainDevices = R"("devices": {
  "unit": {"kind": "gpu", "peak": {"fp32": "1TFLOP/s", "fp16": "1TFLOP/s"}, "efficiency": 1, "memory": "80GiB"},
  "plain-cpu": {"kind": "cpu", "cores": 4, "memory_bandwidth": "1GB/s"}})";

// Devices that compute 10^12 FLOP/s with no overhead and no other limit, all joined by one switch:
// times are FLOPs in picoseconds.
inline Topology plain_devices(std::int64_t count, const std::string& more = "") {
  return topology_of_json(fmt::format(
      R"({{"name": "plain", {},
  "templates": {{"box": {{"parts": [{{"name": "gpu", "count": {}, "device": "unit"}},
                                    {{"name": "hub", "kind": "nvswitch"}}],
    "links": [{{"from": "gpu*", "to": "hub0", "kind": "nvlink", "bandwidth": "1GB/s", "latency": "0us"}}]}}}},
  "nodes": {{"box": 1}}{}}})",
      kPlainDevices, count, more));
}

// The same with a CPU of four cores, joined to each by 1 GB/s.
inline Topology devices_with_host(std::int64_t count) {
  return topology_of_json(fmt::format(
      R"({{"name": "hosted", {},
  "templates": {{"box": {{"parts": [{{"name": "gpu", "count": {}, "device": "unit"}},
                                    {{"name": "cpu", "device": "plain-cpu"}},
                                    {{"name": "hub", "kind": "nvswitch"}}],
    "links": [{{"from": "gpu*", "to": "hub0", "kind": "nvlink", "bandwidth": "1GB/s", "latency": "0us"}},
              {{"from": "gpu*", "to": "cpu0", "kind": "pcie", "bandwidth": "1GB/s", "latency": "0us"}}]}}}},
  "nodes": {{"box": 1}}}})",
      kPlainDevices, count));
}

struct BlockShape {
  std::int64_t flops = 1'000'000;  // forward; backward is twice as much
  std::int64_t parameters = 0;
  std::int64_t saved = 1000;  // elements a sample
  std::int64_t width = 100;   // elements between blocks
};

// Blocks of one product each. The very first layer does nothing, so that the gradient of the input,
// which the first layer has not, misses nowhere.
inline Model model_of_blocks(const std::vector<BlockShape>& shapes) {
  Model model{.name = "blocks", .family = "custom", .inputs = shapes.front().width};
  Layer nothing;
  nothing.name = "input";
  model.layers.push_back(nothing);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Layer layer;
    layer.name = fmt::format("fc{}", i);
    layer.kind = LayerKind::kLinear;
    layer.inputs = shapes[i].width;
    layer.outputs = shapes[i].width;
    layer.forward_flops = shapes[i].flops;
    layer.saved = shapes[i].saved;
    if (shapes[i].parameters > 0) {
      layer.parameters = {shapes[i].parameters};
    }
    const std::size_t first = i == 0 ? 0 : model.layers.size();
    model.layers.push_back(layer);
    model.blocks.push_back(
        {fmt::format("block{}", i), first, model.layers.size() - first, shapes[i].width});
  }
  return model;
}

inline Model equal_blocks(std::size_t count, const BlockShape& shape = {}) {
  return model_of_blocks(std::vector<BlockShape>(count, shape));
}

// Blocks take a microsecond: a host that needs longer to ask for them would be all that is seen.
inline Example compile_on(Job job, Model model, Topology topology, std::int64_t steps = 1) {
  job.host.forward = job.host.backward = Time{};
  Diagnostics diagnostics;
  std::optional<CompiledJob> compiled =
      compile(job, model, topology, {.steps = steps}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << all_messages(diagnostics);
  const Diagnostics complaints = validate(compiled->plan);
  EXPECT_FALSE(complaints.has_errors()) << all_messages(complaints);
  return {std::move(job), std::move(model), std::move(topology), *std::move(compiled)};
}

// A step without communication.
inline std::int64_t free_makespan_ps(const Example& example) {
  sim::SimulationOptions options;
  options.has_communication = false;
  return example.simulate(options).trace.makespan.ps;
}

// A pipeline of `stages` with micro-batches of one sample.
inline Job pipeline_job(const std::string& strategy, std::int64_t stages, std::int64_t micro) {
  Job job = example_job(strategy, micro);
  job.parallelism.pipeline_parallel_degree = stages;
  job.training.micro_batch_size = 1;
  return job;
}

}  // namespace twinrun
