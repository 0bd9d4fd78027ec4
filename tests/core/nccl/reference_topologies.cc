#include "tests/core/nccl/reference_topologies.h"

#include <map>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

std::string machine(const std::string& parts, const std::string& links, int nodes) {
  return R"({"templates": {"m": {"parts": [)" + parts + R"(], "links": [)" + links +
         R"(]}}, "nodes": {"m": )" + std::to_string(nodes) +
         R"(}, "fabric": {"kind": "single-switch", "latency": "1us"}})";
}

std::string part(const std::string& name, int count, const std::string& device) {
  return R"({"name": ")" + name + R"(", "count": )" + std::to_string(count) + R"(, "device": ")" +
         device + R"("})";
}

std::string wire(const std::string& from,
                 const std::string& to,
                 double gbps,
                 const std::string& kind = "pcie") {
  return R"({"from": ")" + from + R"(", "to": ")" + to + R"(", "pairing": "each", "kind": ")" +
         kind + R"(", "bandwidth": ")" + std::to_string(gbps) + R"(GB/s", "latency": "1us"})";
}

const std::string kSwitch = R"(, {"name": "pcie", "count": 1, "kind": "pcie-switch"})";

std::string of_one_switch() {
  return machine(part("gpu", 4, "gtx-1080ti") + ", " + part("cpu", 1, "xeon-e5-2698v4") + kSwitch,
                 wire("gpu*", "pcie0", 12) + ", " + wire("pcie0", "cpu0", 12), 1);
}

std::string on_host_bridges(int gpus,
                            const std::string& gpu,
                            int cpus,
                            const std::string& cpu,
                            double pcie,
                            double socket) {
  std::string links = wire("gpu*", "cpu*", pcie);
  if (cpus > 1) {
    links += ", " + wire("cpu0", "cpu1", socket, "socket");
  }
  return machine(part("gpu", gpus, gpu) + ", " + part("cpu", cpus, cpu), links, 1);
}

std::string single_v100(int nodes) {
  return machine(part("gpu", 1, "v100-pcie-32gb") + ", " + part("cpu", 1, "xeon-8168") + ", " +
                     part("nic", 1, "cx4-100g") + kSwitch,
                 wire("gpu0", "pcie0", 12) + ", " + wire("nic0", "pcie0", 12) + ", " +
                     wire("pcie0", "cpu0", 12),
                 nodes);
}

// NCCL counts no latency for sockets: that is what the row was computed with.
std::string single_a10() {
  return R"({"devices": {"tcp-25g": {"kind": "nic", "rate": "25Gb/s", "latency": "0us"}}, )" +
         machine(part("gpu", 1, "a10") + ", " + part("cpu", 1, "xeon-8168") + ", " +
                     part("nic", 1, "tcp-25g"),
                 wire("gpu0", "cpu0", 24) + ", " + wire("nic0", "cpu0", 12), 4)
             .substr(1);
}

}  // namespace

Topology reference_topology(const std::string& row) {
  static const std::map<std::string, std::string> arguments = {
      {"DGX-1 P100", "dgx1-p100"},
      {"DGX-1 P100 x2", "dgx1-p100:nodes=2"},
      {"DGX-1 V100", "dgx1-v100"},
      {"DGX-1 V100 x2", "dgx1-v100:nodes=2"},
      {"DGX-1 V100 x4", "dgx1-v100:nodes=4"},
      {"DGX A100", "dgx-a100"},
      {"DGX A100 x2", "dgx-a100:nodes=2"},
      {"DGX A100 x16", "dgx-a100:nodes=16"},
      {"DGX H100", "dgx-h100"},
      {"DGX H100 x2", "dgx-h100:nodes=2"},
      {"DGX H100 x16", "dgx-h100:nodes=16"},
      {"DGX B200", "hgx-b200"},
      {"8 sm61, Broadwell", "pcie-8gpu"},
  };
  static const std::map<std::string, std::string> texts = {
      {"4 sm61, one switch", of_one_switch()},
      {"4 sm61, Skylake", on_host_bridges(4, "gtx-1080ti", 2, "xeon-8168", 12, 10)},
      {"2 RTX 4090", on_host_bridges(2, "rtx-4090", 1, "epyc-7742", 24, 16)},
      {"8 RTX 4090", on_host_bridges(8, "rtx-4090", 2, "epyc-7742", 24, 16)},
      {"V100 x2", single_v100(2)},
      {"V100 x16", single_v100(16)},
      {"A10 x4", single_a10()},
  };
  const auto found = arguments.find(row);
  return found != arguments.end() ? topology_of(found->second) : topology_of_text(texts.at(row));
}

std::vector<VertexId> gpus_of(const Topology& topology, std::size_t count) {
  std::vector<VertexId> gpus = topology.compute_devices();
  gpus.resize(std::min(count, gpus.size()));
  return gpus;
}

}  // namespace twinrun
