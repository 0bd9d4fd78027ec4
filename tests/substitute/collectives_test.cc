#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "tests/substitute/nccl_fixture.h"
#include "tests/substitute/small_floats.h"

namespace {

// Rank r has r·1000 + i at place i, modulo a prime so that the values stay small.
int value(int rank, std::size_t i) {
  return static_cast<int>((static_cast<std::size_t>(rank) * 1000 + i) % 97);
}

struct Size {
  int ranks;
  std::size_t count;
};

// Several steps of the shared slots need more than 65536 floats.
class Collectives : public NcclTest, public testing::WithParamInterface<Size> {
 protected:
  void SetUp() override {
    NcclTest::SetUp();
    start(GetParam().ranks);
  }
  [[nodiscard]] std::size_t count() const { return GetParam().count; }

  [[nodiscard]] std::vector<float> values(int rank, std::size_t parts = 1) const {
    std::vector<float> all(count() * parts);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<float>(value(rank, i));
    }
    return all;
  }
  [[nodiscard]] std::vector<float> sums(std::size_t parts = 1) const {
    std::vector<float> all(count() * parts, 0);
    for (int rank = 0; rank < ranks(); ++rank) {
      const std::vector<float> its = values(rank, parts);
      std::transform(all.begin(), all.end(), its.begin(), all.begin(), std::plus<>());
    }
    return all;
  }
  [[nodiscard]] std::vector<float*> arrays_of_all(std::size_t parts = 1) const {
    std::vector<float*> arrays;
    arrays.reserve(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) {
      arrays.push_back(new_array<float>(rank, values(rank, parts)));
    }
    return arrays;
  }
  [[nodiscard]] std::vector<float*> empty_arrays(std::size_t parts = 1) const {
    std::vector<float*> arrays;
    arrays.reserve(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) {
      arrays.push_back(new_array<float>(rank, std::vector<float>(count() * parts, -1)));
    }
    return arrays;
  }
  [[nodiscard]] std::vector<float> part(const std::vector<float>& all, int which) const {
    const auto first =
        all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(which) * count());
    return {first, first + static_cast<std::ptrdiff_t>(count())};
  }
};

TEST_P(Collectives, AllReduceInPlace) {
  const auto data = arrays_of_all();
  group([&](int rank) {
    float* const mine = data[static_cast<std::size_t>(rank)];
    return ncclAllReduce(mine, mine, count(), ncclFloat32, ncclSum, comm(rank), stream(rank));
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_EQ(values_of(data[static_cast<std::size_t>(rank)], count(), stream(rank)), sums());
  }
}

TEST_P(Collectives, ReduceToOne) {
  const auto from = arrays_of_all();
  const auto to = empty_arrays();
  const int root = ranks() - 1;
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclReduce(from[index], to[index], count(), ncclFloat32, ncclSum, root, comm(rank),
                      stream(rank));
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto result = values_of(to[static_cast<std::size_t>(rank)], count(), stream(rank));
    EXPECT_EQ(result, rank == root ? sums() : std::vector<float>(count(), -1));
  }
}

TEST_P(Collectives, BroadcastFromOne) {
  const auto from = arrays_of_all();
  const auto to = empty_arrays();
  const int root = ranks() / 2;
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclBroadcast(from[index], to[index], count(), ncclFloat32, root, comm(rank),
                         stream(rank));
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_EQ(values_of(to[static_cast<std::size_t>(rank)], count(), stream(rank)), values(root));
  }
}

TEST_P(Collectives, AllGather) {
  const auto parts = static_cast<std::size_t>(ranks());
  const auto from = arrays_of_all();
  const auto to = empty_arrays(parts);
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclAllGather(from[index], to[index], count(), ncclFloat32, comm(rank), stream(rank));
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto result =
        values_of(to[static_cast<std::size_t>(rank)], count() * parts, stream(rank));
    for (int sender = 0; sender < ranks(); ++sender) {
      EXPECT_EQ(part(result, sender), values(sender));
    }
  }
}

TEST_P(Collectives, ReduceScatter) {
  const auto parts = static_cast<std::size_t>(ranks());
  const auto from = arrays_of_all(parts);
  const auto to = empty_arrays();
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclReduceScatter(from[index], to[index], count(), ncclFloat32, ncclSum, comm(rank),
                             stream(rank));
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_EQ(values_of(to[static_cast<std::size_t>(rank)], count(), stream(rank)),
              part(sums(parts), rank));
  }
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
TEST_P(Collectives, AllToAllGatherAndScatter) {
  const auto parts = static_cast<std::size_t>(ranks());
  const auto from = arrays_of_all(parts);
  const auto exchanged = empty_arrays(parts);
  const auto gathered = empty_arrays(parts);
  const auto scattered = empty_arrays();
  const int root = ranks() - 1;
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclAlltoAll(from[index], exchanged[index], count(), ncclFloat32, comm(rank),
                        stream(rank));
  });
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclGather(from[index], gathered[index], count(), ncclFloat32, root, comm(rank),
                      stream(rank));
  });
  group([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return ncclScatter(from[index], scattered[index], count(), ncclFloat32, root, comm(rank),
                       stream(rank));
  });
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const auto all = values_of(exchanged[index], count() * parts, stream(rank));
    const auto at_root = values_of(gathered[index], count() * parts, stream(rank));
    for (int sender = 0; sender < ranks(); ++sender) {
      EXPECT_EQ(part(all, sender), part(values(sender, parts), rank));
      EXPECT_EQ(part(at_root, sender),
                rank == root ? values(sender) : std::vector<float>(count(), -1));
    }
    EXPECT_EQ(values_of(scattered[index], count(), stream(rank)), part(values(root, parts), rank));
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(All,
                         Collectives,
                         testing::Values(Size{1, 5},
                                         Size{2, 1},
                                         Size{2, 0},
                                         Size{3, 1000},
                                         Size{4, 70000},
                                         Size{8, 33000}));

// ---- types and operations ----

template <class T>
struct Whole {
  using Stored = T;
  static T store(int number) { return static_cast<T>(number); }
};
struct HalfNumber {
  using Stored = std::uint16_t;
  static Stored store(int number) { return substitute::half_of_float(static_cast<float>(number)); }
};
struct BfloatNumber {
  using Stored = std::uint16_t;
  static Stored store(int number) {
    return substitute::bfloat_of_float(static_cast<float>(number));
  }
};

class Reductions : public NcclTest {
 protected:
  // Ranks 0, 1, 2 have 2, 4, 6: sum 12, product 48, least 2, most 6, mean 4; exact in every type.
  template <class Number>
  void expect_all(ncclDataType_t type) {
    using Stored = typename Number::Stored;
    const std::pair<ncclRedOp_t, int> expected[] = {
        {ncclSum, 12}, {ncclProd, 48}, {ncclMin, 2}, {ncclMax, 6}, {ncclAvg, 4}};
    for (const auto& [operation, result] : expected) {
      std::vector<Stored*> data;
      data.reserve(3);
      for (int rank = 0; rank < 3; ++rank) {
        data.push_back(
            new_array<Stored>(rank, std::vector<Stored>(3, Number::store(2 * (rank + 1)))));
      }
      const ncclRedOp_t which = operation;
      group([&](int rank) {
        Stored* const mine = data[static_cast<std::size_t>(rank)];
        return ncclAllReduce(mine, mine, 3, type, which, comm(rank), stream(rank));
      });
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(values_of(data[static_cast<std::size_t>(rank)], 3, stream(rank)),
                  std::vector<Stored>(3, Number::store(result)))
            << "type " << type << ", operation " << operation;
      }
    }
  }
};

TEST_F(Reductions, OfEveryTypeAndOperation) {
  start(3);
  expect_all<Whole<std::int8_t>>(ncclInt8);
  expect_all<Whole<std::uint8_t>>(ncclUint8);
  expect_all<Whole<std::int32_t>>(ncclInt32);
  expect_all<Whole<std::uint32_t>>(ncclUint32);
  expect_all<Whole<std::int64_t>>(ncclInt64);
  expect_all<Whole<std::uint64_t>>(ncclUint64);
  expect_all<Whole<float>>(ncclFloat32);
  expect_all<Whole<double>>(ncclFloat64);
  expect_all<HalfNumber>(ncclFloat16);
  expect_all<BfloatNumber>(ncclBfloat16);
}

// (2^24 + 1) + 1 loses both ones, (1 + 1) + 2^24 none: the result shows the order. Repeated with
// the ranks arriving in another order each time.
TEST_F(Reductions, GoInTheOrderOfTheRanks) {
  start(3);
  const float big = std::ldexp(1.0F, 24);
  for (int last = 0; last < 3; ++last) {
    float* data[3];
    for (int rank = 0; rank < 3; ++rank) {
      data[rank] =
          new_array<float>(rank, std::vector<float>{rank == 0 ? big : 1, rank == 2 ? big : 1});
    }
    substitute::stall(stream(last));
    group([&](int rank) {
      return ncclAllReduce(data[rank], data[rank], 2, ncclFloat32, ncclSum, comm(rank),
                           stream(rank));
    });
    EXPECT_TRUE(stays_pending(stream((last + 1) % 3)));
    substitute::resume(stream(last));
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(values_of(data[rank], 2, stream(rank)), testing::ElementsAre(big, big + 2));
    }
  }
}

TEST_F(Reductions, WholeNumbersWrapAround) {
  start(2);
  std::int8_t* data[2];
  for (int rank = 0; rank < 2; ++rank) {
    data[rank] = new_array<std::int8_t>(rank, std::vector<std::int8_t>{100});
  }
  group([&](int rank) {
    return ncclAllReduce(data[rank], data[rank], 1, ncclInt8, ncclSum, comm(rank), stream(rank));
  });
  EXPECT_EQ(values_of(data[0], 1, stream(0))[0], 200 - 256);
}

// ---- messages ----

class Messages : public NcclTest {};

// Every rank to every other and to itself, in one group; longer than a mailbox.
TEST_F(Messages, GoBetweenAllPairsAtOnce) {
  constexpr std::size_t kCount = 40000;
  start(3);
  float* from[3];
  float* to[3];
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<float> all(3 * kCount);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<float>(value(rank, i));
    }
    from[rank] = new_array<float>(rank, all);
    to[rank] = new_array<float>(rank, 3 * kCount);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    for (int peer = 0; peer < 3; ++peer) {
      const std::size_t place = static_cast<std::size_t>(peer) * kCount;
      ASSERT_EQ(ncclSend(from[rank] + place, kCount, ncclFloat32, peer, comm(rank), stream(rank)),
                ncclSuccess);
      ASSERT_EQ(ncclRecv(to[rank] + place, kCount, ncclFloat32, peer, comm(rank), stream(rank)),
                ncclSuccess);
    }
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    const auto got = values_of(to[rank], 3 * kCount, stream(rank));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const int sender = static_cast<int>(i / kCount);
      const std::size_t place = static_cast<std::size_t>(rank) * kCount + i % kCount;
      ASSERT_EQ(got[i], static_cast<float>(value(sender, place))) << rank << " from " << sender;
    }
  }
}

TEST_F(Messages, OfOnePairKeepTheirOrder) {
  start(2);
  int* const from = new_array<int>(0, std::vector<int>{1, 2, 3});
  int* const to = new_array<int>(1, 3);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(ncclSend(from + i, 1, ncclInt32, 1, comm(0), stream(0)), ncclSuccess);
    ASSERT_EQ(ncclRecv(to + i, 1, ncclInt32, 0, comm(1), stream(1)), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_THAT(values_of(to, 3, stream(1)), testing::ElementsAre(1, 2, 3));
}

TEST_F(Messages, CanBeEmpty) {
  start(2);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(nullptr, 0, ncclInt32, 1, comm(0), stream(0)), ncclSuccess);
  ASSERT_EQ(ncclRecv(nullptr, 0, ncclInt32, 0, comm(1), stream(1)), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_TRUE(finishes(stream(0)));
  EXPECT_TRUE(finishes(stream(1)));
}

TEST_F(Messages, WaitForTheOtherEnd) {
  start(2);
  int* const from = new_array<int>(0, std::vector<int>{7});
  int* const to = new_array<int>(1, 1);
  ASSERT_EQ(ncclSend(from, 1, ncclInt32, 1, comm(0), stream(0)), ncclSuccess);
  EXPECT_TRUE(stays_pending(stream(0)));
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclRecv(to, 1, ncclInt32, 0, comm(1), stream(1)), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(values_of(to, 1, stream(1))[0], 7);
  EXPECT_TRUE(finishes(stream(0)));
}

// A group may use several streams of a device: the work waits for all of them and all of them for
// the work.
TEST_F(Messages, OfSeveralStreamsAreJoined) {
  start(2);
  const cudaStream_t second = new_stream(0);
  float* const a = new_array<float>(0, std::vector<float>(4, 1));
  float* const b = new_array<float>(0, std::vector<float>(4, 0));
  float* const c = new_array<float>(1, 8);
  use(0);
  substitute::stall(second);
  launch_fill(b, 5, 4, second);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(a, 4, ncclFloat32, 1, comm(0), stream(0)), ncclSuccess);
  ASSERT_EQ(ncclSend(b, 4, ncclFloat32, 1, comm(0), second), ncclSuccess);
  ASSERT_EQ(ncclRecv(c, 4, ncclFloat32, 0, comm(1), stream(1)), ncclSuccess);
  ASSERT_EQ(ncclRecv(c + 4, 4, ncclFloat32, 0, comm(1), stream(1)), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_TRUE(stays_pending(stream(0)));
  substitute::resume(second);
  EXPECT_THAT(values_of(c, 8, stream(1)), testing::ElementsAre(1, 1, 1, 1, 5, 5, 5, 5));
  EXPECT_TRUE(finishes(second));
}

}  // namespace
