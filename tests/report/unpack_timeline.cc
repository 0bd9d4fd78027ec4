#include "tests/report/unpack_timeline.h"

#include <cmath>
#include <string_view>

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') {
      break;
    }
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return bytes;
}

class Numbers {
 public:
  explicit Numbers(const Json& sequence) : bytes_(from_base64(sequence.get<std::string>())) {}
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }
  std::int64_t next() {
    std::int64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= static_cast<std::int64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
  }
  std::int64_t next_signed() {
    const std::int64_t doubled = next();
    return doubled % 2 == 0 ? doubled / 2 : -(doubled + 1) / 2;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

std::string id_of(const Json& label, std::int64_t micro, const Json& step, const Json& row) {
  auto name = label[0].get<std::string>();
  if (label[5] == 1) {
    name.replace(name.find("/mb#"), 4, "/mb" + std::to_string(micro));
  }
  if (name.ends_with('@')) {
    name.pop_back();
    name += row["owner"].get<std::string>();
  }
  return step.is_null() ? name : "step" + std::to_string(step.get<std::int64_t>()) + "/" + name;
}

std::vector<bool> path_of(const Json& timeline, int number) {
  std::vector<bool> on_path;
  if (number < 0) {
    return on_path;
  }
  Numbers runs(timeline["sequences"][static_cast<std::size_t>(number)]);
  for (bool inside = false; !runs.done(); inside = !inside) {
    on_path.insert(on_path.end(), static_cast<std::size_t>(runs.next()), inside);
  }
  return on_path;
}

}  // namespace

std::map<std::string, UnpackedOp> unpack_timeline(const Json& timeline) {
  std::map<std::string, UnpackedOp> out;
  for (const Json& row : timeline["rows"]) {
    for (const Json& chunk : row["chunks"]) {
      Numbers labels(timeline["sequences"][chunk[2].get<std::size_t>()]);
      Numbers times(timeline["sequences"][chunk[3].get<std::size_t>()]);
      const std::vector<bool> on_path = path_of(timeline, chunk[4].get<int>());
      const std::int64_t start = std::llround(chunk[1].get<double>());
      std::int64_t label = -1;
      std::int64_t micro = 0;
      std::int64_t end = 0;
      for (std::size_t op = 0; !times.done(); ++op) {
        label += labels.next_signed() + 1;
        const Json& what = timeline["labels"][static_cast<std::size_t>(label)];
        if (what[5] == 1) {
          micro += labels.next_signed();
        }
        const std::int64_t begin = end + times.next_signed();
        end = begin + times.next();
        const std::int64_t wait = times.next();
        out[id_of(what, micro, chunk[0], row)] = {
            wait, start + begin, start + end, !on_path.empty() && on_path[op],
            timeline["categories"][what[1].get<std::size_t>()].get<std::string>()};
      }
    }
  }
  return out;
}

}  // namespace twinrun::report
