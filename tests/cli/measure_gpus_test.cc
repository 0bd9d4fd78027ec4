#include "cli/measure_gpus.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/calibrate/gpu_topology.h"
#include "core/io/save_topology.h"
#include "core/topology/build_topology.h"
#include "sim/simulate.h"
#include "tests/core/topology/topologies_for_tests.h"

// A machine with GPUs whose numbers are known is simulated in the place of a real one: what is
// measured on it must be what was put in, whatever was guessed before.

namespace twinrun::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kSetUp = 4;     // us of a product
constexpr double kRate = 80e12;  // FLOP/s beyond it
constexpr double kStreaming = 1.2e12;
constexpr double kWire = 90;  // GB/s of NVLink, a microsecond and a half
constexpr double kBus = 21;   // GB/s of PCIe

double product_us(double m, double n, double k) { return kSetUp + 2 * m * n * k / kRate * 1e6; }

ProductGrid known_products(const std::string& pass, Dtype format) {
  const std::vector<std::uint32_t> widths = {128, 1024};
  ProductGrid grid{pass, format, widths, widths, widths, {}, 0};
  for (const double m : widths) {
    for (const double n : widths) {
      for (const double k : widths) {
        grid.us.push_back(product_us(m, n, k) / (format == Dtype::kFp32 ? 1 : 2));
      }
    }
  }
  return grid;
}

DeviceSpec known_gpu() {
  DeviceSpec gpu;
  gpu.name = "known";
  gpu.sm = 80;
  for (const char* const pass : {"forward", "input", "weight", ""}) {
    gpu.products.push_back(known_products(pass, Dtype::kFp32));
    gpu.products.push_back(known_products(pass, Dtype::kBf16));
  }
  gpu.streaming = {{"", 1024, {kStreaming}}};
  return gpu;
}

LinkSpec link_between(const std::string& from, const std::string& to, LinkKind kind, double rate) {
  LinkSpec link;
  link.from = {from};
  link.to = {to};
  link.kind = kind;
  link.bandwidth = gigabytes_per_second(rate);
  link.latency = microseconds(1.5);
  return link;
}

TopologySpec known_machine(int gpus) {
  TopologySpec spec;
  spec.name = "known";
  spec.source = "made up";
  spec.devices = {known_gpu()};
  DeviceSpec host;
  host.name = "host";
  host.kind = VertexKind::kCpu;
  spec.devices.push_back(host);
  TemplateSpec box;
  box.name = "box";
  PartSpec part;
  part.name = "gpu";
  part.count = gpus;
  part.device = "known";
  box.parts.push_back(part);
  PartSpec cpu;
  cpu.name = "cpu";
  cpu.kind = VertexKind::kCpu;
  cpu.device = "host";
  box.parts.push_back(cpu);
  box.links.push_back(link_between("gpu*", "cpu0", LinkKind::kPcie, kBus));
  if (gpus > 1) {
    box.links.push_back(link_between("gpu*", "gpu*", LinkKind::kNvlink, kWire));
  }
  spec.templates.push_back(box);
  NodesSpec nodes;
  nodes.template_name = "box";
  spec.nodes.push_back(nodes);
  return spec;
}

// What somebody who has not measured might think of it.
TopologySpec guessed_machine(int gpus) {
  TopologySpec spec = known_machine(gpus);
  spec.devices.front().products.clear();
  spec.devices.front().streaming.clear();
  for (LinkSpec& link : spec.templates.front().links) {
    link.bandwidth.bytes_per_s *= link.kind == LinkKind::kPcie ? 0.5 : 3;
    link.latency.ps /= 4;
    link.source = "guessed";
  }
  return spec;
}

MeasuredGpus measured(int gpus) {
  Diagnostics diagnostics;
  const Topology machine = build_topology(known_machine(gpus), diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  GpusToMeasure what = little_of_gpus();
  what.count = gpus;
  what.formats = {Dtype::kFp32, Dtype::kBf16};
  what.source = "measured today";
  return measure_gpus([&](const Plan& plan) { return sim::simulate(plan, machine).trace; },
                      guessed_machine(gpus), what);
}

TEST(MeasuredGpus, TellTheirProductsInEveryFormat) {
  const MeasuredGpus found = measured(1);
  const DeviceSpec& device = found.topology.devices.front();
  EXPECT_EQ(device.name, "known-measured");
  EXPECT_THAT(device.source, HasSubstr("measured today"));
  ASSERT_EQ(device.products.size(), 6U);
  for (const ProductGrid& grid : device.products) {
    const ProductGrid known = known_products(grid.pass, grid.dtype);
    EXPECT_EQ(grid.m, known.m);
    ASSERT_EQ(grid.us.size(), known.us.size());
    for (std::size_t i = 0; i < grid.us.size(); ++i) {
      EXPECT_NEAR(grid.us[i], known.us[i], 0.001) << grid.pass << " " << name_of(grid.dtype);
    }
  }
  EXPECT_NEAR(best_product_rate(found.compute, Dtype::kBf16),
              2 * 2 * 1024.0 * 1024 * 1024 / (product_us(1024, 1024, 1024) * 1e-6), 1e10);
  for (const StreamingPoint& point : device.streaming) {
    EXPECT_NEAR(point.rate.bytes_per_s, kStreaming, 0.001 * kStreaming) << point.kind;
  }
}

TEST(MeasuredGpus, TellTheirLinks) {
  const MeasuredGpus found = measured(2);
  const TemplateSpec& box = found.topology.templates.front();
  ASSERT_EQ(box.links.size(), 2U);
  EXPECT_NEAR(box.links[0].bandwidth.bytes_per_s * 1e-9, kBus, 0.01 * kBus);
  EXPECT_NEAR(box.links[1].bandwidth.bytes_per_s * 1e-9, kWire, 0.01 * kWire);
  for (const LinkSpec& link : box.links) {
    EXPECT_NEAR(to_microseconds(link.latency), 1.5, 0.02);
    EXPECT_EQ(link.source, "measured today");
  }
  EXPECT_GT(found.fit.held_out_before.median_pct, 30);
  EXPECT_LT(found.fit.held_out_after.worst_pct, 2);
  EXPECT_EQ(found.slowdown, 1);
  EXPECT_THAT(found.not_determined, IsEmpty());
}

TEST(MeasuredGpus, OfOneSayWhatItCannotTell) {
  const MeasuredGpus found = measured(1);
  EXPECT_EQ(found.slowdown, 0);
  EXPECT_THAT(found.not_determined, Contains(HasSubstr("there is one GPU")));
  const LinkSpec& bus = found.topology.templates.front().links.front();
  EXPECT_NEAR(bus.bandwidth.bytes_per_s * 1e-9, kBus, 0.01 * kBus);
  EXPECT_NEAR(to_microseconds(bus.latency), 1.5, 0.02);
}

TEST(MeasuredGpus, ReadBackAsTheyWereWritten) {
  const std::string text = save_topology(measured(2).topology);
  Diagnostics diagnostics;
  EXPECT_EQ(save_topology(spec_of_text(text, diagnostics)), text);
  EXPECT_EQ(complaints(diagnostics), "");
}

}  // namespace
}  // namespace twinrun::cli
