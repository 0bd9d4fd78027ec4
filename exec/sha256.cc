#include "exec/sha256.h"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace twinrun::exec {
namespace {

using Words = std::array<std::uint32_t, 64>;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr Words kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t kBlock = 64;

// The message, a one bit, zeros, and its length in bits: whole blocks.
std::vector<std::uint8_t> padded(std::span<const std::byte> data) {
  std::vector<std::uint8_t> out;
  out.reserve(data.size() + 2 * kBlock);
  for (const std::byte byte : data) {
    out.push_back(std::to_integer<std::uint8_t>(byte));
  }
  out.push_back(0x80);
  while (out.size() % kBlock != kBlock - 8) {
    out.push_back(0);
  }
  const std::uint64_t bits = std::uint64_t{data.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return out;
}

Words schedule_of(const std::uint8_t* block) {
  Words w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      w[i] = (w[i] << 8) | block[4 * i + k];
    }
  }
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    const std::uint32_t first = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    const std::uint32_t second = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    w[i] = w[i - 16] + first + w[i - 7] + second;
  }
  return w;
}

void digest_block(const std::uint8_t* block, std::array<std::uint32_t, 8>& hash) {
  const Words w = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = hash;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t of_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t first = h + of_e + choice + kRound[i] + w[i];
    const std::uint32_t of_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t second = of_a + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < hash.size(); ++i) {
    hash[i] += added[i];
  }
}

}  // namespace

std::string sha256(std::span<const std::byte> data) {
  // … of the square roots of the first eight primes.
  std::array<std::uint32_t, 8> hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::vector<std::uint8_t> message = padded(data);
  for (std::size_t at = 0; at < message.size(); at += kBlock) {
    digest_block(message.data() + at, hash);
  }
  std::string out;
  for (const std::uint32_t word : hash) {
    out += fmt::format("{:08x}", word);
  }
  return out;
}

}  // namespace twinrun::exec
