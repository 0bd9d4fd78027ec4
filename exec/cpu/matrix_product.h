#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/training/tensor_kernels.h"

namespace twinrun::exec {

// OpenBLAS where it is installed, one thread a call; or loops of ours, whose results have the same
// bits on every machine.
enum class ProductLibrary : std::uint8_t { kOpenBlas, kBuiltIn };

class Products {
 public:
  // Opens the library. OpenBLAS chooses its kernels by CPU model when it is opened, and knows no
  // recent ones: unless OPENBLAS_CORETYPE is set, it is set here by what the CPU can do. So this is
  // to be called before there are threads.
  explicit Products(ProductLibrary wanted);

  void multiply(const MatrixProduct& product) const;
  [[nodiscard]] const std::string& name() const { return name_; }        // "openblas SkylakeX"
  [[nodiscard]] const std::string& warning() const { return warning_; }  // "" when all is well

 private:
  using Sgemm = void (*)(int order,
                         int transpose_a,
                         int transpose_b,
                         int m,
                         int n,
                         int k,
                         float alpha,
                         const float* a,
                         int lda,
                         const float* b,
                         int ldb,
                         float beta,
                         float* c,
                         int ldc);
  bool open_openblas();

  Sgemm sgemm_ = nullptr;
  std::string name_ = "built-in";
  std::string warning_;
};

}  // namespace twinrun::exec
