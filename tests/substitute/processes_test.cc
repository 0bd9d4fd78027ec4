// Communicators over processes: rank_process.cc is one rank.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/substitute/fixture.h"

namespace {

std::string new_id() {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return static_cast<const char*>(id.internal);
}

pid_t start_rank(const std::string& scenario, const std::string& id, int ranks, int rank) {
  std::string program = TWINRUN_RANK_PROCESS;
  std::string name = scenario;
  std::string name_of_id = id;
  std::string all = std::to_string(ranks);
  std::string own = std::to_string(rank);
  char* arguments[] = {program.data(), name.data(), name_of_id.data(),
                       all.data(),     own.data(),  nullptr};
  pid_t process = 0;
  EXPECT_EQ(posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  return process;
}

int status_of(pid_t process) {
  int status = -1;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return status;
}

std::vector<std::string> shared_memory_of(const std::string& id) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (("/" + entry.path().filename().string()).starts_with(id)) {
      found.push_back(entry.path());
    }
  }
  return found;
}

struct Run {
  const char* scenario;
  int ranks;
  int killed;  // the rank that a signal ends; -1 for none
};

class Processes : public testing::TestWithParam<Run> {};

TEST_P(Processes, WorkTogether) {
  const auto [scenario, ranks, killed] = GetParam();
  const std::string id = new_id();
  std::vector<pid_t> processes;
  processes.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(start_rank(scenario, id, ranks, rank));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const int status = status_of(processes[static_cast<std::size_t>(rank)]);
    if (rank == killed) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    } else {
      EXPECT_EQ(status, 0) << scenario << ", rank " << rank;
    }
  }
  EXPECT_THAT(shared_memory_of(id), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All,
                         Processes,
                         testing::Values(Run{"sums", 2, -1},
                                         Run{"sums", 4, -1},
                                         Run{"halves", 4, -1},
                                         Run{"times", 2, -1},
                                         Run{"times", 4, -1},
                                         Run{"disagreement", 2, -1},
                                         Run{"disagreement", 4, -1},
                                         Run{"death", 2, 1},
                                         Run{"death", 4, 3},
                                         Run{"same_device", 2, -1}),
                         [](const auto& run) {
                           return std::string(run.param.scenario) + "_" +
                                  std::to_string(run.param.ranks);
                         });

// Whoever is killed before all have come leaves a name behind; the next unique id sweeps it away.
// The id's maker must be dead too, so a process makes the id here.
TEST(Processes, StaleNamesAreRemoved) {
  const pid_t maker = start_rank("abandoned", "/", 1, 0);  // ends at once: "/" is no name
  EXPECT_NE(status_of(maker), 0);
  const std::string id = "/twinrun-nccl-" + std::to_string(maker) + "-0123456789abcdef";
  const pid_t process = start_rank("abandoned", id, 2, 0);
  while (shared_memory_of(id).empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(process, SIGKILL);
  status_of(process);
  EXPECT_EQ(shared_memory_of(id).size(), 1U);
  new_id();
  EXPECT_THAT(shared_memory_of(id), testing::IsEmpty());
}

}  // namespace
