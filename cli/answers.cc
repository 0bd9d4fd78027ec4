#include "cli/answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

constexpr std::array kQuestions = {
    batch_where_t1_equals_t2,
    server_or_ring,
    bandwidth_where_server_and_ring_meet,
    devices_where_scaling_stops,
    bottleneck_link,
    fastest_strategy,
    fits_memory,
};

struct NamedPart {
  const char* name;
  Time Breakdown::*part;
};
constexpr std::array<NamedPart, 10> kParts = {{
    {"compute", &Breakdown::compute},
    {"recompute", &Breakdown::recompute},
    {"exposed communication", &Breakdown::exposed_communication},
    {"pipeline bubble", &Breakdown::bubble},
    {"imbalance", &Breakdown::imbalance},
    {"waiting for input", &Breakdown::input_wait},
    {"waiting for servers", &Breakdown::server_wait},
    {"update", &Breakdown::update},
    {"host", &Breakdown::host},
    {"idle", &Breakdown::idle},
}};

}  // namespace

std::vector<Answer> all_answers(JobSearch& search) {
  std::vector<Answer> answers;
  answers.reserve(kQuestions.size());
  for (const auto question : kQuestions) {
    answers.push_back(question(search));
  }
  return answers;
}

std::string largest_difference(const Breakdown& a, const Breakdown& b) {
  const NamedPart* largest = kParts.data();
  for (const NamedPart& part : kParts) {
    const auto gap = [&](const NamedPart& one) { return std::abs((a.*one.part - b.*one.part).ps); };
    if (gap(part) > gap(*largest)) {
      largest = &part;
    }
  }
  return fmt::format("{}, {} against {}", largest->name, to_text(a.*largest->part),
                     to_text(b.*largest->part));
}

}  // namespace twinrun::cli
