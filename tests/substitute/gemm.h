#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace substitute {

// C = alpha · op(A) · op(B) + beta · C, all by columns as cuBLAS has them. Every element is summed
// in the order of k, in single precision, whatever the types and sizes.

enum class Element { kFloat, kHalf, kBfloat };

[[nodiscard]] std::size_t bytes_of(Element element);

struct Matrix {
  Element element = Element::kFloat;
  bool is_transposed = false;
  std::int64_t rows = 0;     // as stored
  std::int64_t columns = 0;  //
  std::int64_t leading = 0;  // elements from one column to the next

  // From the first element to the last.
  [[nodiscard]] std::size_t extent_bytes() const;
};

struct Product {
  Matrix a;
  Matrix b;
  Matrix c;
  float alpha = 1;
  float beta = 0;
  bool rounds_to_tf32 = false;

  [[nodiscard]] std::int64_t m() const { return c.rows; }
  [[nodiscard]] std::int64_t n() const { return c.columns; }
  [[nodiscard]] std::int64_t k() const { return a.is_transposed ? a.rows : a.columns; }
};

void multiply(const Product& product, const std::byte* a, const std::byte* b, std::byte* c);

}  // namespace substitute
