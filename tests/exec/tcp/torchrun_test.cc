#include "exec/tcp/torchrun.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/diagnostics.h"

namespace twinrun::exec {
namespace {

using Words = std::map<std::string, std::string>;

Environment environment_of(Words words) {
  return [words = std::move(words)](const char* name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string() : found->second;
  };
}

Words whole() {
  return {{"RANK", "5"},
          {"WORLD_SIZE", "8"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "node0"},
          {"MASTER_PORT", "29500"}};
}

std::vector<std::string> complaints(const Words& words) {
  try {
    torchrun_launch(environment_of(words));
  } catch (const InputError& error) {
    std::vector<std::string> out;
    for (const Diagnostic& diagnostic : error.diagnostics().all()) {
      out.push_back(diagnostic.message);
    }
    return out;
  }
  return {};
}

TEST(TorchrunLaunch, TakesThePortBehindTorchruns) {
  const auto launch = torchrun_launch(environment_of(whole()));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 5);
  EXPECT_EQ(launch->size, 8);
  EXPECT_EQ(launch->local, 1);
  EXPECT_EQ(launch->host, "node0");
  EXPECT_EQ(launch->port, 29501);
  Words words = whole();
  words["TWINRUN_PORT"] = "4000";
  EXPECT_EQ(torchrun_launch(environment_of(words))->port, 4000);
}

TEST(TorchrunLaunch, IsNoneWithoutARankOrWithARankAlone) {
  EXPECT_FALSE(torchrun_launch(environment_of({})));
  EXPECT_FALSE(torchrun_launch(environment_of({{"RANK", "1"}})));
  // What scripts of Slurm export before they start anything.
  EXPECT_FALSE(torchrun_launch(
      environment_of({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}, {"WORLD_SIZE", "8"}})));
}

TEST(TorchrunLaunch, CountsOnItsMachineWhereNobodySaysWhichItIs) {
  Words words = whole();
  words.erase("LOCAL_RANK");
  EXPECT_EQ(torchrun_launch(environment_of(words))->local, 5);
  words["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_EQ(torchrun_launch(environment_of(words))->local, 1);
}

TEST(TorchrunLaunch, TellsRunsAndRestartsApart) {
  EXPECT_FALSE(is_of_torchrun(environment_of(whole())));
  Words words = whole();
  words["TORCHELASTIC_RUN_ID"] = "a";
  words["TORCHELASTIC_RESTART_COUNT"] = "0";
  EXPECT_TRUE(is_of_torchrun(environment_of(words)));
  const std::string first = torchrun_launch(environment_of(words))->run;
  words["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_NE(torchrun_launch(environment_of(words))->run, first);
}

TEST(TorchrunLaunch, ComplainsOfAllAtOnce) {
  EXPECT_THAT(complaints({{"RANK", "1x"}, {"WORLD_SIZE", "0"}, {"MASTER_PORT", "65536"}}),
              testing::UnorderedElementsAre(testing::HasSubstr("WORLD_SIZE=0"),
                                            testing::HasSubstr("RANK=1x"),
                                            testing::HasSubstr("MASTER_ADDR is not set"),
                                            testing::HasSubstr("MASTER_PORT=65536")));
  Words words = whole();
  words["RANK"] = "8";
  EXPECT_THAT(complaints(words), testing::ElementsAre(testing::HasSubstr("RANK=8")));
  words = whole();
  words["MASTER_PORT"] = "65535";
  EXPECT_THAT(complaints(words), testing::ElementsAre(testing::HasSubstr("MASTER_PORT=65535")));
}

TEST(TorchrunLaunch, TakesBracketsOffAnAddress) {
  Words words = whole();
  words["MASTER_ADDR"] = "[::1]";
  EXPECT_EQ(torchrun_launch(environment_of(words))->host, "::1");
}

}  // namespace
}  // namespace twinrun::exec
