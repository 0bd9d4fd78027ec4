#include "core/io/nccl_xml_document.h"

#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr std::size_t kLargestFile = 100'000'000;
constexpr int kDeepest = 64;
constexpr std::size_t kMostElements = 5000;  // a host has some 100, a rack of NVLink some 2000

// NCCL's own limits (its src/graph/xml.h): it refuses files beyond them, we only say so.
constexpr std::size_t kNcclElements = 256;
constexpr std::ptrdiff_t kNcclChildren = 640;
constexpr std::ptrdiff_t kNcclAttributes = 16;
constexpr std::size_t kNcclCharacters = 255;

[[noreturn]] void refuse(Diagnostics& diagnostics) {
  diagnostics.throw_if_errors();
  throw InputError(diagnostics);
}

}  // namespace

NcclXmlDocument::NcclXmlDocument(const Source& source, Diagnostics& diagnostics)
    : file_(source.name()) {
  parse(source, diagnostics);
  check_root(diagnostics);
  check_element(system(), 0, diagnostics);
  diagnostics.throw_if_errors();
}

void NcclXmlDocument::parse(const Source& source, Diagnostics& diagnostics) {
  const std::unique_ptr<ByteStream> stream = source.open();
  std::vector<char> piece(std::size_t{1} << 16);
  for (std::size_t count = stream->read(piece); count > 0; count = stream->read(piece)) {
    buffer_.append(piece.data(), count);
    if (buffer_.size() > kLargestFile) {
      diagnostics.error("E0313", {file_, "", -1, false},
                        fmt::format("{} is larger than 100 MB", file_),
                        "an NCCL topology of one host has some 100 lines: is this the right file?");
      refuse(diagnostics);
    }
  }
  const pugi::xml_parse_result result = document_.load_buffer(
      buffer_.data(), buffer_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    diagnostics.error(
        "E0310", {file_, "", result.offset, false},
        fmt::format("not well-formed XML: {}", result.description()),
        "an NCCL topology starts with <system version=\"1\"> and ends with </system>");
    refuse(diagnostics);
  }
}

void NcclXmlDocument::check_root(Diagnostics& diagnostics) const {
  const pugi::xml_node root = document_.document_element();
  const std::string_view name = root.name();
  if (name != "system") {
    diagnostics.error(
        "E0311", place(root), fmt::format("the root element is <{}>, not <system>", name),
        name == "graphs" ? "this is NCCL's graph file (rings and trees); the topology is what "
                           "NCCL_TOPO_DUMP_FILE writes"
                         : "set NCCL_TOPO_DUMP_FILE=system.xml in a run of any NCCL program");
    refuse(diagnostics);
  }
  const std::string_view version = text(root, "version");
  if (version != "1") {
    diagnostics.error("E0312", place(root),
                      version.empty() ? "<system> does not say its version"
                                      : fmt::format("version \"{}\" is not known", version),
                      "version=\"1\" is the only one that NCCL reads");
    refuse(diagnostics);
  }
}

void NcclXmlDocument::check_element(pugi::xml_node node, int depth, Diagnostics& diagnostics) {
  if (depth > kDeepest) {
    diagnostics.error("E0314", place(node),
                      fmt::format("elements are nested more than {} deep", kDeepest),
                      "real PCI trees have fewer than ten levels");
    refuse(diagnostics);
  }
  if (++elements_ > kMostElements) {
    diagnostics.error("E0313", place(node),
                      fmt::format("there are more than {} elements", kMostElements),
                      "an NCCL topology describes one host: is this the right file?");
    refuse(diagnostics);
  }
  const std::string_view name = node.name();
  has_gpu_elements_ = has_gpu_elements_ || name == "gpu";
  has_net_elements_ = has_net_elements_ || name == "net";
  const auto children = node.children();
  const auto attributes = node.attributes();
  limit(node, elements_ > kNcclElements, "256 elements in a file", diagnostics);
  limit(node, std::distance(children.begin(), children.end()) > kNcclChildren,
        "640 children of an element", diagnostics);
  limit(node, std::distance(attributes.begin(), attributes.end()) > kNcclAttributes,
        "16 attributes of an element", diagnostics);
  for (const pugi::xml_attribute& attribute : attributes) {
    limit(node, std::string_view(attribute.value()).size() > kNcclCharacters,
          "255 characters in a value", diagnostics);
  }
  for (const pugi::xml_node child : children) {
    if (child.type() == pugi::node_element) {
      check_element(child, depth + 1, diagnostics);
    }
  }
}

void NcclXmlDocument::limit(pugi::xml_node node,
                            bool exceeded,
                            std::string_view what,
                            Diagnostics& diagnostics) {
  if (exceeded && !limit_reported_) {
    limit_reported_ = true;
    diagnostics.warning("W0210", place(node),
                        fmt::format("more than {}: NCCL would refuse this file", what),
                        "it is imported all the same");
  }
}

Place NcclXmlDocument::place(pugi::xml_node node) const {
  const std::ptrdiff_t name_offset = node.offset_debug();
  return {file_, "", name_offset > 0 ? name_offset - 1 : name_offset, false};
}

std::string_view NcclXmlDocument::text(pugi::xml_node node, const char* attribute) {
  return node.attribute(attribute).value();
}

std::optional<std::int64_t> NcclXmlDocument::integer(pugi::xml_node node,
                                                     const char* attribute,
                                                     std::int64_t least,
                                                     std::int64_t most,
                                                     Diagnostics& diagnostics) const {
  const pugi::xml_attribute found = node.attribute(attribute);
  if (!found || found.value()[0] == '\0') {
    return std::nullopt;
  }
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(found.value(), &end, 0);
  if (*end != '\0' || errno != 0 || value < least || value > most) {
    diagnostics.error("E0315", place(node),
                      fmt::format("<{}> has {}=\"{}\"", node.name(), attribute, found.value()),
                      fmt::format("{} is a whole number from {} to {}", attribute, least, most));
    return std::nullopt;
  }
  return value;
}

}  // namespace twinrun
