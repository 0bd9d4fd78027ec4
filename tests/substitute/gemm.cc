#include "tests/substitute/gemm.h"

#include <cstring>

#include "tests/substitute/sanitizers.h"
#include "tests/substitute/small_floats.h"

namespace substitute {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

float load(const std::byte* at, Element element) {
  if (element == Element::kFloat) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return element == Element::kHalf ? float_of_half(bits) : float_of_bfloat(bits);
}

void store(float value, std::byte* at, Element element) {
  if (element == Element::kFloat) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const std::uint16_t bits =
      element == Element::kHalf ? half_of_float(value) : bfloat_of_float(value);
  std::memcpy(at, &bits, sizeof bits);
}

// Tells ThreadSanitizer about the elements, column by column: what lies between columns is not
// touched.
template <class Declare>
void declare_columns(const Matrix& matrix, const std::byte* data, Declare declare) {
  const std::size_t size = bytes_of(matrix.element);
  for (std::int64_t j = 0; j < matrix.columns; ++j) {
    declare(data + index(j * matrix.leading) * size, index(matrix.rows) * size);
  }
}

// op(matrix) as floats, by columns without gaps.
SUBSTITUTE_UNWATCHED std::vector<float> packed(const Matrix& matrix,
                                               const std::byte* data,
                                               bool rounds_to_tf32) {
  std::vector<float> values(index(matrix.rows * matrix.columns));
  const std::size_t size = bytes_of(matrix.element);
  for (std::int64_t j = 0; j < matrix.columns; ++j) {
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
      const float value = load(data + index(j * matrix.leading + i) * size, matrix.element);
      const std::int64_t to = matrix.is_transposed ? i * matrix.columns + j : j * matrix.rows + i;
      values[index(to)] = rounds_to_tf32 ? tf32_of_float(value) : value;
    }
  }
  return values;
}

// sums(i) += a(i) · factor for a whole column: the inner loop runs over neighbours.
SUBSTITUTE_UNWATCHED void add_multiples(
    const float* a, const float* factors, std::int64_t m, std::int64_t k, float* sums) {
  for (std::int64_t l = 0; l < k; ++l) {
    const float factor = factors[l];
    const float* const column = a + l * m;
    for (std::int64_t i = 0; i < m; ++i) {
      sums[i] += column[i] * factor;
    }
  }
}

SUBSTITUTE_UNWATCHED void store_column(const Product& product,
                                       const std::vector<float>& sums,
                                       std::byte* column) {
  const Element element = product.c.element;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::byte* const at = column + i * bytes_of(element);
    // With beta 0 cuBLAS does not read C: it may hold anything.
    const float before = product.beta == 0.0F ? 0.0F : product.beta * load(at, element);
    store(product.alpha * sums[i] + before, at, element);
  }
}

}  // namespace

std::size_t bytes_of(Element element) { return element == Element::kFloat ? 4 : 2; }

std::size_t Matrix::extent_bytes() const {
  if (rows == 0 || columns == 0) {
    return 0;
  }
  return index((columns - 1) * leading + rows) * bytes_of(element);
}

void multiply(const Product& product, const std::byte* a, const std::byte* b, std::byte* c) {
  declare_columns(product.a, a, reads);
  declare_columns(product.b, b, reads);
  if (product.beta != 0.0F) {
    declare_columns(product.c, c, reads);
  }
  declare_columns(product.c, c, writes);
  const std::vector<float> left = packed(product.a, a, product.rounds_to_tf32);
  const std::vector<float> right = packed(product.b, b, product.rounds_to_tf32);
  std::vector<float> sums(index(product.m()));
  for (std::int64_t j = 0; j < product.n(); ++j) {
    sums.assign(sums.size(), 0.0F);
    add_multiples(left.data(), right.data() + j * product.k(), product.m(), product.k(),
                  sums.data());
    store_column(product, sums, c + index(j * product.c.leading) * bytes_of(product.c.element));
  }
}

}  // namespace substitute
