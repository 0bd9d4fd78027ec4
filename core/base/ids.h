#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace twinrun {

// Strong 32-bit indices into columns. An enum class costs nothing, and a LinkId cannot be handed to
// a function that wants a VertexId.
enum class VertexId : std::uint32_t {};  // a device, switch or memory of a topology
enum class LinkId : std::uint32_t {};    // one direction of a wire
enum class NodeId : std::uint32_t {};    // a machine: one instance of a node template
enum class OpId : std::uint32_t {};      // an operation of a plan
enum class DeviceId : std::uint32_t {};  // a device of a plan
enum class StreamId : std::uint32_t {};  // a FIFO queue on a device of a plan
enum class GroupId : std::uint32_t {};   // an ordered set of devices that communicate

template <class Id>
constexpr Id no_id() {
  return static_cast<Id>(std::numeric_limits<std::uint32_t>::max());
}

template <class Id>
constexpr std::size_t index_of(Id id) {
  return static_cast<std::size_t>(id);
}

template <class Id>
constexpr Id id_at(std::size_t index) {
  return static_cast<Id>(static_cast<std::uint32_t>(index));
}

}  // namespace twinrun
