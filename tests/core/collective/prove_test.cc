#include "core/collective/prove.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The prover sees mistakes: each of these schedules is a right one with one thing changed.

namespace twinrun {
namespace {

using testing::HasSubstr;

CollectiveSpec four_ranks(CollectiveKind kind) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.ranks = 4;
  spec.bytes = 40;
  return spec;
}

using Change = std::function<void(std::uint32_t rank, std::uint32_t step, StepTransfers& list)>;

std::string flaw_after(std::string_view algorithm,
                       const CollectiveSpec& spec,
                       const Change& change) {
  const CollectiveSchedule schedule(*find_collective_algorithm(algorithm), spec);
  EXPECT_EQ(prove(schedule).flaw, "");
  return prove(spec, schedule.participants(), schedule.steps(),
               [&](std::uint32_t rank, std::uint32_t step, StepTransfers& out) {
                 schedule.transfers(rank, step, out);
                 change(rank, step, out);
               })
      .flaw;
}

TEST(Prove, MissingReceiveIsWaitedForForEver) {
  const auto flaw = flaw_after("ring", four_ranks(CollectiveKind::kAllReduce),
                               [](std::uint32_t rank, std::uint32_t step, StepTransfers& list) {
                                 if (rank == 2 && step == 5) {
                                   list.receives.clear();
                                 }
                               });
  EXPECT_EQ(flaw, "rank 1 in step 5 waits for ever");
}

TEST(Prove, MissingMessageLeavesAHoleInThePromise) {
  const auto flaw =
      flaw_after("direct", four_ranks(CollectiveKind::kReduce),
                 [](std::uint32_t rank, std::uint32_t, StepTransfers& list) {
                   rank == 2 ? list.sends.clear() : void();
                   std::erase_if(list.receives, [](const Transfer& t) { return t.peer == 2; });
                 });
  EXPECT_THAT(flaw, HasSubstr("rank 0 in step 1 ends without what it was promised at 0 to 40"));
}

TEST(Prove, CopyInsteadOfReduceLosesContributions) {
  const auto flaw = flaw_after("ring", four_ranks(CollectiveKind::kReduceScatter),
                               [](std::uint32_t, std::uint32_t step, StepTransfers& list) {
                                 if (step == 1) {
                                   list.sends.at(0).action = Action::kCopy;
                                   list.receives.at(0).action = Action::kCopy;
                                 }
                               });
  EXPECT_THAT(flaw, HasSubstr("ends without what it was promised"));
}

TEST(Prove, ReduceInsteadOfCopyAddsTwice) {
  const auto flaw = flaw_after("ring", four_ranks(CollectiveKind::kAllReduce),
                               [](std::uint32_t, std::uint32_t step, StepTransfers& list) {
                                 if (step == 3) {
                                   list.sends.at(0).action = Action::kReduce;
                                   list.receives.at(0).action = Action::kReduce;
                                 }
                               });
  EXPECT_THAT(flaw, HasSubstr("adds a contribution a second time"));
}

TEST(Prove, TheTwoSidesOfAMessageMustAgree) {
  const auto spec = four_ranks(CollectiveKind::kAllGather);
  const auto expect_disagreement = [&](void (*change)(Transfer&)) {
    EXPECT_THAT(flaw_after("ring", spec,
                           [&](std::uint32_t rank, std::uint32_t step, StepTransfers& list) {
                             if (rank == 1 && step == 1) {
                               change(list.receives.at(0));
                             }
                           }),
                HasSubstr("and rank 1 disagree about a message"));
  };
  expect_disagreement([](Transfer& t) { t.from.end -= 4; });
  expect_disagreement([](Transfer& t) { t.into -= 4; });
  expect_disagreement([](Transfer& t) { t.action = Action::kReduce; });
}

// A chain 0 → 1 → 2 in which 1 passes on in the same step as it receives.
TEST(Prove, NothingIsSentBeforeItIsThere) {
  CollectiveSpec spec;
  spec.kind = CollectiveKind::kBroadcast;
  spec.ranks = 3;
  spec.bytes = 8;
  const Proof proof =
      prove(spec, 3, 1, [](std::uint32_t rank, std::uint32_t /*step*/, StepTransfers& out) {
        out.clear();
        if (rank < 2) {
          out.send(rank + 1, {0, 8}, Action::kCopy);
        }
        if (rank == 2) {
          out.receive(1, {0, 8}, Action::kCopy);
        }
      });
  EXPECT_EQ(proof.flaw, "rank 1 in step 0 sends rank 2 data it does not have");
}

TEST(Prove, DataInTheWrongPlaceAreSeen) {
  const auto flaw =
      flaw_after("direct", four_ranks(CollectiveKind::kAllToAll),
                 [](std::uint32_t rank, std::uint32_t, StepTransfers& list) {
                   for (Transfer& t : list.sends) {
                     t.into = rank == 0 && t.peer == 3 ? 16 : rank == 2 && t.peer == 3 ? 0 : t.into;
                   }
                   for (Transfer& t : list.receives) {
                     t.into = rank == 3 && t.peer == 0 ? 16 : rank == 3 && t.peer == 2 ? 0 : t.into;
                   }
                 });
  EXPECT_THAT(flaw, HasSubstr("rank 3 in step 1 ends without what it was promised at 0 to 8"));
}

TEST(Prove, CopyMayNotLandOnWhatIsBeingSent) {
  const auto flaw = flaw_after("recursive-doubling", four_ranks(CollectiveKind::kAllReduce),
                               [](std::uint32_t, std::uint32_t, StepTransfers& list) {
                                 list.sends.at(0).action = Action::kCopy;
                                 list.receives.at(0).action = Action::kCopy;
                               });
  EXPECT_THAT(flaw, HasSubstr("copies onto something else of the same step"));
}

// 0 waits for 1 before it sends to it, and the other way round.
TEST(Prove, RanksThatWaitForEachOtherAreADeadlock) {
  CollectiveSpec spec;
  spec.ranks = 2;
  spec.bytes = 4;
  const Proof proof =
      prove(spec, 2, 2, [](std::uint32_t rank, std::uint32_t step, StepTransfers& out) {
        out.clear();
        if (step == 0) {
          out.receive(1 - rank, {0, 4}, Action::kReduce);
        } else {
          out.send(1 - rank, {0, 4}, Action::kReduce);
        }
      });
  EXPECT_EQ(proof.flaw, "rank 0 in step 0 waits for ever");
}

}  // namespace
}  // namespace twinrun
