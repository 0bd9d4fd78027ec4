#include "tests/substitute/reductions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/substitute/small_floats.h"

namespace substitute {
namespace {

// How a type is stored, and what it is computed in.
template <class Stored, class Value, Value (*Load)(Stored), Stored (*Store)(Value)>
struct Format {
  using StoredType = Stored;
  using ValueType = Value;
  static Value load(Stored stored) { return Load(stored); }
  static Stored store(Value value) { return Store(value); }
};

template <class T>
T same(T value) {
  return value;
}
template <class T>
using Plain = Format<T, T, same<T>, same<T>>;
using Half = Format<std::uint16_t, float, float_of_half, half_of_float>;
using Bfloat = Format<std::uint16_t, float, float_of_bfloat, bfloat_of_float>;

// Whole numbers wrap around, as on a GPU.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <class T>
T multiply_values(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T combine(T a, T b, ncclRedOp_t operation) {
  switch (operation) {
    case ncclProd:
      return multiply_values(a, b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return add(a, b);
  }
}

template <class FormatType>
void reduce_as(std::byte* into, const std::byte* from, std::size_t count, ncclRedOp_t operation) {
  using Stored = typename FormatType::StoredType;
  for (std::size_t i = 0; i < count; ++i) {
    Stored a;
    Stored b;
    std::memcpy(&a, into + i * sizeof(Stored), sizeof(Stored));
    std::memcpy(&b, from + i * sizeof(Stored), sizeof(Stored));
    const Stored sum =
        FormatType::store(combine(FormatType::load(a), FormatType::load(b), operation));
    std::memcpy(into + i * sizeof(Stored), &sum, sizeof(Stored));
  }
}

template <class FormatType>
void divide_as(std::byte* into, std::size_t count, int ranks) {
  using Stored = typename FormatType::StoredType;
  using Value = typename FormatType::ValueType;
  for (std::size_t i = 0; i < count; ++i) {
    Stored sum;
    std::memcpy(&sum, into + i * sizeof(Stored), sizeof(Stored));
    const Stored mean =
        FormatType::store(static_cast<Value>(FormatType::load(sum) / static_cast<Value>(ranks)));
    std::memcpy(into + i * sizeof(Stored), &mean, sizeof(Stored));
  }
}

// Calls with the format of the type as an empty object.
template <class Body>
void with_format(ncclDataType_t type, Body body) {
  switch (type) {
    case ncclInt8:
      return body(Plain<std::int8_t>{});
    case ncclUint8:
      return body(Plain<std::uint8_t>{});
    case ncclInt32:
      return body(Plain<std::int32_t>{});
    case ncclUint32:
      return body(Plain<std::uint32_t>{});
    case ncclInt64:
      return body(Plain<std::int64_t>{});
    case ncclUint64:
      return body(Plain<std::uint64_t>{});
    case ncclFloat16:
      return body(Half{});
    case ncclFloat32:
      return body(Plain<float>{});
    case ncclFloat64:
      return body(Plain<double>{});
    case ncclBfloat16:
      return body(Bfloat{});
    default:
      return;
  }
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  std::size_t bytes = 0;
  with_format(type, [&](auto format) { bytes = sizeof(typename decltype(format)::StoredType); });
  return bytes;
}

bool is_offered(ncclRedOp_t operation) {
  return operation == ncclSum || operation == ncclProd || operation == ncclMax ||
         operation == ncclMin || operation == ncclAvg;
}

void reduce_into(std::byte* into,
                 const std::byte* from,
                 std::size_t count,
                 ncclDataType_t type,
                 ncclRedOp_t operation) {
  with_format(type,
              [&](auto format) { reduce_as<decltype(format)>(into, from, count, operation); });
}

void finish_reduction(
    std::byte* into, std::size_t count, ncclDataType_t type, ncclRedOp_t operation, int ranks) {
  if (operation == ncclAvg) {
    with_format(type, [&](auto format) { divide_as<decltype(format)>(into, count, ranks); });
  }
}

}  // namespace substitute
