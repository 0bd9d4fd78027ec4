#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/substitute/fixture.h"
#include "tests/substitute/small_floats.h"

namespace {

class Products : public SubstituteTest {
 protected:
  void SetUp() override {
    SubstituteTest::SetUp();
    stream_ = new_stream();
    ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSetStream(handle_, stream_), CUBLAS_STATUS_SUCCESS);
  }
  cudaStream_t stream_ = nullptr;
  cublasHandle_t handle_ = nullptr;
};

// Small whole numbers: exact in every order, so that the definition can be written down naively.
float entry(int i, int j) { return static_cast<float>((i * 7 + j * 3) % 11 - 5); }

struct Shape {
  bool turns_a;
  bool turns_b;
};

class Transposed : public Products, public testing::WithParamInterface<Shape> {};

// C = 2 · op(A) · op(B) + 3 · C, each matrix inside a larger one whose rest must stay.
TEST_P(Transposed, ProductsFollowTheirDefinition) {
  constexpr int kM = 5;
  constexpr int kN = 4;
  constexpr int kK = 6;
  constexpr int kGap = 2;
  const auto [turns_a, turns_b] = GetParam();
  const int a_rows = turns_a ? kK : kM;
  const int a_columns = turns_a ? kM : kK;
  const int b_rows = turns_b ? kN : kK;
  const int b_columns = turns_b ? kK : kN;
  const auto stored = [](int rows, int columns, float rest) {
    std::vector<float> values(
        static_cast<std::size_t>(rows + kGap) * static_cast<std::size_t>(columns), rest);
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        values[static_cast<std::size_t>(j * (rows + kGap) + i)] = entry(i, j);
      }
    }
    return values;
  };
  float* const a = new_array<float>(0, stored(a_rows, a_columns, NAN));
  float* const b = new_array<float>(0, stored(b_rows, b_columns, NAN));
  float* const c = new_array<float>(0, stored(kM, kN, 77));
  const float alpha = 2;
  const float beta = 3;
  const auto turn = [](bool turns) { return turns ? CUBLAS_OP_T : CUBLAS_OP_N; };
  ASSERT_EQ(cublasSgemm(handle_, turn(turns_a), turn(turns_b), kM, kN, kK, &alpha, a, a_rows + kGap,
                        b, b_rows + kGap, &beta, c, kM + kGap),
            CUBLAS_STATUS_SUCCESS);
  const std::vector<float> result = values_of(c, std::size_t{kM + kGap} * kN, stream_);
  for (int j = 0; j < kN; ++j) {
    for (int i = 0; i < kM; ++i) {
      float sum = 0;
      for (int l = 0; l < kK; ++l) {
        sum += (turns_a ? entry(l, i) : entry(i, l)) * (turns_b ? entry(j, l) : entry(l, j));
      }
      EXPECT_EQ(result[static_cast<std::size_t>(j * (kM + kGap) + i)], 2 * sum + 3 * entry(i, j));
    }
    for (int i = kM; i < kM + kGap; ++i) {
      EXPECT_EQ(result[static_cast<std::size_t>(j * (kM + kGap) + i)], 77);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         Transposed,
                         testing::Values(Shape{false, false},
                                         Shape{true, false},
                                         Shape{false, true},
                                         Shape{true, true}));

TEST_F(Products, WithBetaZeroDoNotReadTheResult) {
  float* const a = new_array<float>(0, std::vector<float>{2});
  float* const c = new_array<float>(0, std::vector<float>{NAN});
  const float one = 1;
  const float zero = 0;
  ASSERT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &zero, c, 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(values_of(c, 1, stream_)[0], 4);
}

// 1 + 2^-24 + 2^-24 + …: added to 1 one by one each is lost; from the small end they would count.
TEST_F(Products, AreSummedInTheOrderOfK) {
  constexpr int kK = 5;
  const float tiny = std::ldexp(1.0F, -24);
  float* const ascending = new_array<float>(0, std::vector<float>{1, tiny, tiny, tiny, tiny});
  float* const descending = new_array<float>(0, std::vector<float>{tiny, tiny, tiny, tiny, 1});
  float* const ones = new_array<float>(0, std::vector<float>(kK, 1));
  float* const c = new_array<float>(0, 2);
  const float one = 1;
  const float zero = 0;
  for (int which = 0; which < 2; ++which) {
    ASSERT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, kK, &one,
                          which == 0 ? ascending : descending, 1, ones, kK, &zero, c + which, 1),
              CUBLAS_STATUS_SUCCESS);
  }
  const std::vector<float> sums = values_of(c, 2, stream_);
  EXPECT_EQ(sums[0], 1.0F);
  EXPECT_EQ(sums[1], 1.0F + 4 * tiny);
}

TEST_F(Products, InTf32RoundTheFactorsToTenBits) {
  const float beyond = 1 + std::ldexp(1.0F, -10) + std::ldexp(1.0F, -12);  // rounds to 1 + 2^-10
  float* const a = new_array<float>(0, std::vector<float>{beyond});
  float* const b = new_array<float>(0, std::vector<float>{1});
  float* const c = new_array<float>(0, 3);
  const float one = 1;
  const float zero = 0;
  const auto product = [&](float* to) {
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, to, 1);
  };
  ASSERT_EQ(product(c), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(product(c + 1), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_32F, 1, b,
                         CUDA_R_32F, 1, &zero, c + 2, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F_FAST_TF32,
                         CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  const float rounded = 1 + std::ldexp(1.0F, -10);
  EXPECT_THAT(values_of(c, 3, stream_), testing::ElementsAre(beyond, rounded, rounded));
}

struct SmallType {
  cudaDataType type;
  std::uint16_t (*store)(float);
  float (*load)(std::uint16_t);
  int bits;  // of the mantissa, with the hidden one
};

class SmallTypes : public Products, public testing::WithParamInterface<SmallType> {};

// 256 · 256 · 16 = 2^20 is more than a half can count one by one: the sum is kept in single
// precision.
TEST_P(SmallTypes, AreSummedInSinglePrecision) {
  const SmallType small = GetParam();
  constexpr int kK = 16;
  float* const c_single = new_array<float>(0, 1);
  std::uint16_t* const c_small = new_array<std::uint16_t>(0, 1);
  std::vector<std::uint16_t> values(kK, small.store(8));
  values[0] = small.store(1);
  std::uint16_t* const a = new_array<std::uint16_t>(0, values);
  std::uint16_t* const b =
      new_array<std::uint16_t>(0, std::vector<std::uint16_t>(kK, small.store(128)));
  const float one = 1;
  const float zero = 0;
  const auto product = [&](void* to, cudaDataType type) {
    return cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, kK, &one, a, small.type, 1, b,
                        small.type, kK, &zero, to, type, 1, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
  };
  ASSERT_EQ(product(c_single, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(product(c_small, small.type), CUBLAS_STATUS_SUCCESS);
  const float exact = 128 + 15 * 1024;  // 15488 = 2^7 · 121: seven bits
  EXPECT_EQ(values_of(c_single, 1, stream_)[0], exact);
  EXPECT_EQ(small.load(values_of(c_small, 1, stream_)[0]), exact);
}

TEST_P(SmallTypes, RoundToTheNearestAndTiesToEven) {
  const SmallType small = GetParam();
  const auto around = [&](float value) { return small.load(small.store(value)); };
  const float last = std::ldexp(1.0F, 1 - small.bits);  // the last bit of 1
  EXPECT_EQ(around(1 + last), 1 + last);
  EXPECT_EQ(around(1 + last / 2), 1);
  EXPECT_EQ(around(1 + last + last / 2), 1 + 2 * last);
  EXPECT_EQ(around(1 + last / 2 + last / 8), 1 + last);
  EXPECT_EQ(around(-1 - last / 2 - last / 8), -1 - last);
  EXPECT_EQ(around(0), 0);
  EXPECT_TRUE(std::signbit(around(-0.0F)));
  EXPECT_TRUE(std::isnan(around(NAN)));
  EXPECT_EQ(around(INFINITY), INFINITY);
  EXPECT_EQ(around(-INFINITY), -INFINITY);
}

INSTANTIATE_TEST_SUITE_P(All,
                         SmallTypes,
                         testing::Values(SmallType{CUDA_R_16F, substitute::half_of_float,
                                                   substitute::float_of_half, 11},
                                         SmallType{CUDA_R_16BF, substitute::bfloat_of_float,
                                                   substitute::float_of_bfloat, 8}));

// All 65536 bits there and back; and the ends of the range, as IEEE 754 has them.
TEST(SmallFloats, HalvesAreExact) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = substitute::float_of_half(half);
    if (std::isnan(value)) {
      EXPECT_EQ(bits & 0x7C00U, 0x7C00U);
      EXPECT_NE(bits & 0x3FFU, 0U);
    } else {
      EXPECT_EQ(substitute::half_of_float(value), half);
    }
  }
  EXPECT_EQ(substitute::float_of_half(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(substitute::float_of_half(0x7BFF), 65504.0F);
  EXPECT_EQ(substitute::half_of_float(65519.0F), 0x7BFF);
  EXPECT_EQ(substitute::half_of_float(65520.0F), 0x7C00) << "half way to 2^16 is infinite";
  EXPECT_EQ(substitute::half_of_float(std::ldexp(1.0F, -25)), 0x0000) << "a tie, to even";
  EXPECT_EQ(substitute::half_of_float(std::ldexp(1.5F, -24)), 0x0002) << "a tie, to even";
  EXPECT_EQ(substitute::half_of_float(std::nextafter(std::ldexp(1.0F, -14), 0.0F)), 0x0400);
}

TEST_F(Products, RefuseWhatCublasRefuses) {
  float* const a = new_array<float>(0, 16);
  const float one = 1;
  const auto product = [&](int m, int n, int k, int lda, int ldb, int ldc) {
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, a, ldb, &one, a,
                       ldc);
  };
  EXPECT_EQ(product(4, 4, 4, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product(-1, 4, 4, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product(4, 4, 4, 3, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product(4, 4, 4, 4, 3, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product(4, 4, 4, 4, 4, 3), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product(0, 4, 4, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(
      cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16F, 1, a,
                   CUDA_R_32F, 1, &one, a, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(
      cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_64F, 1, a,
                   CUDA_R_64F, 1, &one, a, CUDA_R_64F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(Products, AreTheHandlesDevices) {
  float* const a = new_array<float>(0, 1);
  const float one = 1;
  const auto product = [&] {
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &one, a, 1);
  };
  use(1);
  EXPECT_EQ(product(), CUBLAS_STATUS_EXECUTION_FAILED) << "another device is current";
  ASSERT_EQ(cublasSetStream(handle_, new_stream(1)), CUBLAS_STATUS_SUCCESS);
  use(0);
  EXPECT_EQ(product(), CUBLAS_STATUS_EXECUTION_FAILED) << "the stream is another device's";
  ASSERT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product(), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(Products, TakeTheirFactorsFromTheDeviceWhenAsked) {
  float* const a = new_array<float>(0, std::vector<float>{3});
  float* const c = new_array<float>(0, std::vector<float>{1});
  float* const alpha = new_array<float>(0, std::vector<float>{2});
  float* const beta = new_array<float>(0, std::vector<float>{5});
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, alpha, a, 1, a, 1, beta, c, 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(values_of(c, 1, stream_)[0], 2 * 9 + 5);
}

}  // namespace
