#include "exec/known_numbers.h"

#include <algorithm>

namespace twinrun::exec {
namespace {

// How far the numbers of neighbours are apart: ranks, exchanges, and rows of an array.
constexpr std::size_t kBetweenRanks = 101;
constexpr std::size_t kBetweenExchanges = 37;
constexpr std::size_t kBetweenRows = 17;

}  // namespace

KnownNumbers::KnownNumbers(std::uint32_t ranks) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    numbers_[i] = static_cast<float>(i % kPeriod);
    std::size_t sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      sum += (i + kBetweenRanks * rank) % kPeriod;
    }
    sums_[i] = static_cast<float>(sum);
  }
}

// Rows of an array are as long as the period; each begins a bit further on.
template <class Call>
void KnownNumbers::for_each_stretch(std::uint32_t rank,
                                    Place place,
                                    std::size_t count,
                                    const Call& call) {
  const std::size_t shift = kBetweenRanks * rank + kBetweenExchanges * place.exchange;
  for (std::size_t done = 0; done < count;) {
    const std::size_t row = (place.first + done) / kPeriod;
    const std::size_t within = (place.first + done) % kPeriod;
    const std::size_t length = std::min(kPeriod - within, count - done);
    call((shift + kBetweenRows * row) % kPeriod + within, done, length);
    done += length;
  }
}

void KnownNumbers::put(std::uint32_t rank, Place place, std::span<float> into) const {
  for_each_stretch(rank, place, into.size(),
                   [&](std::size_t from, std::size_t to, std::size_t count) {
                     std::copy_n(numbers_.data() + from, count, into.data() + to);
                   });
}

std::int64_t KnownNumbers::different(const Repeated& right,
                                     std::uint32_t rank,
                                     Place place,
                                     std::span<const float> found) {
  std::int64_t count = 0;
  for_each_stretch(rank, place, found.size(),
                   [&](std::size_t from, std::size_t at, std::size_t length) {
                     for (std::size_t i = 0; i < length; ++i) {
                       count += right[from + i] == found[at + i] ? 0 : 1;
                     }
                   });
  return count;
}

std::int64_t KnownNumbers::wrong(std::uint32_t rank,
                                 Place place,
                                 std::span<const float> found) const {
  return different(numbers_, rank, place, found);
}

std::int64_t KnownNumbers::wrong_sums(Place place, std::span<const float> found) const {
  return different(sums_, 0, place, found);
}

}  // namespace twinrun::exec
