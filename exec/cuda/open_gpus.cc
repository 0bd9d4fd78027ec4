#include "exec/cuda/open_gpus.h"

#include <array>
#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

#include "exec/backend_missing.h"
#include "exec/find_plugin.h"

namespace twinrun::exec {
namespace {

constexpr const char* kPlugin = "libtwinrun-cuda.so";
constexpr const char* kVariable = "TWINRUN_CUDA_PLUGIN";

std::string plugin_file() {
  const char* const given =
      std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return given != nullptr && *given != '\0' ? given : find_plugin(kPlugin);
}

// The loader says "libcudart.so.13: cannot open shared object file: …".
std::string sentence_about(const std::string& loader) {
  if (loader.find("cannot open shared object file") == std::string::npos) {
    return fmt::format("the CUDA backend cannot be opened: {}", loader);
  }
  return fmt::format(
      "the CUDA backend needs {}, which is not on the library path: install it, or add its folder "
      "to LD_LIBRARY_PATH",
      loader.substr(0, loader.find(':')));
}

}  // namespace

std::unique_ptr<GpuRuntime> open_gpus() {
  const std::string file = plugin_file();
  if (file.empty()) {
    throw BackendMissing("this twinrun was built without CUDA and NCCL");
  }
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw BackendMissing(sentence_about(dlerror()));
  }
  const auto open =
      reinterpret_cast<decltype(&twinrun_cuda_open)>(dlsym(library, "twinrun_cuda_open"));
  GpuRuntime* runtime = nullptr;
  std::array<char, 512> problem{};
  if (open == nullptr ||
      open(kGpuRuntimeVersion, &runtime, problem.data(), problem.size()) != kGpuRuntimeVersion) {
    throw BackendMissing(fmt::format("{} belongs to another version of twinrun", file));
  }
  if (runtime == nullptr) {
    throw BackendMissing(problem.data());
  }
  return std::unique_ptr<GpuRuntime>(runtime);
}

}  // namespace twinrun::exec
