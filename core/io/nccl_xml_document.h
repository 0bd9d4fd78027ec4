#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "core/base/diagnostics.h"
#include "core/io/source.h"

namespace twinrun {

// The text and its tree: well formed, a "system" of version 1, not too large and not too deep, so
// that a recursive walk over it is safe. Only nccl_xml_*.cc see pugixml.
class NcclXmlDocument {
 public:
  // Complains (E0310 to E0314) and throws InputError, or warns about NCCL's own limits (W0210).
  NcclXmlDocument(const Source& source, Diagnostics& diagnostics);

  [[nodiscard]] pugi::xml_node system() const { return document_.child("system"); }
  [[nodiscard]] bool has_gpu_elements() const { return has_gpu_elements_; }
  [[nodiscard]] bool has_net_elements() const { return has_net_elements_; }
  [[nodiscard]] Place place(pugi::xml_node node) const;

  [[nodiscard]] static std::string_view text(pugi::xml_node node, const char* attribute);
  // Decimal or 0x…; nothing when absent, nothing and E0315 when not a whole number in the range.
  std::optional<std::int64_t> integer(pugi::xml_node node,
                                      const char* attribute,
                                      std::int64_t least,
                                      std::int64_t most,
                                      Diagnostics& diagnostics) const;

 private:
  void parse(const Source& source, Diagnostics& diagnostics);
  void check_root(Diagnostics& diagnostics) const;
  void check_element(pugi::xml_node node, int depth, Diagnostics& diagnostics);
  void limit(pugi::xml_node node, bool exceeded, std::string_view what, Diagnostics& diagnostics);

  std::string file_;
  std::string buffer_;
  pugi::xml_document document_;
  std::size_t elements_ = 0;
  bool has_gpu_elements_ = false;
  bool has_net_elements_ = false;
  bool limit_reported_ = false;
};

}  // namespace twinrun
