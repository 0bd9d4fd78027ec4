#include "exec/cpu/matrix_product.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include <dlfcn.h>

namespace twinrun::exec {
namespace {

// CBLAS's numbers; its header is not needed to call what is opened at run time.
constexpr int kRowMajor = 101;
constexpr int kPlain = 111;
constexpr int kTransposed = 112;

// Where OpenBLAS does not know the CPU it takes kernels for one of 2004.
constexpr const char* kOldestCore = "Prescott";

const char* core_type() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return "Haswell";
  }
#endif
  return nullptr;
}

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::vector<float> transposed(const float* from, std::int64_t rows, std::int64_t columns) {
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      out[static_cast<std::size_t>(j * rows + i)] = from[i * columns + j];
    }
  }
  return out;
}

// Rows of C are sums of rows of B, in the order of k: the inner loop runs over neighbours, and
// every element is summed in the same order whatever the sizes.
void multiply_rows(const MatrixProduct& product, const float* b) {
  for (std::int64_t i = 0; i < product.m; ++i) {
    float* const row = product.c + i * product.n;
    if (!product.accumulates) {
      std::fill(row, row + product.n, 0.0F);
    }
    for (std::int64_t k = 0; k < product.k; ++k) {
      const float factor =
          product.transposes_a ? product.a[k * product.m + i] : product.a[i * product.k + k];
      const float* const from = b + k * product.n;
      for (std::int64_t j = 0; j < product.n; ++j) {
        row[j] += factor * from[j];
      }
    }
  }
}

}  // namespace

Products::Products(ProductLibrary wanted) {
  if (wanted == ProductLibrary::kOpenBlas && !open_openblas()) {
    warning_ = "OpenBLAS is not installed: matrix products run in plain loops";
  }
}

bool Products::open_openblas() {
  if (const char* const core = core_type(); core != nullptr) {
    setenv("OPENBLAS_CORETYPE", core, 0);  // NOLINT(concurrency-mt-unsafe): before any thread
  }
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return false;
  }
  sgemm_ = symbol<Sgemm>(library, "cblas_sgemm");
  const auto set_threads = symbol<void (*)(int)>(library, "openblas_set_num_threads");
  const auto core_name = symbol<const char* (*)()>(library, "openblas_get_corename");
  if (sgemm_ == nullptr || set_threads == nullptr || core_name == nullptr) {
    sgemm_ = nullptr;
    return false;
  }
  set_threads(1);
  name_ = std::string("openblas ") + core_name();
  if (name_.ends_with(kOldestCore)) {
    warning_ = "OpenBLAS does not know this CPU and runs kernels of 2004: set OPENBLAS_CORETYPE";
  }
  return true;
}

namespace {

// The library counts rows and columns by int.
int counted(std::int64_t rows) {
  if (rows > std::numeric_limits<int>::max()) {
    throw std::runtime_error("a matrix of " + std::to_string(rows) +
                             " rows or columns is more than OpenBLAS can count");
  }
  return static_cast<int>(rows);
}

}  // namespace

void Products::multiply(const MatrixProduct& product) const {
  if (sgemm_ == nullptr) {
    if (product.transposes_b) {
      multiply_rows(product, transposed(product.b, product.n, product.k).data());
    } else {
      multiply_rows(product, product.b);
    }
    return;
  }
  sgemm_(kRowMajor, product.transposes_a ? kTransposed : kPlain,
         product.transposes_b ? kTransposed : kPlain, counted(product.m), counted(product.n),
         counted(product.k), 1.0F, product.a, counted(product.transposes_a ? product.m : product.k),
         product.b, counted(product.transposes_b ? product.k : product.n),
         product.accumulates ? 1.0F : 0.0F, product.c, counted(product.n));
}

}  // namespace twinrun::exec
