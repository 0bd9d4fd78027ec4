#include "exec/mpi/launcher.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "exec/mpi/live_table.h"

namespace twinrun::exec {
namespace {

struct Names {
  const char* rank;
  const char* size;
  const char* local;
};
// Slurm says how many tasks the job has to its batch script too: only a step's number counts.
constexpr std::array kLaunchers = {
    Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Names{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};

// How many of them are on this host.
constexpr std::array kLocalSizes = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                    "LOCAL_WORLD_SIZE"};

int cores_to_run_on() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::optional<int> number(const char* name) {
  const std::string text = environment(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string name_of_this_process() {
  const std::int64_t process = ::getpid();
  return fmt::format("{} {} {}", process, start_of_process(process), host_name());
}

bool has_ended_here(const std::string& process) {
  std::istringstream in(process);
  std::int64_t number = 0;
  std::int64_t started = 0;
  std::string host;
  in >> number >> started >> host;
  return in && host == host_name() && start_of_process(number) != started;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

bool has_more_processes_than_cores() {
  for (const char* const name : kLocalSizes) {
    if (const std::optional<int> here = number(name)) {
      return *here > cores_to_run_on();
    }
  }
  return false;
}

std::optional<LaunchedRank> launched_rank() {
  const bool is_ours = !environment(kFolderVariable).empty();  // may be one process alone
  for (const Names& names : kLaunchers) {
    const std::optional<int> rank = number(names.rank);
    const std::optional<int> size = number(names.size);
    if (rank && size && (*size > 1 || is_ours)) {
      return LaunchedRank{*rank, *size, number(names.local).value_or(0)};
    }
  }
  return std::nullopt;
}

}  // namespace twinrun::exec
