#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/property_map/property_map.hpp>

namespace twinrun {

// Our link columns as Boost.Graph sees them: vertices and edges are plain indices into arrays we
// own, so nothing is copied into adjacency lists. Models IncidenceGraph, VertexListGraph and
// EdgeListGraph.
struct LinkGraph {
  std::span<const std::uint32_t> offsets;  // vertices + 1; into out
  std::span<const std::uint32_t> out;      // edge indices, by source
  std::span<const std::uint32_t> from;     // by edge
  std::span<const std::uint32_t> to;
  std::span<const std::uint32_t> reverse_edge;  // of flow networks; may be empty

  using vertex_descriptor = std::uint32_t;
  using edge_descriptor = std::uint32_t;
  using vertices_size_type = std::uint32_t;
  using edges_size_type = std::uint32_t;
  using degree_size_type = std::uint32_t;
  using directed_category = boost::directed_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  // NOLINTNEXTLINE(readability-identifier-naming): the name Boost.Graph looks for
  struct traversal_category : boost::incidence_graph_tag,
                              boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag {};
  using out_edge_iterator = std::span<const std::uint32_t>::iterator;
  using vertex_iterator = boost::counting_iterator<std::uint32_t>;
  using edge_iterator = boost::counting_iterator<std::uint32_t>;

  static vertex_descriptor null_vertex() { return 0xFFFFFFFF; }
};

inline std::uint32_t source(std::uint32_t edge, const LinkGraph& g) { return g.from[edge]; }
inline std::uint32_t target(std::uint32_t edge, const LinkGraph& g) { return g.to[edge]; }
inline std::uint32_t num_vertices(const LinkGraph& g) {
  return static_cast<std::uint32_t>(g.offsets.size() - 1);
}
inline std::uint32_t num_edges(const LinkGraph& g) {
  return static_cast<std::uint32_t>(g.to.size());
}
inline std::uint32_t out_degree(std::uint32_t v, const LinkGraph& g) {
  return g.offsets[v + 1] - g.offsets[v];
}
inline auto out_edges(std::uint32_t v, const LinkGraph& g) {
  const auto edges = g.out.subspan(g.offsets[v], g.offsets[v + 1] - g.offsets[v]);
  return std::pair(edges.begin(), edges.end());
}
inline auto vertices(const LinkGraph& g) {
  return std::pair(boost::counting_iterator<std::uint32_t>(0),
                   boost::counting_iterator<std::uint32_t>(num_vertices(g)));
}
inline auto edges(const LinkGraph& g) {
  return std::pair(boost::counting_iterator<std::uint32_t>(0),
                   boost::counting_iterator<std::uint32_t>(num_edges(g)));
}

using IndexMap = boost::typed_identity_property_map<std::uint32_t>;
inline IndexMap get(boost::vertex_index_t /*tag*/, const LinkGraph& /*g*/) { return {}; }
inline IndexMap get(boost::edge_index_t /*tag*/, const LinkGraph& /*g*/) { return {}; }
inline std::uint32_t get(boost::vertex_index_t /*tag*/, const LinkGraph& /*g*/, std::uint32_t v) {
  return v;
}

}  // namespace twinrun

namespace boost {
template <>
struct property_map<twinrun::LinkGraph, vertex_index_t> {
  using type = twinrun::IndexMap;
  using const_type = twinrun::IndexMap;
};
template <>
struct property_map<twinrun::LinkGraph, edge_index_t> {
  using type = twinrun::IndexMap;
  using const_type = twinrun::IndexMap;
};
}  // namespace boost
