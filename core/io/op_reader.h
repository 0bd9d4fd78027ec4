#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/hash_index.h"
#include "core/base/ids.h"
#include "core/io/field_reader.h"
#include "core/io/json_document.h"
#include "core/plan/plan_builder.h"

namespace twinrun {

// Turns the entries of "ops", one after the other, into ops of a builder. Ids named in "after" may
// come later in the file; devices and groups may be declared after the ops.
class OpReader {
 public:
  OpReader(std::string file, PlanBuilder& builder, Diagnostics& diagnostics);

  // Always adds one op, so that numbers stay those of the file: a broken one becomes a marker.
  void read(JsonValue value);
  // Looks up the ids that were not known yet; complains about those that never came (E0412).
  void resolve();

  [[nodiscard]] bool all_readable() const { return broken_ == 0; }

  // For the lists of devices and groups beside the ops.
  DeviceId device(std::string_view name, const Place& place);
  // Where each device and group was met first; no pointer when only a broken op named it.
  const std::vector<Place>& device_places() const { return device_places_; }
  const std::vector<Place>& group_places() const { return group_places_; }

 private:
  struct Pending {
    OpId op;
    std::uint32_t position;  // in the op's "after"
    std::size_t text_begin;  // in pending_text_
    std::size_t text_size;
    std::size_t edge;
  };

  OpId add(std::string_view id, OpKind kind);
  OpId add_compute(std::string_view id, StreamId stream);
  OpId add_message(std::string_view id, StreamId stream, OpKind kind);
  OpId add_collective(std::string_view id, StreamId stream);
  std::optional<Kernel> read_kernel(JsonValue value);
  void read_common(OpId op);
  void read_after(OpId op);
  void read_memory_effect(OpId op, JsonValue value);
  std::optional<Bytes> read_effect_bytes();
  OpId add_broken();
  void remember_id(OpId op);
  [[nodiscard]] std::optional<OpId> find_op(std::string_view id) const;
  DeviceId device_of(std::size_t key);
  GroupId group_of(std::size_t key);
  [[nodiscard]] std::string near_id(std::string_view typed) const;

  std::string file_;
  PlanBuilder& builder_;
  Diagnostics& diagnostics_;
  FieldReader fields_;
  FieldReader kernel_fields_;
  FieldReader memory_fields_;
  HashIndex known_ids_;
  std::vector<Pending> pending_;
  std::string pending_text_;
  std::vector<Place> device_places_;
  std::vector<Place> group_places_;
  std::size_t broken_ = 0;
};

}  // namespace twinrun
