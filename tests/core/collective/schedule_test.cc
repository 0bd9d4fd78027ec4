#include "core/collective/schedule.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/collective/algorithms.h"

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "step: from>to[begin,end)+" for every send; + is reduce, = is copy.
std::vector<std::string> written_out(const CollectiveSchedule& schedule) {
  std::vector<std::string> lines;
  StepTransfers transfers;
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    std::string line;
    for (std::uint32_t rank = 0; rank < schedule.participants(); ++rank) {
      schedule.transfers(rank, step, transfers);
      for (const Transfer& send : transfers.sends) {
        line += (line.empty() ? "" : " ") + std::to_string(rank) + ">" + std::to_string(send.peer) +
                "[" + std::to_string(send.from.begin) + "," + std::to_string(send.from.end) + ")" +
                (send.into == send.from.begin ? "" : "@" + std::to_string(send.into)) +
                (send.action == Action::kReduce ? "+" : "=");
      }
    }
    lines.push_back(line);
  }
  return lines;
}

CollectiveSchedule schedule_of(std::string_view algorithm, const CollectiveSpec& spec) {
  return {*find_collective_algorithm(algorithm), spec};
}

CollectiveSpec spec_of(CollectiveKind kind, std::uint32_t ranks, std::int64_t bytes) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.ranks = ranks;
  spec.bytes = bytes;
  return spec;
}

TEST(ChunkOf, LargerChunksComeFirstAndEndBetweenElements) {
  const ByteRange whole{100, 144};  // 11 elements in 4 parts: 3 3 3 2
  EXPECT_EQ(chunk_of(whole, 4, 4, 0), (ByteRange{100, 112}));
  EXPECT_EQ(chunk_of(whole, 4, 4, 2), (ByteRange{124, 136}));
  EXPECT_EQ(chunk_of(whole, 4, 4, 3), (ByteRange{136, 144}));
  EXPECT_EQ(chunk_of({0, 8}, 4, 3, 2).size(), 0);
}

TEST(Ring, AllReduceOfThreeRanks) {
  EXPECT_THAT(written_out(schedule_of("ring", spec_of(CollectiveKind::kAllReduce, 3, 16))),
              ElementsAre("0>1[12,16)+ 1>2[0,8)+ 2>0[8,12)+",  // 4 elements: 2 1 1
                          "0>1[8,12)+ 1>2[12,16)+ 2>0[0,8)+",  //
                          "0>1[0,8)= 1>2[8,12)= 2>0[12,16)=",  //
                          "0>1[12,16)= 1>2[0,8)= 2>0[8,12)="));
}

TEST(Ring, BroadcastIsAChainOfChunksThatFollowEachOther) {
  CollectiveSpec spec = spec_of(CollectiveKind::kBroadcast, 3, 12);
  spec.root = 1;
  EXPECT_THAT(
      written_out(schedule_of("ring", spec)),
      ElementsAre("1>2[0,4)=", "1>2[4,8)= 2>0[0,4)=", "1>2[8,12)= 2>0[4,8)=", "2>0[8,12)="));
}

//   0            3
//   └─2          └─1
//    ┌┴┐          ┌┴┐
//    1 3          2 0       (mirrored)
TEST(Tree, AllReduceOfFourRanks) {
  EXPECT_THAT(written_out(schedule_of("tree", spec_of(CollectiveKind::kAllReduce, 4, 12))),
              ElementsAre("0>1[8,12)+ 1>2[0,8)+ 2>1[8,12)+ 3>2[0,8)+",  //
                          "1>3[8,12)+ 2>0[0,8)+",                       //
                          "0>2[0,8)= 3>1[8,12)=",                       //
                          "1>2[8,12)= 1>0[8,12)= 2>1[0,8)= 2>3[0,8)="));
}

TEST(HalvingDoubling, FoldsTheExtraOfThreeRanks) {
  EXPECT_THAT(
      written_out(schedule_of("halving-doubling", spec_of(CollectiveKind::kAllReduce, 3, 8))),
      ElementsAre("1>0[0,8)+", "0>2[4,8)+ 2>0[0,4)+", "0>2[0,4)= 2>0[4,8)=", "0>1[0,8)="));
}

TEST(RecursiveDoubling, BarrierOfFourRanksIsAnAllReduceOfOneElement) {
  EXPECT_THAT(
      written_out(schedule_of("recursive-doubling", spec_of(CollectiveKind::kBarrier, 4, 0))),
      ElementsAre("0>1[0,4)+ 1>0[0,4)+ 2>3[0,4)+ 3>2[0,4)+",
                  "0>2[0,4)+ 1>3[0,4)+ 2>0[0,4)+ 3>1[0,4)+"));
}

TEST(Direct, AllToAllSetsChunksDownInTheOrderOfTheirSenders) {
  EXPECT_THAT(written_out(schedule_of("direct", spec_of(CollectiveKind::kAllToAll, 3, 12))),
              ElementsAre("0>1[4,8)@0= 0>2[8,12)@0= "   //
                          "1>2[8,12)@4= 1>0[0,4)@4= "   //
                          "2>0[0,4)@8= 2>1[4,8)@8="));  //
}

TEST(Hierarchical, TwoMachinesOfTwo) {
  CollectiveSpec spec = spec_of(CollectiveKind::kAllReduce, 4, 16);
  spec.ranks_per_node = 2;
  EXPECT_THAT(written_out(schedule_of("hierarchical", spec)),
              ElementsAre("0>1[8,16)+ 1>0[0,8)+ 2>3[8,16)+ 3>2[0,8)+",    // in the machines
                          "0>2[4,8)+ 1>3[12,16)+ 2>0[0,4)+ 3>1[8,12)+",   // between them
                          "0>2[0,4)= 1>3[8,12)= 2>0[4,8)= 3>1[12,16)=",   //
                          "0>1[0,8)= 1>0[8,16)= 2>3[0,8)= 3>2[8,16)="));  // in the machines
}

TEST(ParameterServer, TwoAppendedServersShareTheArray) {
  CollectiveSpec spec = spec_of(CollectiveKind::kAllReduce, 2, 12);
  spec.servers = 2;
  spec.placement = ServerPlacement::kAppended;
  EXPECT_THAT(written_out(schedule_of("ps-sharded", spec)),
              ElementsAre("0>2[0,8)+ 0>3[8,12)+ 1>2[0,8)+ 1>3[8,12)+",
                          "2>0[0,8)= 2>1[0,8)= 3>0[8,12)= 3>1[8,12)="));
}

TEST(ParameterServer, MachinesReduceFirst) {
  CollectiveSpec spec = spec_of(CollectiveKind::kAllReduce, 4, 4);
  spec.ranks_per_node = 2;
  EXPECT_THAT(written_out(schedule_of("ps-hierarchical", spec)),
              ElementsAre("1>0[0,4)+ 3>2[0,4)+", "2>0[0,4)+", "0>2[0,4)=", "0>1[0,4)= 2>3[0,4)="));
}

TEST(WhyNot, RefusalsAreSentences) {
  const auto said = [](std::string_view algorithm, const CollectiveSpec& spec) {
    return why_not(*find_collective_algorithm(algorithm), spec).value_or("");
  };
  CollectiveSpec spec = spec_of(CollectiveKind::kAllToAll, 4, 16);
  EXPECT_EQ(said("ring", spec),
            "ring does all_reduce, reduce_scatter, all_gather, broadcast, reduce, not all_to_all.");
  spec.kind = CollectiveKind::kAllReduce;
  spec.ranks_per_node = 3;
  EXPECT_THAT(said("hierarchical", spec), HasSubstr("4 ranks do not fill machines of 3"));
  spec.servers = 5;
  EXPECT_THAT(said("ps-sharded", spec), HasSubstr("5 servers do not fit beside 4 workers"));
  EXPECT_THAT(said("ps", spec), HasSubstr("one server, not 5"));
  spec.bytes = 15;
  EXPECT_THAT(said("ring", spec), HasSubstr("15 bytes are not a whole number of elements of 4"));
  spec.bytes = std::int64_t{1} << 60;
  EXPECT_THAT(said("ring", spec), HasSubstr("more than can be counted"));
  spec = spec_of(CollectiveKind::kReduce, 4, 16);
  spec.root = 4;
  EXPECT_THAT(said("ring", spec), HasSubstr("The root is rank 4, but the ranks are 0 to 3"));
  spec.ranks = 4'000'000'000;
  EXPECT_THAT(said("ring", spec), HasSubstr("more than 16777216 participants"));
  spec.ranks = 0;
  EXPECT_THAT(said("ring", spec), HasSubstr("at least one rank"));
}

}  // namespace
}  // namespace twinrun
