#include "exec/tcp/tcp_transport.h"

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/not_all_came.h"

namespace twinrun::exec {
namespace {

constexpr std::size_t kLarge = 3'000'000;  // bytes: offered, and in many pieces

// Each two connected; in one thread, or each in its own.
std::vector<std::unique_ptr<Transport>> connected(int size) {
  std::vector<std::vector<Socket>> sockets(static_cast<std::size_t>(size));
  for (auto& row : sockets) {
    row.resize(static_cast<std::size_t>(size));
  }
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    for (std::size_t k = i + 1; k < sockets.size(); ++k) {
      std::array<int, 2> both{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both.data()), 0);
      sockets[i][k] = Socket(both[0]);
      sockets[k][i] = Socket(both[1]);
    }
  }
  std::vector<std::unique_ptr<Transport>> out;
  for (int rank = 0; rank < size; ++rank) {
    out.push_back(transport_over(rank, std::move(sockets[static_cast<std::size_t>(rank)])));
  }
  return out;
}

std::string text_of(std::size_t size, char first) {
  std::string out(size, ' ');
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<char>(first + static_cast<char>(i * 7 % 51));
  }
  return out;
}

// Until it is done, while the others go on too.
Arrival finish(Transport& own, Request request, const std::vector<Transport*>& others = {}) {
  for (int look = 0; look < 10'000'000; ++look) {
    if (const auto arrival = own.test(request)) {
      return *arrival;
    }
    for (Transport* const other : others) {
      std::array<char, 1> byte{};
      Request nothing = other->receive_bytes(byte, {other->rank(), look, 999});
      other->test(nothing);
    }
  }
  ADD_FAILURE() << "it never ends";
  return {};
}

TEST(TcpTransport, KeepsTheOrderOfOneSenderAndTag) {
  const auto transports = connected(2);
  const std::string first = "first";
  const std::string second = "second";
  const std::string other = "other tag";
  Request sent = transports[0]->send_bytes(first, {1, 5, 0});
  EXPECT_TRUE(transports[0]->test(sent));  // small: it has left before anybody wants it
  transports[0]->send_bytes(second, {1, 5, 0});
  transports[0]->send_bytes(other, {1, 6, 0});
  std::array<std::string, 3> got = {std::string(20, ' '), std::string(20, ' '),
                                    std::string(20, ' ')};
  const Request of_other = transports[1]->receive_bytes(got[2], {0, 6, 0});
  const Request of_first = transports[1]->receive_bytes(got[0], {0, 5, 0});
  const Request of_second = transports[1]->receive_bytes(got[1], {0, 5, 0});
  EXPECT_EQ(finish(*transports[1], of_second).bytes, 6);
  EXPECT_EQ(finish(*transports[1], of_first).bytes, 5);
  EXPECT_EQ(finish(*transports[1], of_other).bytes, 9);
  EXPECT_EQ(got[0].substr(0, 5), first);
  EXPECT_EQ(got[1].substr(0, 6), second);
  EXPECT_EQ(got[2].substr(0, 9), other);
}

TEST(TcpTransport, TakesFromAnybody) {
  const auto transports = connected(3);
  const std::string word = "word";
  transports[2]->send_bytes(word, {0, 1, 0});
  std::string got(4, ' ');
  const Arrival arrival =
      finish(*transports[0], transports[0]->receive_bytes(got, {Transport::kAnybody, 1, 0}));
  EXPECT_EQ(arrival.from, 2);
  EXPECT_EQ(arrival.bytes, 4);
  EXPECT_EQ(got, word);
}

TEST(TcpTransport, ALargeMessageStaysWithItsSenderUntilItIsWanted) {
  const auto transports = connected(2);
  const std::string large = text_of(kLarge, 'a');
  Request sent = transports[0]->send_bytes(large, {1, 1, 0});
  std::string note(5, ' ');
  Request noted = transports[1]->receive_bytes(note, {0, 2, 0});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(transports[1]->test(noted));
    ASSERT_FALSE(transports[0]->test(sent));
  }
  std::string got(kLarge, ' ');
  Request received = transports[1]->receive_bytes(got, {0, 1, 0});
  EXPECT_FALSE(transports[1]->test(received));
  EXPECT_FALSE(transports[0]->test(sent));  // begins to send: more than the system takes at once
  const std::string small = "small";
  transports[0]->send_bytes(small, {1, 2, 0});
  finish(*transports[1], noted, {transports[0].get()});
  EXPECT_EQ(note, small);
  EXPECT_FALSE(transports[1]->test(received));  // it was passed on its way
  bool has_left = false;
  std::optional<Arrival> arrival;
  while (!has_left || !arrival) {
    has_left = has_left || transports[0]->test(sent);
    arrival = arrival ? arrival : transports[1]->test(received);
  }
  EXPECT_EQ(arrival->bytes, static_cast<std::int64_t>(kLarge));
  EXPECT_EQ(got, large);
}

TEST(TcpTransport, SendsToItself) {
  const auto transports = connected(1);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, kLarge}) {
    const std::string sent = text_of(size, 'A');
    std::string got(size, ' ');
    const Request out = transports[0]->send_bytes(sent, {0, 1, 0});
    EXPECT_EQ(finish(*transports[0], transports[0]->receive_bytes(got, {0, 1, 0})).from, 0);
    finish(*transports[0], out);
    EXPECT_EQ(got, sent);
    const Request in = transports[0]->receive_bytes(got, {0, 2, 0});
    finish(*transports[0], transports[0]->send_bytes(sent, {0, 2, 0}));
    finish(*transports[0], in);
  }
}

TEST(TcpTransport, SaysThatAMessageIsTooLong) {
  const auto transports = connected(2);
  const std::string sent = "twelve bytes";
  transports[0]->send_bytes(sent, {1, 1, 0});
  std::string got(5, ' ');
  const Request request = transports[1]->receive_bytes(got, {0, 1, 0});
  EXPECT_THROW(finish(*transports[1], request), std::runtime_error);
}

TEST(TcpTransport, CountsCommunicatorsAlikeEverywhere) {
  const auto transports = connected(2);
  EXPECT_EQ(transports[0]->add_communicator({}), 0);
  const std::array<int, 1> one = {1};
  EXPECT_EQ(transports[0]->add_communicator(one), -1);
  EXPECT_EQ(transports[0]->add_communicator({}), 2);
  transports[1]->add_communicator({});
  EXPECT_EQ(transports[1]->add_communicator(one), 1);
}

TEST(TcpTransport, SeesThatAnotherDied) {
  auto transports = connected(2);
  const std::string last = "last words";
  transports[1]->send_bytes(last, {0, 1, 0});
  transports[1]->abort(1);
  std::string got(last.size(), ' ');
  finish(*transports[0], transports[0]->receive_bytes(got, {1, 1, 0}));
  EXPECT_EQ(got, last);
  Request more = transports[0]->receive_bytes(got, {1, 1, 0});
  while (!transports[0]->has_died(1)) {
    EXPECT_FALSE(transports[0]->test(more));
  }
  EXPECT_FALSE(transports[0]->has_died(0));
  transports[0]->send_bytes(last, {1, 1, 0});  // goes nowhere, and hurts nobody
  EXPECT_FALSE(transports[0]->test(more));
}

TEST(TcpTransport, WhoSaysGoodbyeHasNotDied) {
  auto transports = connected(2);
  std::thread other([&] { transports[1]->finish(); });
  std::string got(1, ' ');
  Request never = transports[0]->receive_bytes(got, {1, 1, 0});
  EXPECT_THROW(finish(*transports[0], never), std::runtime_error);
  EXPECT_FALSE(transports[0]->has_died(1));
  transports[0]->finish();
  other.join();
}

// Every process sends every other messages of many sizes and tags, in an order of its own.
TEST(TcpTransport, BringsEverythingInAnyOrder) {
  constexpr int kProcesses = 3;
  constexpr int kMessages = 60;
  auto transports = connected(kProcesses);
  const auto size_of = [](int from, int to, int message) {
    constexpr std::array<std::size_t, 6> kSizes = {0, 1, 1000, 65536, 65537, 700'001};
    return kSizes[static_cast<std::size_t>(from + 2 * to + message) % kSizes.size()];
  };
  const auto exchange = [&](int rank) {
    Transport& own = *transports[static_cast<std::size_t>(rank)];
    std::vector<Address> order;
    for (int other = 0; other < kProcesses; ++other) {
      for (int message = 0; message < kMessages; ++message) {
        order.push_back({other, message, 0});
      }
    }
    std::mt19937 random(static_cast<unsigned>(rank));
    std::vector<std::string> sent;
    std::vector<std::string> got;
    std::vector<Request> open;
    sent.reserve(order.size());
    got.reserve(order.size());
    std::shuffle(order.begin(), order.end(), random);
    for (const Address& to : order) {
      sent.push_back(text_of(size_of(rank, to.process, to.tag), static_cast<char>('A' + rank)));
      open.push_back(own.send_bytes(sent.back(), to));
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const Address& from : order) {
      got.emplace_back(size_of(from.process, rank, from.tag), ' ');
      open.push_back(own.receive_bytes(got.back(), from));
    }
    while (!open.empty()) {
      std::erase_if(open, [&](Request& request) { return own.test(request).has_value(); });
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(got[i], text_of(size_of(order[i].process, rank, order[i].tag),
                                static_cast<char>('A' + order[i].process)));
    }
    own.finish();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kProcesses; ++rank) {
    threads.emplace_back(exchange, rank);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

int free_port() {
  const Socket probe = listen_at(any_address(AF_INET, 0));
  return own_address(probe).port();
}

TEST(OpenTcp, ConnectsEachTwo) {
  constexpr int kProcesses = 5;
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kProcesses; ++rank) {
    threads.emplace_back([rank, port] {
      const auto own = open_tcp({rank, kProcesses, rank, "127.0.0.1", port, ""}, 60);
      std::array<int, kProcesses> got{};
      std::vector<Request> open;
      const auto bytes_of = [](const int& number) {
        return std::span(reinterpret_cast<const char*>(&number), sizeof number);
      };
      for (int other = 0; other < kProcesses; ++other) {
        int& place = got[static_cast<std::size_t>(other)];
        open.push_back(
            own->receive_bytes({reinterpret_cast<char*>(&place), sizeof place}, {other, 0, 0}));
        open.push_back(own->send_bytes(bytes_of(rank), {other, 0, 0}));
      }
      while (!open.empty()) {
        std::erase_if(open, [&](Request& request) { return own->test(request).has_value(); });
      }
      EXPECT_THAT(got, testing::ElementsAre(0, 1, 2, 3, 4));
      own->finish();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(OpenTcp, NamesWhoHasNotCome) {
  const int port = free_port();
  std::atomic<int> told = 0;
  const auto join = [&](int rank) {
    try {
      open_tcp({rank, 3, rank, "127.0.0.1", port, ""}, 1);
    } catch (const NotAllCame& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("rank 2 has not come to rank 0 within 1.0 s"));
      ++told;
    }
  };
  std::thread other(join, 1);
  join(0);
  other.join();
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace twinrun::exec
