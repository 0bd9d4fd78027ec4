#include "cli/machine_parts.h"

#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/build_info.h"
#include "cli/child_process.h"
#include "core/base/units.h"
#include "exec/backends.h"
#include "exec/discover/read_hwloc.h"

namespace twinrun::cli {
namespace {

constexpr const char* kDriverFix =
    "install the NVIDIA driver; nvidia-smi should then list the GPUs";

// A shared library opened for good; the child process that opens it ends soon.
class Library {
 public:
  Library(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      handle_ = handle_ == nullptr ? ::dlopen(name, RTLD_LAZY | RTLD_LOCAL) : handle_;
    }
  }
  explicit operator bool() const { return handle_ != nullptr; }

  template <class Function>
  Function* find(const char* symbol) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, symbol));  // NOLINT: what dlsym is
  }

 private:
  void* handle_ = nullptr;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The last word of the first line that mentions the label: "release 13.0, V13.0.88" -> "V13.0.88".
std::string last_word_of_line(const std::string& text, std::string_view label) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(label) != std::string::npos) {
      return line.substr(line.rfind(' ') + 1);
    }
  }
  return "";
}

Part cpu_part() {
  const auto pages = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  const unsigned cores = std::thread::hardware_concurrency();
  return {"CPU", PartStatus::kOk,
          fmt::format("{}, {} core{}, {} memory", cpu_model(), cores, cores == 1 ? "" : "s",
                      to_text(Bytes{pages * page})),
          ""};
}

// The kernels this CPU deserves, or "" when OpenBLAS's plainest are all it can run.
std::string wanted_core_type() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2")) {
    return "Haswell";
  }
#endif
  return "";
}

// OpenBLAS picks kernels by CPU model; one it does not know gets SSE3 code, five times slower.
Part blas_part() {
  const ChildResult asked = run_in_child([]() -> std::string {
    const Library blas({"libopenblas.so.0", "libopenblas.so"});
    if (!blas) {
      return "";
    }
    auto* core = blas.find<char*()>("openblas_get_corename");
    auto* config = blas.find<char*()>("openblas_get_config");
    return fmt::format("{}\n{}\n", core == nullptr ? "" : core(),
                       config == nullptr ? "" : config());
  });
  if (!asked.succeeded || asked.output.empty()) {
    return {"BLAS", PartStatus::kMissing, "OpenBLAS cannot be opened",
            "apt install libopenblas-dev, then build again"};
  }
  const std::string core = first_line(asked.output);
  std::istringstream config(asked.output.substr(core.size() + 1));
  std::string name;
  std::string version;
  config >> name >> version;
  const std::string detail = fmt::format("OpenBLAS {}, {} kernels", version, core);
  const std::string wanted = wanted_core_type();
  if (core == "Prescott" && !wanted.empty()) {
    return {"BLAS", PartStatus::kWarning, detail + " (SSE3): slow on this CPU",
            fmt::format("export OPENBLAS_CORETYPE={}", wanted)};
  }
  if (std::string_view(kBlasAtBuild).empty()) {
    return {"BLAS", PartStatus::kWarning, detail + "; not there when twinrun was built",
            "apt install libopenblas-dev, then build again"};
  }
  return {"BLAS", PartStatus::kOk, detail, ""};
}

// Its version is not to be had: the library says only which interface it has.
Part hwloc_part() {
  const ChildResult asked =
      run_in_child([]() -> std::string { return exec::why_no_hwloc() + "\n"; });
  const std::string reason = asked.succeeded ? first_line(asked.output) : "opening it fails";
  if (reason.empty()) {
    return {"hwloc", PartStatus::kOk, "topo discover asks it beside /sys", ""};
  }
  return {"hwloc", PartStatus::kMissing, reason + "; topo discover reads /sys without",
          exec::has_hwloc_header() ? "apt install libhwloc15"
                                   : "apt install libhwloc-dev, then build again"};
}

Part mpi_part() {
  const ChildResult asked = run_command({"mpirun", "--version"});
  const bool built = !std::string_view(kMpiAtBuild).empty();
  const bool found = asked.succeeded && !asked.output.empty();
  const std::string built_text =
      built ? fmt::format("built with MPI {}", kMpiAtBuild) : "not built with MPI";
  const std::string found_text = found ? first_line(asked.output) : "no mpirun in PATH";
  const std::string detail = fmt::format("{}; {}", built_text, found_text);
  if (built && found) {
    return {"MPI", PartStatus::kOk, detail, ""};
  }
  return {"MPI", PartStatus::kMissing, detail,
          built ? "apt install openmpi-bin"
                : "apt install libopenmpi-dev openmpi-bin, then build again"};
}

// What `execute --backend cuda` would say here.
Part cuda_backend_part() {
  const ChildResult asked = run_in_child(
      []() -> std::string { return exec::find_backend("cuda")->why_missing() + "\n"; });
  if (!asked.succeeded) {
    return {"CUDA backend", PartStatus::kMissing, "opening it fails", kDriverFix};
  }
  const std::string reason = first_line(asked.output);
  if (reason.empty()) {
    return {"CUDA backend", PartStatus::kOk, "execute --backend cuda works", ""};
  }
  return {"CUDA backend", PartStatus::kMissing, reason,
          std::string_view(kCudaAtBuild).empty() || std::string_view(kNcclAtBuild).empty()
              ? "install the CUDA toolkit and NCCL, then build again"
              : "see the parts above; execute --backend cpu and mpi work without"};
}

std::string runtime_version() {
  return run_in_child([]() -> std::string {
           const Library runtime(
               {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"});
           int version = 0;
           auto* get = runtime ? runtime.find<int(int*)>("cudaRuntimeGetVersion") : nullptr;
           return get == nullptr || get(&version) != 0
                      ? ""
                      : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
         })
      .output;
}

Part cuda_part() {
  const std::string built = kCudaAtBuild;
  const std::string compiler =
      last_word_of_line(run_command({"nvcc", "--version"}).output, "release");
  const std::string runtime = runtime_version();
  const std::string detail = fmt::format(
      "{}; {}; {}", built.empty() ? "not built with CUDA" : fmt::format("built with {}", built),
      compiler.empty() ? "no nvcc in PATH" : fmt::format("nvcc {}", compiler),
      runtime.empty() ? "libcudart not on the library path" : fmt::format("runtime {}", runtime));
  if (built.empty()) {
    return {"CUDA toolkit", PartStatus::kMissing, detail,
            compiler.empty() ? "install the CUDA toolkit (nvcc in PATH), then build again"
                             : "build again: nvcc is there now"};
  }
  return {"CUDA toolkit", PartStatus::kOk, detail, ""};
}

Part nccl_part() {
  const std::string version = run_in_child([]() -> std::string {
                                const Library nccl({"libnccl.so.2", "libnccl.so"});
                                int code = 0;
                                auto* get = nccl ? nccl.find<int(int*)>("ncclGetVersion") : nullptr;
                                if (get == nullptr || get(&code) != 0) {
                                  return "";
                                }
                                // 2.9 changed the coding from major*1000 to major*10000.
                                const int major = code >= 10000 ? code / 10000 : code / 1000;
                                const int rest = code >= 10000 ? code % 10000 : code % 1000;
                                return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
                              }).output;
  const std::string built = kNcclAtBuild;
  const std::string detail = fmt::format(
      "{}; {}", built.empty() ? "not built with NCCL" : fmt::format("built with {}", built),
      version.empty() ? "libnccl.so.2 not on the library path"
                      : fmt::format("library {}", version));
  if (!built.empty() && !version.empty()) {
    return {"NCCL", PartStatus::kOk, detail, ""};
  }
  return {"NCCL", PartStatus::kMissing, detail,
          built.empty() ? "apt install libnccl-dev (NVIDIA's repository), then build again"
                        : "apt install libnccl2, or add its folder to LD_LIBRARY_PATH"};
}

struct DriverAnswer {
  std::string version;            // of CUDA that the driver speaks; "" without a driver
  std::vector<std::string> gpus;  // names
};

std::string ask_driver() {
  const Library driver({"libcuda.so.1"});
  if (!driver) {
    return "";
  }
  auto* get_version = driver.find<int(int*)>("cuDriverGetVersion");
  auto* init = driver.find<int(unsigned)>("cuInit");
  auto* get_count = driver.find<int(int*)>("cuDeviceGetCount");
  auto* get_name = driver.find<int(char*, int, int)>("cuDeviceGetName");
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) {
    return "";
  }
  std::string answer = fmt::format("{}.{}\n", version / 1000, version % 1000 / 10);
  int count = 0;
  if (init == nullptr || get_count == nullptr || get_name == nullptr || init(0) != 0 ||
      get_count(&count) != 0) {
    return answer;
  }
  for (int device = 0; device < count; ++device) {
    std::string name(128, '\0');
    if (get_name(name.data(), static_cast<int>(name.size()), device) == 0) {
      answer += std::string(name.c_str()) + "\n";
    }
  }
  return answer;
}

DriverAnswer driver_answer() {
  DriverAnswer answer;
  std::istringstream lines(run_in_child(ask_driver).output);
  std::getline(lines, answer.version);
  for (std::string line; std::getline(lines, line);) {
    answer.gpus.push_back(line);
  }
  return answer;
}

Part driver_part(const DriverAnswer& answer) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string kernel_module;
  std::getline(file, kernel_module);
  if (answer.version.empty()) {
    return {"NVIDIA driver", PartStatus::kMissing,
            kernel_module.empty() ? "libcuda.so.1 cannot be opened"
                                  : "kernel module loaded, but libcuda.so.1 cannot be opened",
            kDriverFix};
  }
  return {"NVIDIA driver", PartStatus::kOk, fmt::format("speaks CUDA {}", answer.version), ""};
}

Part gpu_part(const DriverAnswer& answer) {
  if (answer.gpus.empty()) {
    return {"GPUs", PartStatus::kMissing, "none seen; execute --backend cpu and mpi work without",
            answer.version.empty()
                ? "the driver comes first"
                : "check nvidia-smi, CUDA_VISIBLE_DEVICES and, in a container, --gpus all"};
  }
  bool all_equal = true;
  for (const std::string& name : answer.gpus) {
    all_equal = all_equal && name == answer.gpus.front();
  }
  return {"GPUs", PartStatus::kOk,
          all_equal ? fmt::format("{} x {}", answer.gpus.size(), answer.gpus.front())
                    : fmt::format("{}", fmt::join(answer.gpus, ", ")),
          ""};
}

}  // namespace

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown model";
}

std::vector<Part> machine_parts() {
  const DriverAnswer driver = driver_answer();
  return {cpu_part(),  blas_part(),         hwloc_part(),     mpi_part(),         cuda_part(),
          nccl_part(), driver_part(driver), gpu_part(driver), cuda_backend_part()};
}

}  // namespace twinrun::cli
