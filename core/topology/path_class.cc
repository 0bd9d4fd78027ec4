#include "core/topology/path_class.h"

namespace twinrun {
namespace {

// What a walk along the links has seen; NCCL's rules (cuda-nccl-cpu 3.1).
class Walk {
 public:
  void vertex(VertexKind kind) {
    pcie_switches_ += kind == VertexKind::kPcieSwitch ? 1 : 0;
    cpu_ = cpu_ || kind == VertexKind::kCpu;
  }
  void link(LinkKind kind) {
    ++links_;
    network_ = network_ || kind == LinkKind::kNetwork;
    socket_ = socket_ || kind == LinkKind::kSocket;
    nvlinks_ += kind == LinkKind::kNvlink ? 1 : 0;
    c2c_ = c2c_ || kind == LinkKind::kC2c;
    pcie_ = pcie_ || kind == LinkKind::kPcie;
  }
  [[nodiscard]] PathClass result() const {
    if (links_ == 0) {
      return PathClass::kLoc;
    }
    if (network_) {
      return PathClass::kNet;
    }
    if (socket_) {
      return PathClass::kSys;
    }
    if (nvlinks_ == links_) {
      return PathClass::kNvl;
    }
    if (c2c_ && !pcie_) {
      return PathClass::kC2c;
    }
    if (cpu_) {
      return PathClass::kPhb;
    }
    return pcie_switches_ > 1 ? PathClass::kPxb : PathClass::kPix;
  }

 private:
  int links_ = 0;
  int nvlinks_ = 0;
  int pcie_switches_ = 0;
  bool network_ = false;
  bool socket_ = false;
  bool c2c_ = false;
  bool pcie_ = false;
  bool cpu_ = false;
};

}  // namespace

PathClass classify(const Topology& topology, std::span<const LinkId> links) {
  Walk walk;
  for (const LinkId link : links) {
    walk.link(topology.link_kind(link));
    walk.vertex(topology.kind(topology.to(link)));
  }
  if (!links.empty()) {
    walk.vertex(topology.kind(topology.from(links.front())));
  }
  return walk.result();
}

PathClass classify(const NodeShape& shape, std::span<const std::uint32_t> links) {
  Walk walk;
  for (const std::uint32_t link : links) {
    walk.link(shape.links[link].kind);
    walk.vertex(shape.vertices[shape.links[link].to].kind);
  }
  if (!links.empty()) {
    walk.vertex(shape.vertices[shape.links[links.front()].from].kind);
  }
  return walk.result();
}

}  // namespace twinrun
