// The calls of cuBLAS.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <cublas_v2.h>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/gemm.h"
#include "tests/substitute/handles.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/streams.h"

// cuBLAS's name for what its handle points at.
struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace substitute {
namespace {

struct Handles {
  std::mutex mutex;
  std::map<cublasHandle_t, std::unique_ptr<cublasContext>> live;
};

Handles& handles() {
  static Handles& only = *new Handles;  // never destroyed, as the streams that use them
  return only;
}

cublasContext* find_handle(cublasHandle_t handle) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  const auto found = all.live.find(handle);
  return found == all.live.end() ? nullptr : found->second.get();
}

// As a caller gives it: pointers, and shapes after the transposition.
struct ProductCall {
  const char* function = "";
  cublasOperation_t a_operation = CUBLAS_OP_N;
  cublasOperation_t b_operation = CUBLAS_OP_N;
  int m = 0;
  int n = 0;
  int k = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int a_leading = 0;
  int b_leading = 0;
  int c_leading = 0;
  std::optional<Element> a_element = Element::kFloat;
  std::optional<Element> b_element = Element::kFloat;
  std::optional<Element> c_element = Element::kFloat;
  bool rounds_to_tf32 = false;
};

std::optional<Element> element_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_32F:
      return Element::kFloat;
    case CUDA_R_16F:
      return Element::kHalf;
    case CUDA_R_16BF:
      return Element::kBfloat;
    default:
      return std::nullopt;
  }
}

Matrix factor(Element element, cublasOperation_t operation, int rows, int columns, int leading) {
  const bool is_transposed = operation != CUBLAS_OP_N;
  return {element, is_transposed, is_transposed ? columns : rows, is_transposed ? rows : columns,
          leading};
}

bool has_valid_shape(const ProductCall& call, const Product& product) {
  return call.m >= 0 && call.n >= 0 && call.k >= 0 &&
         call.a_leading >= std::max<std::int64_t>(1, product.a.rows) &&
         call.b_leading >= std::max<std::int64_t>(1, product.b.rows) &&
         call.c_leading >= std::max<std::int64_t>(1, product.c.rows) && call.alpha != nullptr &&
         call.beta != nullptr;
}

// TWINRUN_SUBSTITUTE_PRODUCTS=skipped: they take their time on the virtual clock, and the result is
// whatever was there. For shapes that are a GPU's work and minutes of a CPU's.
bool computes_products() {
  static const bool computes = [] {
    const char* const asked = std::getenv("TWINRUN_SUBSTITUTE_PRODUCTS");
    return asked == nullptr || std::string_view(asked) != "skipped";
  }();
  return computes;
}

void run_product(const ProductCall& call, Product product, const cublasContext& context) {
  const Accessor accessor{call.function, context.device, true};
  const DeviceMemory& memory = device_memory();
  if (context.pointers == CUBLAS_POINTER_MODE_DEVICE) {
    const Bytes alpha = memory.access(call.alpha, sizeof(float), accessor);
    const Bytes beta = memory.access(call.beta, sizeof(float), accessor);
    const Visible visible;
    std::memcpy(&product.alpha, alpha.data, sizeof(float));
    std::memcpy(&product.beta, beta.data, sizeof(float));
  }
  const Bytes a = memory.access(call.a, product.a.extent_bytes(), accessor);
  const Bytes b = memory.access(call.b, product.b.extent_bytes(), accessor);
  const Bytes c = memory.access(call.c, product.c.extent_bytes(), accessor);
  if (computes_products()) {
    multiply(product, a.data, b.data, c.data);
  }
}

cublasStatus_t start_product(cublasHandle_t handle, const ProductCall& call) {
  const cublasContext* const context = find_handle(handle);
  if (context == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!call.a_element || !call.b_element || !call.c_element) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  Product product{factor(*call.a_element, call.a_operation, call.m, call.k, call.a_leading),
                  factor(*call.b_element, call.b_operation, call.k, call.n, call.b_leading),
                  {*call.c_element, false, call.m, call.n, call.c_leading}};
  product.rounds_to_tf32 = call.rounds_to_tf32;
  if (!has_valid_shape(call, product)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto queue = streams().get(context->stream, call.function);
  if (queue->device != context->device || current_device() != context->device) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (call.m == 0 || call.n == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (context->pointers == CUBLAS_POINTER_MODE_HOST) {
    product.alpha = *static_cast<const float*>(call.alpha);
    product.beta = *static_cast<const float*>(call.beta);
  }
  const Task task{.kind = TaskKind::kGemm,
                  .name = call.function,
                  .device = context->device,
                  .m = call.m,
                  .n = call.n,
                  .k = call.k};
  enqueue(*queue, task, [call, product, settings = *context](Picoseconds&) {
    run_product(call, product, settings);
  });
  return CUBLAS_STATUS_SUCCESS;
}

template <class Body>
cublasStatus_t handle_call(const CallNote& note, cublasHandle_t handle, Body body) {
  return cublas_call(note, [&] {
    cublasContext* const context = find_handle(handle);
    return context == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : body(*context);
  });
}

}  // namespace

std::vector<std::string> leaked_handles() {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> lines;
  for (const auto& [handle, context] : all.live) {
    lines.push_back("cuBLAS handle of device " + std::to_string(context->device));
  }
  return lines;
}

void end_all_handles() {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  all.live.clear();
}

}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are cuBLAS's
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return substitute::cublas_call({"cublasCreate"}, [&] {
    auto context = std::make_unique<cublasContext>();
    context->device = substitute::current_device();
    *handle = context.get();
    const std::lock_guard lock(substitute::handles().mutex);
    substitute::handles().live[*handle] = std::move(context);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return substitute::handle_call({"cublasDestroy"}, handle, [&](cublasContext&) {
    const std::lock_guard lock(substitute::handles().mutex);
    substitute::handles().live.erase(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return substitute::handle_call({"cublasSetStream", stream}, handle, [&](cublasContext& context) {
    static_cast<void>(substitute::streams().get(stream, "cublasSetStream"));
    context.stream = stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return substitute::handle_call({"cublasGetStream"}, handle, [&](const cublasContext& context) {
    *stream = context.stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return substitute::handle_call({"cublasSetMathMode"}, handle, [&](cublasContext& context) {
    context.math = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return substitute::handle_call({"cublasGetMathMode"}, handle, [&](const cublasContext& context) {
    *mode = context.math;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return substitute::handle_call({"cublasSetPointerMode"}, handle, [&](cublasContext& context) {
    context.pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

// The products here need none; what is given must be memory of the device.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  return substitute::handle_call(
      {"cublasSetWorkspace", nullptr, bytes}, handle, [&](const cublasContext& context) {
        if (workspace != nullptr) {
          static_cast<void>(substitute::device_memory().access(
              workspace, bytes, {"cublasSetWorkspace", context.device, true}));
        }
        return CUBLAS_STATUS_SUCCESS;
      });
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  return substitute::cublas_call({"cublasGetVersion"}, [&] {
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle,
                              cublasOperation_t a_operation,
                              cublasOperation_t b_operation,
                              int m,
                              int n,
                              int k,
                              const float* alpha,
                              const float* a,
                              int a_leading,
                              const float* b,
                              int b_leading,
                              const float* beta,
                              float* c,
                              int c_leading) {
  return substitute::handle_call({"cublasSgemm"}, handle, [&](const cublasContext& context) {
    substitute::ProductCall call{"cublasSgemm", a_operation, b_operation, m, n, k,
                                 alpha,         beta,        a,           b, c};
    call.a_leading = a_leading;
    call.b_leading = b_leading;
    call.c_leading = c_leading;
    call.rounds_to_tf32 = (context.math & 0xF) == CUBLAS_TF32_TENSOR_OP_MATH;
    return substitute::start_product(handle, call);
  });
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle,
                            cublasOperation_t a_operation,
                            cublasOperation_t b_operation,
                            int m,
                            int n,
                            int k,
                            const void* alpha,
                            const void* a,
                            cudaDataType a_type,
                            int a_leading,
                            const void* b,
                            cudaDataType b_type,
                            int b_leading,
                            const void* beta,
                            void* c,
                            cudaDataType c_type,
                            int c_leading,
                            cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
  return substitute::handle_call({"cublasGemmEx"}, handle, [&](const cublasContext& context) {
    if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    substitute::ProductCall call{"cublasGemmEx", a_operation, b_operation, m, n, k,
                                 alpha,          beta,        a,           b, c};
    call.a_leading = a_leading;
    call.b_leading = b_leading;
    call.c_leading = c_leading;
    call.a_element = substitute::element_of(a_type);
    call.b_element = substitute::element_of(b_type);
    call.c_element = substitute::element_of(c_type);
    call.rounds_to_tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                          (context.math & 0xF) == CUBLAS_TF32_TENSOR_OP_MATH;
    // Both factors of one type, the result of that or single, as cuBLAS's table of types has it.
    const bool is_in_table = a_type == b_type && (c_type == a_type || c_type == CUDA_R_32F);
    return is_in_table ? substitute::start_product(handle, call) : CUBLAS_STATUS_NOT_SUPPORTED;
  });
}
// NOLINTEND(readability-*)
