#include <string>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/backend_missing.h"
#include "exec/cuda/open_gpus.h"

// The plugin over the real libraries: every symbol is found in them, and here without a driver it
// says so. This program links no substitute, whose functions would be taken for the libraries'.

namespace twinrun::exec {
namespace {

TEST(RealPlugin, IsOpenedWithAllItsSymbols) {
  void* const library = dlopen(TWINRUN_REAL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "twinrun_cuda_open"), nullptr);
}

TEST(RealPlugin, SaysWhatIsMissingOrSeesGpus) {
  setenv("TWINRUN_CUDA_PLUGIN", TWINRUN_REAL_PLUGIN, 1);
  std::string refusal;
  try {
    EXPECT_GT(open_gpus()->device_count(), 0);
  } catch (const BackendMissing& error) {
    refusal = error.what();
  }
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    EXPECT_EQ(refusal, "no NVIDIA driver is installed (libcuda.so.1 is missing)");
  }
}

}  // namespace
}  // namespace twinrun::exec
