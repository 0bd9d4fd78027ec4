#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/topology/kinds.h"

namespace twinrun {

// A topology as a person writes it: a dozen lines that build_topology() expands into a graph of up
// to millions of links. Each entry remembers its place, so that a mistake found during expansion is
// reported where it was written.

// A point of a device's own efficiency curve: the share of its peak that ops of so many FLOPs
// reach. Between points the share is linear in the logarithm of FLOPs, outside of them level.
struct EfficiencyPoint {
  std::string kind;            // of a plan's kernel: gemm, forward, …; "" for any
  std::optional<Dtype> dtype;  // none: any
  double flops = 0;            // 0 when one share holds for all
  double fraction = 1;
  bool operator==(const EfficiencyPoint&) const = default;
};

// A GEMM (m × k) · (k × n) whose time on the device is known; it wins over any model.
struct MeasuredKernel {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  Dtype dtype = Dtype::kFp32;
  Time time{};  // with its launch
  bool operator==(const MeasuredKernel&) const = default;
};

// Times of products (m × k) · (k × n) over a grid of shapes, for shapes between and near them; what
// calibrate measures. Between points, the time of a multiplication is a power of each dimension;
// outside of them it is that at the edge.
struct ProductGrid {
  std::string pass;  // forward, input or weight (gradients); "" for any product
  Dtype dtype = Dtype::kFp32;
  std::vector<std::uint32_t> m;  // ascending
  std::vector<std::uint32_t> n;
  std::vector<std::uint32_t> k;
  std::vector<double> us;  // by m, then n, then k; with the launch
  double spread_pct = 0;
  bool operator==(const ProductGrid&) const = default;
};
inline constexpr std::array<std::string_view, 3> kProductPassWords = {"forward", "input", "weight"};

// How fast an op that is no product passes over so many bytes. Between points the rate is a power
// of the bytes, outside of them level.
struct StreamingPoint {
  std::string kind;  // forward, backward, update; copy for ops without a kernel; "" for any
  double bytes = 0;
  Bandwidth rate{};
  bool operator==(const StreamingPoint&) const = default;
};
inline constexpr std::array<std::string_view, 4> kStreamingKindWords = {"forward", "backward",
                                                                        "update", "copy"};

// What a kind of device can do; shared by all vertices that name it.
struct DeviceSpec {
  std::string name;  // "a100-sxm4-40gb"
  VertexKind kind = VertexKind::kGpu;
  int sm = 0;          // GPU: compute capability times ten, 80 for A100; 0 unknown
  std::string vendor;  // CPU: intel, amd, arm, power: decides NCCL's P2P and latency rules
  int cpu_model = 0;   // CPU: model number as the operating system reports it
  int cores = 0;
  std::array<FlopRate, kDtypeNames.size()> peak{};  // dense; 0 where the device lacks the format
  Bytes memory{};
  Bandwidth memory_bandwidth{};
  Time launch_overhead{};
  std::vector<EfficiencyPoint> efficiency;  // empty: core/compute's own curves
  std::vector<MeasuredKernel> kernels;
  std::vector<ProductGrid> products;
  std::vector<StreamingPoint> streaming;
  std::string leave_out;  // a published table that core/compute's curves shall not know of
  Bandwidth rate{};       // NIC: one port, one direction
  Time latency{};         // NIC: added to every message that passes it
  bool in_order = true;   // NIC: bytes of a message arrive in order; else NCCL uses only Simple
  bool is_tcp = false;    // NIC: messages go over TCP, copied by the host
  double price_per_hour = 0;
  double watts = 0;
  double spread_pct = 0;  // of what was measured: the middle half, over the median
  std::string source;
  Place place;
  bool operator==(const DeviceSpec& other) const { return name == other.name; }
};

// Some vertices of a node ("gpu" × 8 of device a100), or a smaller template inside it.
struct PartSpec {
  std::string name;  // "gpu" gives gpu0, gpu1, …
  std::int64_t count = 1;
  VertexKind kind = VertexKind::kGpu;
  std::string device;         // "" for parts that only forward (switches)
  std::string template_name;  // set: a nested template; an empty name continues the outer numbering
  std::vector<std::string> ids;  // provenance: bus ids or guids, one a vertex, when imported
  Place place;
};

enum class Pairing : std::uint8_t {
  kAll,   // every "from" with every "to" (each pair once)
  kEach,  // in order: from[i] with to[i·m/n], so 8 GPUs to 4 switches pair up two by two
};

enum class Duplex : std::uint8_t {
  kFull,     // two directions, each with the whole bandwidth
  kHalf,     // two directions that share it: a memory bus
  kSimplex,  // only from → to
};

struct LinkSpec {
  std::vector<std::string> from;  // patterns: gpu3, gpu*, gpu[0-3], gpu[0,2,5]
  std::vector<std::string> to;
  LinkKind kind = LinkKind::kPcie;
  Bandwidth bandwidth{};  // of one lane or bonded link, as reached in practice
  Bandwidth line_rate{};  // of the same, on paper; 0 unknown
  Time latency{};
  std::int64_t count = 1;  // bonded: capacity is count × bandwidth
  Pairing pairing = Pairing::kAll;
  Duplex duplex = Duplex::kFull;
  double spread_pct = 0;  // of what was measured
  std::string source;
  Place place;
};

// A change to some instances only. Which fields count follows from which target is set.
struct OverrideSpec {
  std::vector<std::string> vertices;  // patterns such as node3/gpu5, node*/gpu0
  std::string device;                 // those vertices become this device
  double compute_scale = 1;           // 0.8: a GPU that runs at 80 %
  double memory_bandwidth_scale = 1;

  std::vector<std::string> link_ends;  // two patterns
  double bandwidth_scale = 1;
  std::optional<Bandwidth> bandwidth;
  std::optional<Time> latency;
  bool failed = false;

  std::vector<std::string> p2p_pair;  // two patterns
  bool p2p_allowed = true;

  Place place;
};

struct TemplateSpec {
  std::string name;
  std::vector<PartSpec> parts;
  std::vector<LinkSpec> links;
  // GPUs (and GPU and NIC) whose path is at most this far talk directly; farther ones through host
  // memory. NCCL's default is PXB. kLoc means never.
  PathClass p2p = PathClass::kPxb;
  PathClass gpu_direct = PathClass::kPxb;
  double price_per_hour = 0;
  double watts = 0;
  std::string source;
  Place place;
};

// So many machines of one template.
struct NodesSpec {
  std::string template_name;
  std::int64_t count = 1;
  std::string name = "node";
  std::string role;                  // "worker", "server"; free text for strategies
  std::optional<std::int64_t> gpus;  // keep only the first so many
  std::optional<std::int64_t> nics;  // keep the first so many, or add more like them
  std::optional<Bandwidth> nic_rate;
  std::optional<std::int64_t> devices;  // of the template "cpu": so many CPU devices
  Place place;
};

enum class RoutingRule : std::uint8_t {
  kEcmp,   // among equally short ways by a hash of the flow
  kDModK,  // by digits of the destination, as in fat-trees with static tables
};
inline constexpr std::array<std::string_view, 2> kRoutingRuleWords = {"ecmp", "d-mod-k"};

// How nodes are joined. Fields a kind does not use must stay unset; the generators say which they
// use.
struct FabricSpec {
  std::string kind;                           // a row of the table in fabric.cc
  std::optional<Bandwidth> bandwidth;         // node to switch; default: the NIC's rate
  std::optional<Bandwidth> uplink_bandwidth;  // switch to switch; default: the same
  Time latency = microseconds(1);             // a link
  double oversubscription = 1;                // capacity down / capacity up at the leaves
  std::optional<std::int64_t> nodes_per_leaf;
  std::optional<std::int64_t> spines;
  std::optional<std::int64_t> ports;   // fat-tree: of one switch
  std::optional<std::int64_t> levels;  // fat-tree: of switches
  std::vector<std::int64_t> dims;      // torus
  RoutingRule routing = RoutingRule::kEcmp;
  std::string source;
  Place place;
};

enum class CoreSharing : std::uint8_t {
  kMachine,  // the named devices of each machine share so many cores
  kAll,      // all that are named share them, whatever machine they stand for: hosts on one machine
};
inline constexpr std::array<std::string_view, 2> kCoreSharingWords = {"machine", "all"};

enum class MovedBy : std::uint8_t {
  kReceiver,  // reads the sender's memory: threads of one process
  kBoth,      // each end hands bytes to, or takes them from, a network stack
};
inline constexpr std::array<std::string_view, 2> kMovedByWords = {"receiver", "both"};

// How much longer compute takes when the devices beside each other hold so much memory that caches
// and memory are not one's own any more.
struct FootprintPoint {
  Bytes bytes{};                   // of all devices together
  double product_ps_per_byte = 0;  // of a product's operands
  double pass_ps_per_byte = 0;     // of ops that only pass over their bytes
  bool operator==(const FootprintPoint&) const = default;
};

// Cores that CPU devices share max-min fairly, by what computes and by what moves bytes.
struct CoresSpec {
  std::vector<std::string> vertices;  // patterns
  double count = 1;
  CoreSharing sharing = CoreSharing::kMachine;
  Bandwidth moves{};  // what one core moves when it does nothing else
  MovedBy moved_by = MovedBy::kReceiver;
  Time wake{};  // from the end of an op to the start of one in another stream that slept for it
  std::vector<FootprintPoint> footprint;  // what compute takes when the caches do not hold all
  double spread_pct = 0;
  std::string source;
  Place place;
};

struct TopologySpec {
  std::string name;
  std::string description;
  std::string source;
  std::vector<DeviceSpec> devices;
  std::vector<TemplateSpec> templates;
  std::vector<NodesSpec> nodes;
  std::vector<PartSpec> switches;  // of an explicit fabric
  std::vector<LinkSpec> links;     // between nodes and switches, by full names
  std::optional<FabricSpec> fabric;
  std::vector<OverrideSpec> overrides;
  std::vector<CoresSpec> cores;
  Place place;
};

}  // namespace twinrun
