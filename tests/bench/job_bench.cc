#include <chrono>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char** environ;

// What a person waits for: the program itself, from reading the job to the printed answer. Each
// figure stands beside its target; nothing fails when it is missed, as machines differ.

namespace twinrun {
namespace {

struct Target {
  double wall_s = 0;
  double peak_mib = 0;  // 0: none
};

struct ProgramRun {
  bool succeeded = false;
  double wall_s = 0;
  double cpu_s = 0;
  double peak_mib = 0;
};

double to_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Runs twinrun with its output thrown away.
ProgramRun run_program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TWINRUN_PROGRAM);
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const bool spawned =
      posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  if (!spawned || wait4(child, &status, 0, &usage) != child) {
    return {};
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, wall.count(),
          to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / 1024};
}

void measure(benchmark::State& state,
             const std::vector<std::string>& arguments,
             const Target& target) {
  for (auto _ : state) {
    const ProgramRun run = run_program(arguments);
    if (!run.succeeded) {
      state.SkipWithError("twinrun did not end with success");
      return;
    }
    state.SetIterationTime(run.wall_s);
    state.counters["wall_s"] = run.wall_s;
    state.counters["target_s"] = target.wall_s;
    state.counters["cpu_s"] = run.cpu_s;
    state.counters["peak_MiB"] = run.peak_mib;
    if (target.peak_mib > 0) {
      state.counters["target_MiB"] = target.peak_mib;
    }
  }
}

std::string job_file(const std::string& name) { return TWINRUN_JOBS "/" + name; }

// "path=1,2,3,…": as many values.
std::string axis(const std::string& path, int values) {
  std::string text = path + "=";
  for (int value = 1; value <= values; ++value) {
    text += (value > 1 ? "," : "") + std::to_string(value);
  }
  return text;
}

void resnet50_on_8_gpus(benchmark::State& state) {
  measure(state, {"simulate", job_file("resnet50-ddp-8gpu.json")}, {.wall_s = 0.05});
}

void gpt3_175b_on_1024_gpus(benchmark::State& state) {
  measure(state, {"simulate", job_file("gpt3-175b-1024.json")}, {.wall_s = 5, .peak_mib = 2048});
}

void sweep_of_1000_points(benchmark::State& state) {
  measure(state,
          {"sweep", job_file("resnet50-ddp-8gpu.json"), "--jobs", "2", "--set",
           axis("training.local_batch_size", 100), "--set", axis("ddp.bucket_cap_mb", 10)},
          {.wall_s = 30});
}

BENCHMARK(resnet50_on_8_gpus)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_175b_on_1024_gpus)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(sweep_of_1000_points)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace twinrun
