#include "exec/tcp/torchrun.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::exec {
namespace {

constexpr const char* kCode = "E0702";
constexpr const char* kRunId = "TORCHELASTIC_RUN_ID";
constexpr int kMostPort = 65535;
constexpr int kMostProcesses = 1'000'000;

struct Range {
  int least = 0;
  int most = 0;
};

// Reads numbers, and keeps every complaint.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::optional<int> optional(const char* name, Range range, std::string_view what) {
    const std::string text = environment_(name);
    if (text.empty()) {
      return std::nullopt;
    }
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && read == end && value >= range.least && value <= range.most) {
      return value;
    }
    complain(fmt::format("{}={}: {} is a whole number from {} to {}", name, text, what, range.least,
                         range.most),
             fmt::format("export {}={}", name, range.least));
    return std::nullopt;
  }

  int needed(const char* name, Range range, std::string_view what) {
    if (environment_(name).empty()) {
      complain_of_absence(name, what);
    }
    return optional(name, range, what).value_or(range.least);
  }

  std::string needed_text(const char* name, std::string_view what) {
    std::string text = environment_(name);
    if (text.empty()) {
      complain_of_absence(name, what);
    }
    return text;
  }

  void complain(const std::string& message, const std::string& help) {
    diagnostics_.error(kCode, {}, message, help);
  }
  [[nodiscard]] const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  void complain_of_absence(const char* name, std::string_view what) {
    complain(fmt::format("{} is not set: {}", name, what),
             "torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; by hand, "
             "set all of them, or unset RANK");
  }

  const Environment& environment_;
  Diagnostics diagnostics_;
};

// Brackets around IPv6 are for whoever writes a port behind.
std::string without_brackets(const std::string& host) {
  const bool has_them = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has_them ? host.substr(1, host.size() - 2) : host;
}

void read_place(Variables& variables, TorchrunLaunch& launch) {
  launch.host = without_brackets(
      variables.needed_text("MASTER_ADDR", "the name or address of the first process's machine"));
  const int master = variables.needed("MASTER_PORT", {1, kMostPort}, "torchrun's own port");
  const std::optional<int> own =
      variables.optional("TWINRUN_PORT", {1, kMostPort}, "the port of the first process");
  if (!own && master == kMostPort) {
    variables.complain("MASTER_PORT=65535 leaves no port behind it for the first process",
                       "export TWINRUN_PORT=29501");
  }
  launch.port = own.value_or(master + 1);
}

}  // namespace

bool is_of_torchrun(const Environment& environment) { return !environment(kRunId).empty(); }

std::optional<TorchrunLaunch> torchrun_launch(const Environment& environment) {
  const bool is_meant = !environment("RANK").empty() &&
                        (!environment("WORLD_SIZE").empty() || !environment("MASTER_ADDR").empty());
  if (!is_meant && !is_of_torchrun(environment)) {
    return std::nullopt;
  }
  Variables variables(environment);
  TorchrunLaunch out;
  out.size = variables.needed("WORLD_SIZE", {1, kMostProcesses}, "how many processes there are");
  out.rank = variables.needed("RANK", {0, kMostProcesses - 1}, "which of the processes this is");
  // One machine, or all alike: where it is not said.
  const int here = variables
                       .optional("LOCAL_WORLD_SIZE", {1, kMostProcesses},
                                 "how many of the processes this machine has")
                       .value_or(kMostProcesses);
  out.local = variables
                  .optional("LOCAL_RANK", {0, kMostProcesses - 1},
                            "which of the processes of this machine this is")
                  .value_or(out.rank % here);
  read_place(variables, out);
  if (!variables.diagnostics().has_errors() && out.rank >= out.size) {
    variables.complain(
        fmt::format("RANK={}: there are {} processes, counted from 0", out.rank, out.size),
        fmt::format("export RANK={}, or WORLD_SIZE={}", out.size - 1, out.rank + 1));
  }
  variables.diagnostics().throw_if_errors();
  const std::string id = environment(kRunId);
  out.run = id.empty() ? "" : id + " " + environment("TORCHELASTIC_RESTART_COUNT");
  return out;
}

}  // namespace twinrun::exec
