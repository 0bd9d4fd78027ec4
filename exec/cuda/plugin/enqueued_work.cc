#include <climits>
#include <stdexcept>

#include "exec/cuda/plugin/check.h"
#include "exec/cuda/plugin/cuda_gpus.h"
#include "exec/cuda/plugin/half_work.h"

// Copies, products and kernels.

namespace twinrun::exec::gpu {
namespace {

std::int64_t count_of(std::size_t size) { return static_cast<std::int64_t>(size); }

float* data_or_null(std::span<float> array) { return array.empty() ? nullptr : array.data(); }

LossOfRow loss_of(const LossRows& rows) {
  return {rows.kind,   rows.width, rows.output, rows.targets,
          rows.labels, rows.scale, nullptr,     nullptr};
}

Tiles tiles_of(const TileLocks& locks) {
  return {locks.locks, kTileLocks, kTileElements, locks.first_element};
}

int side(std::int64_t size) {
  if (size > INT_MAX) {
    throw std::runtime_error("a matrix has more than 2^31 rows or columns");
  }
  return static_cast<int>(size);
}

cublasHandle_t handle_of(const std::map<std::uintptr_t, cublasHandle_t>& handles,
                         const GpuStream& stream) {
  const auto found = handles.find(stream.handle);
  if (found == handles.end()) {
    throw std::runtime_error("a bug: the stream was not prepared for products");
  }
  return found->second;
}

// cuBLAS has columns where we have rows: it is told of the transposed product, Cᵀ = Bᵀ · Aᵀ, whose
// columns lie as our rows do.
struct ColumnProduct {
  explicit ColumnProduct(const MatrixProduct& product)
      : b_form(product.transposes_b ? CUBLAS_OP_T : CUBLAS_OP_N),
        a_form(product.transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N),
        rows(side(product.n)),
        columns(side(product.m)),
        depth(side(product.k)),
        b_stride(side(product.transposes_b ? product.k : product.n)),
        a_stride(side(product.transposes_a ? product.m : product.k)),
        beta(product.accumulates ? 1.0F : 0.0F) {}

  cublasOperation_t b_form;
  cublasOperation_t a_form;
  int rows;
  int columns;
  int depth;
  int b_stride;
  int a_stride;
  float alpha = 1;
  float beta;
};

// Operands that lie somewhere else, in another type.
struct Operands {
  const void* a;
  const void* b;
  cudaDataType_t type;
  cublasComputeType_t compute;
};

void multiply_as(cublasHandle_t handle, const MatrixProduct& product, const Operands& operands) {
  const ColumnProduct how(product);
  check(cublasGemmEx(handle, how.b_form, how.a_form, how.rows, how.columns, how.depth, &how.alpha,
                     operands.b, operands.type, how.b_stride, operands.a, operands.type,
                     how.a_stride, &how.beta, product.c, CUDA_R_32F, how.rows, operands.compute,
                     CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

template <class Half>
Operands rounded(const MatrixProduct& product,
                 cudaDataType_t type,
                 void* scratch,
                 cudaStream_t stream) {
  auto* const a = static_cast<Half*>(scratch);
  Half* const b = a + product.m * product.k;
  check(launch_each(Narrow<Half>{product.a, a}, product.m * product.k, stream), "rounding kernel");
  check(launch_each(Narrow<Half>{product.b, b}, product.k * product.n, stream), "rounding kernel");
  return {a, b, type, CUBLAS_COMPUTE_32F};
}

}  // namespace

void CudaGpus::copy(const GpuStream& stream, void* into, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, on(stream)), "cudaMemcpyAsync");
}

void CudaGpus::copy_peer(
    const GpuStream& stream, void* into, int into_device, const void* from, std::size_t bytes) {
  check(cudaMemcpyPeerAsync(into, into_device, from, stream.device, bytes, on(stream)),
        "cudaMemcpyPeerAsync");
}

void CudaGpus::call(const GpuStream& stream, void (*function)(void*), void* argument) {
  check(cudaLaunchHostFunc(on(stream), function, argument), "cudaLaunchHostFunc");
}

// A handle for each stream: one that moves from stream to stream has one workspace for all.
void CudaGpus::prepare_products(const GpuStream& stream) {
  if (products_.contains(stream.handle)) {
    return;
  }
  cudaStream_t const native = on(stream);
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  products_.emplace(stream.handle, handle);
  check(cublasSetStream(handle, native), "cublasSetStream");
}

void CudaGpus::multiply(const GpuStream& stream,
                        const MatrixProduct& product,
                        ProductMode mode,
                        void* scratch) {
  cudaStream_t const native = on(stream);
  cublasHandle_t const handle = handle_of(products_, stream);
  switch (mode) {
    case ProductMode::kFp32: {
      const ColumnProduct how(product);
      check(cublasSgemm(handle, how.b_form, how.a_form, how.rows, how.columns, how.depth,
                        &how.alpha, product.b, how.b_stride, product.a, how.a_stride, &how.beta,
                        product.c, how.rows),
            "cublasSgemm");
      return;
    }
    case ProductMode::kTf32:
      return multiply_as(handle, product,
                         {product.a, product.b, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32});
    case ProductMode::kFp16:
      return multiply_as(handle, product, rounded<__half>(product, CUDA_R_16F, scratch, native));
    case ProductMode::kBf16:
      return multiply_as(handle, product,
                         rounded<__nv_bfloat16>(product, CUDA_R_16BF, scratch, native));
  }
}

// ---- kernels

void CudaGpus::fill(const GpuStream& stream, std::span<float> array, float value) {
  check(launch_each(Fill{array.data(), value}, count_of(array.size()), on(stream)), "fill");
}

void CudaGpus::spread_bias(const GpuStream& stream,
                           std::span<const float> bias,
                           std::int64_t rows,
                           float* output) {
  const std::int64_t width = count_of(bias.size());
  check(launch_each(SpreadBias{bias.data(), output, width}, rows * width, on(stream)), "bias");
}

void CudaGpus::sum_rows(const GpuStream& stream,
                        const float* from,
                        std::int64_t rows,
                        std::span<float> into,
                        bool accumulates) {
  const std::int64_t width = count_of(into.size());
  check(launch_each(SumRows{from, into.data(), rows, width, accumulates}, width, on(stream)),
        "sum of rows");
}

void CudaGpus::activate(const GpuStream& stream,
                        Activation kind,
                        std::span<const float> input,
                        std::span<float> output) {
  const std::int64_t count = count_of(input.size());
  check(kind == Activation::kRelu
            ? launch_each(Relu{input.data(), output.data()}, count, on(stream))
            : launch_each(Tanh{input.data(), output.data()}, count, on(stream)),
        "activation");
}

void CudaGpus::activate_backward(const GpuStream& stream,
                                 Activation kind,
                                 std::span<const float> output,
                                 std::span<const float> output_gradient,
                                 std::span<float> input_gradient) {
  const std::int64_t count = count_of(output.size());
  check(
      kind == Activation::kRelu
          ? launch_each(ReluBackward{output.data(), output_gradient.data(), input_gradient.data()},
                        count, on(stream))
          : launch_each(TanhBackward{output.data(), output_gradient.data(), input_gradient.data()},
                        count, on(stream)),
      "activation's gradient");
}

void CudaGpus::losses(const GpuStream& stream, const LossRows& rows, double* into) {
  LossOfRow loss = loss_of(rows);
  loss.losses = into;
  check(launch_losses(loss, rows.rows, on(stream)), "loss");
}

void CudaGpus::loss_gradient(const GpuStream& stream, const LossRows& rows, float* gradient) {
  LossOfRow loss = loss_of(rows);
  loss.gradient = gradient;
  check(launch_loss_gradient(loss, rows.rows, on(stream)), "loss's gradient");
}

void CudaGpus::update(const GpuStream& stream,
                      const UpdateNumbers& rule,
                      const UpdatedArrays& arrays,
                      const TileLocks& locks) {
  const UpdateWeights work{rule,
                           arrays.weights.data(),
                           arrays.gradients.data(),
                           data_or_null(arrays.first_moments),
                           data_or_null(arrays.second_moments),
                           arrays.takes};
  check(launch_tiles(work, count_of(arrays.weights.size()), tiles_of(locks), on(stream)), "update");
}

void CudaGpus::add(const GpuStream& stream,
                   std::span<float> from,
                   std::span<float> into,
                   bool takes,
                   const TileLocks& locks) {
  check(launch_tiles(Add{from.data(), into.data(), takes}, count_of(from.size()), tiles_of(locks),
                     on(stream)),
        "sum");
}

void CudaGpus::take(const GpuStream& stream,
                    std::span<float> from,
                    std::span<float> into,
                    bool takes,
                    const TileLocks& locks) {
  check(launch_tiles(Take{from.data(), into.data(), takes}, count_of(from.size()), tiles_of(locks),
                     on(stream)),
        "copy of a shared array");
}

void CudaGpus::replace(const GpuStream& stream,
                       std::span<const float> from,
                       std::span<float> into) {
  check(launch_each(Replace{from.data(), into.data()}, count_of(from.size()), on(stream)),
        "replacement");
}

void CudaGpus::narrow(const GpuStream& stream,
                      std::span<const float> from,
                      WireType type,
                      void* into) {
  const std::int64_t count = count_of(from.size());
  check(
      type == WireType::kFp16
          ? launch_each(Narrow<__half>{from.data(), static_cast<__half*>(into)}, count, on(stream))
          : launch_each(Narrow<__nv_bfloat16>{from.data(), static_cast<__nv_bfloat16*>(into)},
                        count, on(stream)),
      "rounding kernel");
}

void CudaGpus::widen(const GpuStream& stream,
                     const void* from,
                     WireType type,
                     std::span<float> into) {
  const std::int64_t count = count_of(into.size());
  check(
      type == WireType::kFp16
          ? launch_each(Widen<__half>{static_cast<const __half*>(from), into.data()}, count,
                        on(stream))
          : launch_each(Widen<__nv_bfloat16>{static_cast<const __nv_bfloat16*>(from), into.data()},
                        count, on(stream)),
      "widening kernel");
}

void CudaGpus::note_time(const GpuStream& stream, std::uint64_t* when) {
  check(launch_note_time(when, on(stream)), "clock kernel");
}

void CudaGpus::hold_until(const GpuStream& stream,
                          const std::uint64_t* when,
                          std::int64_t nanoseconds) {
  check(launch_hold_until(when, nanoseconds, on(stream)), "clock kernel");
}

}  // namespace twinrun::exec::gpu
