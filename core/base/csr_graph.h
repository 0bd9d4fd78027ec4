#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/graph/graph_traits.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>

#include "core/base/csr.h"
#include "core/base/ids.h"

namespace twinrun {

// A Csr seen as a Boost graph (VertexListGraph and IncidenceGraph) without copying it. Vertices are
// row numbers. The Csr must outlive the view.
//
//   boost::topological_sort(CsrGraph(plan_edges), out, boost::vertex_index_map(index_map(graph)));
template <class Id>
class CsrGraph {
 public:
  explicit CsrGraph(const Csr<Id, Id>& rows) : rows_(&rows) {}
  [[nodiscard]] const Csr<Id, Id>& rows() const { return *rows_; }

 private:
  const Csr<Id, Id>* rows_;
};

struct CsrEdge {
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  bool operator==(const CsrEdge&) const = default;
};

template <class Id>
class CsrOutEdgeIterator
    : public boost::
          iterator_facade<CsrOutEdgeIterator<Id>, CsrEdge, boost::forward_traversal_tag, CsrEdge> {
 public:
  CsrOutEdgeIterator() = default;
  CsrOutEdgeIterator(std::uint32_t source, const Id* target) : source_(source), target_(target) {}

 private:
  friend class boost::iterator_core_access;
  [[nodiscard]] CsrEdge dereference() const {
    return {source_, static_cast<std::uint32_t>(*target_)};
  }
  [[nodiscard]] bool equal(const CsrOutEdgeIterator& other) const {
    return target_ == other.target_;
  }
  void increment() { ++target_; }

  std::uint32_t source_ = 0;
  const Id* target_ = nullptr;
};

struct CsrGraphCategory : boost::vertex_list_graph_tag, boost::incidence_graph_tag {};

// Found by argument-dependent lookup from inside Boost.Graph; the names are its own.
template <class Id>
auto vertices(const CsrGraph<Id>& graph) {
  return std::pair(
      boost::counting_iterator<std::uint32_t>(0),
      boost::counting_iterator<std::uint32_t>(static_cast<std::uint32_t>(graph.rows().rows())));
}

template <class Id>
std::size_t num_vertices(const CsrGraph<Id>& graph) {
  return graph.rows().rows();
}

template <class Id>
auto out_edges(std::uint32_t vertex, const CsrGraph<Id>& graph) {
  const auto targets = graph.rows()[id_at<Id>(vertex)];
  return std::pair(CsrOutEdgeIterator<Id>(vertex, targets.data()),
                   CsrOutEdgeIterator<Id>(vertex, targets.data() + targets.size()));
}

template <class Id>
std::size_t out_degree(std::uint32_t vertex, const CsrGraph<Id>& graph) {
  return graph.rows()[id_at<Id>(vertex)].size();
}

template <class Id>
std::uint32_t source(CsrEdge edge, const CsrGraph<Id>& /*graph*/) {
  return edge.source;
}

template <class Id>
std::uint32_t target(CsrEdge edge, const CsrGraph<Id>& /*graph*/) {
  return edge.target;
}

// Vertices are their own numbers.
template <class Id>
boost::typed_identity_property_map<std::uint32_t> index_map(const CsrGraph<Id>& /*graph*/) {
  return {};
}

}  // namespace twinrun

namespace boost {

template <class Id>
struct graph_traits<twinrun::CsrGraph<Id>> {
  using vertex_descriptor = std::uint32_t;
  using edge_descriptor = twinrun::CsrEdge;
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  using traversal_category = twinrun::CsrGraphCategory;
  using vertex_iterator = counting_iterator<std::uint32_t>;
  using out_edge_iterator = twinrun::CsrOutEdgeIterator<Id>;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return 0xFFFFFFFF; }
};

}  // namespace boost
