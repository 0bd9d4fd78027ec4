#include "exec/tcp/handshake.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/backend_missing.h"

namespace twinrun::exec {
namespace {

using testing::HasSubstr;

Hello hello_of_rank(int rank, const std::string& run = "") {
  return hello_of({rank, 4, rank, "localhost", 1, run});
}

struct Pair {
  Pair() {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both.data()), 0);
    one = Socket(both[0]);
    other = Socket(both[1]);
  }
  Socket one;
  Socket other;
};

TcpClock::time_point soon() { return TcpClock::now() + std::chrono::seconds(5); }

TEST(Judge, WelcomesOneOfOurs) {
  EXPECT_EQ(judge(hello_of_rank(1), hello_of_rank(0)).verdict, Verdict::kWelcome);
}

TEST(Judge, RefusesOtherVersions) {
  Hello other = hello_of_rank(1);
  other.program = {'9', '.', '9'};
  const Judgement program = judge(other, hello_of_rank(0));
  EXPECT_EQ(program.verdict, Verdict::kWrong);
  EXPECT_THAT(program.reason, HasSubstr("rank 1 is twinrun 9.9, rank 0 is twinrun"));
  other = hello_of_rank(1);
  ++other.protocol;
  EXPECT_THAT(judge(other, hello_of_rank(0)).reason, HasSubstr("a twinrun with protocol 2"));
  EXPECT_EQ(judge(other, hello_of_rank(0)).verdict, Verdict::kWrong);
}

TEST(Judge, TellsStrangersFromThoseWhoAreWrong) {
  Hello other = hello_of_rank(1);
  other.magic[0] = 'T';
  EXPECT_EQ(judge(other, hello_of_rank(0)).verdict, Verdict::kStranger);
  EXPECT_EQ(judge(hello_of_rank(1, "a"), hello_of_rank(0, "b")).verdict, Verdict::kStranger);
  other = hello_of_rank(1);
  other.size = 5;
  const Judgement size = judge(other, hello_of_rank(0));
  EXPECT_EQ(size.verdict, Verdict::kWrong);
  EXPECT_THAT(size.reason, HasSubstr("WORLD_SIZE=5"));
}

TEST(ArrivingHello, ComesInAnyPieces) {
  Pair pair;
  ArrivingHello arriving(std::move(pair.other));
  const Hello own = hello_of_rank(0);
  const Hello sent = hello_of_rank(3);
  const auto* const bytes = reinterpret_cast<const char*>(&sent);
  for (std::size_t i = 0; i < sizeof sent; ++i) {
    EXPECT_FALSE(arriving.look(own)) << i;
    ASSERT_TRUE(write_all(pair.one, {bytes + i, 1}, soon()));
  }
  const auto judgement = arriving.look(own);
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->verdict, Verdict::kWelcome);
  EXPECT_EQ(arriving.hello().rank, 3);
}

// Of another version no more is read than what all versions have.
TEST(ArrivingHello, OfAnotherVersionIsRefusedByItsBegin) {
  Pair pair;
  ArrivingHello arriving(std::move(pair.other));
  Hello sent = hello_of_rank(3);
  sent.protocol = 77;
  ASSERT_TRUE(write_all(pair.one, {reinterpret_cast<const char*>(&sent), 16}, soon()));
  const auto judgement = arriving.look(hello_of_rank(0));
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->verdict, Verdict::kWrong);
}

TEST(ArrivingHello, IsGoneWithItsSender) {
  Pair pair;
  ArrivingHello arriving(std::move(pair.other));
  pair.one.close();
  EXPECT_FALSE(arriving.look(hello_of_rank(0)));
  EXPECT_TRUE(arriving.is_gone());
}

TEST(Answer, ArrivesAsItWasSent) {
  Pair pair;
  const SocketAddress address = any_address(AF_INET6, 4711);
  ASSERT_TRUE(write_answer(pair.one, {Verdict::kTooLate, "too late", {address, address}}, soon()));
  const auto answer = read_answer(pair.other, soon());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->verdict, Verdict::kTooLate);
  EXPECT_EQ(answer->reason, "too late");
  ASSERT_EQ(answer->listeners.size(), 2U);
  EXPECT_EQ(answer->listeners[1].text(), "[::]:4711");
}

TEST(Answer, OfAnotherProgramIsNone) {
  Pair pair;
  const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n";
  ASSERT_TRUE(write_all(pair.one, text, soon()));
  EXPECT_THROW(read_answer(pair.other, soon()), BackendMissing);
}

TEST(Addresses, AreLoopbackOrNot) {
  EXPECT_TRUE(addresses_of("127.0.1.1", 1).all.at(0).is_loopback());
  EXPECT_TRUE(addresses_of("::1", 1).all.at(0).is_loopback());
  EXPECT_TRUE(addresses_of("::ffff:127.0.0.1", 1).all.at(0).is_loopback());
  EXPECT_FALSE(addresses_of("192.0.2.7", 1).all.at(0).is_loopback());
  EXPECT_FALSE(addresses_of("2001:db8::7", 1).all.at(0).is_loopback());
  EXPECT_EQ(addresses_of("192.0.2.7", 80).all.at(0).text(), "192.0.2.7:80");
  EXPECT_TRUE(is_same_everywhere("localhost"));
  EXPECT_TRUE(is_same_everywhere("2001:db8::7"));
  EXPECT_FALSE(is_same_everywhere("node0"));
}

}  // namespace
}  // namespace twinrun::exec
