#pragma once

#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/io/topology_argument.h"
#include "core/topology/build_topology.h"
#include "core/topology/router.h"

namespace twinrun {

// Time this process has worked, which a busy machine does not stretch; sanitizers are allowed for.
class WorkTimer {
 public:
  [[nodiscard]] double seconds() const {
#ifdef __SANITIZE_ADDRESS__
    constexpr double kSlowdown = 8;
#else
    constexpr double kSlowdown = 1;
#endif
    return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC / kSlowdown;
  }

 private:
  std::clock_t start_ = std::clock();
};

// All complaints, one a line: "E0304 /links/0: message".
inline std::string complaints(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& one : diagnostics.all()) {
    out += one.code + " " + one.place.pointer + ": " + one.message + "\n";
  }
  return out;
}

// What `twinrun topo show ARGUMENT` would build; must be free of complaints.
inline Topology topology_of(const std::string& argument) {
  Diagnostics diagnostics;
  Topology topology = build_topology(read_topology_argument(argument, diagnostics), diagnostics);
  EXPECT_EQ(complaints(diagnostics), "") << argument;
  return topology;
}

inline TopologySpec spec_of_text(const std::string& text, Diagnostics& diagnostics) {
  const JsonDocument document = JsonDocument::read(Source::of_text("t.json", text), diagnostics);
  return read_topology(document.root(), diagnostics);
}

inline Topology topology_of_text(const std::string& text) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec_of_text(text, diagnostics), diagnostics);
  EXPECT_EQ(complaints(diagnostics), "") << text;
  return topology;
}

inline std::string complaints_about(const std::string& text) {
  Diagnostics diagnostics;
  build_topology(spec_of_text(text, diagnostics), diagnostics);
  return complaints(diagnostics);
}

inline VertexId at(const Topology& topology, const std::string& name) {
  const auto found = topology.find(name);
  EXPECT_TRUE(found) << name;
  return found.value_or(VertexId{});
}

// "gpu0 pcie0 cpu0": the vertices a route passes.
inline std::string way(const Topology& topology, const Route& route) {
  if (route.links.empty()) {
    return "";
  }
  std::string out = topology.name(topology.from(route.links.front()));
  for (const LinkId link : route.links) {
    out += " " + topology.name(topology.to(link));
  }
  return out;
}

inline std::string way(const Topology& topology,
                       const std::string& from,
                       const std::string& to,
                       std::uint64_t flow = 0) {
  Router router(topology);
  const auto route = router.route(at(topology, from), at(topology, to), flow);
  return route ? way(topology, *route) : "no way";
}

}  // namespace twinrun
