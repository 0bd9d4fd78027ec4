#include "exec/cuda/open_gpus.h"

#include <cstdlib>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/backend_missing.h"
#include "tests/exec/cuda/substitute_gpus.h"
#include "tests/substitute/substitute.h"

// Whatever is missing is said in one sentence.

namespace twinrun::exec {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::function<void()>& change) {
  substitute_gpus(1);
  change();
  try {
    open_gpus();
  } catch (const BackendMissing& error) {
    return error.what();
  }
  return "";
}

TEST(OpenGpus, SaysThatThereIsNoDriver) {
  EXPECT_THAT(refusal([] { substitute::set_driver(substitute::Driver::kMissing); }),
              HasSubstr("no NVIDIA driver is installed"));
}

TEST(OpenGpus, SaysThatTheDriverIsTooOldAndWhatItSpeaks) {
  EXPECT_THAT(refusal([] { substitute::set_driver(substitute::Driver::kTooOld); }),
              AllOf(HasSubstr("too old: it speaks CUDA "), HasSubstr("built with CUDA "),
                    Not(HasSubstr("CUDA 0."))));
}

TEST(OpenGpus, SaysThatTheDriverIsAStub) {
  EXPECT_THAT(refusal([] { substitute::set_driver(substitute::Driver::kStub); }),
              HasSubstr("the toolkit's stub"));
}

TEST(OpenGpus, SaysThatThereIsNoGpu) {
  EXPECT_THAT(refusal([] { substitute::set_devices({}); }), HasSubstr("sees no GPU"));
}

TEST(OpenGpus, SaysWhichFileCannotBeOpened) {
  EXPECT_THAT(refusal([] { setenv("TWINRUN_CUDA_PLUGIN", "libnowhere.so", 1); }),
              HasSubstr("needs libnowhere.so, which is not on the library path"));
}

TEST(OpenGpus, RefusesALibraryThatIsNoPlugin) {
  EXPECT_THAT(refusal([] { setenv("TWINRUN_CUDA_PLUGIN", "libm.so.6", 1); }),
              HasSubstr("belongs to another version of twinrun"));
}

TEST(OpenGpus, TellsFactsOfTheDevices) {
  const auto gpus = substitute_gpus(3);
  EXPECT_EQ(gpus->device_count(), 3);
  EXPECT_THAT(gpus->facts(1).name, HasSubstr("A100"));
  EXPECT_EQ(gpus->facts(1).major, 8);
  EXPECT_NE(gpus->facts(1).pci_bus_id, gpus->facts(2).pci_bus_id);
  EXPECT_GT(gpus->facts(1).memory_bytes, 0);
}

}  // namespace
}  // namespace twinrun::exec
