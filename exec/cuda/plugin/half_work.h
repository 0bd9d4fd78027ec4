#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "exec/training/element_math.h"

// Elements of two bytes: what products round their operands to, and what may travel. In C++17.

namespace twinrun::exec::gpu {

inline TWINRUN_EVERYWHERE void round_to(float value, __half& into) { into = __float2half(value); }
inline TWINRUN_EVERYWHERE void round_to(float value, __nv_bfloat16& into) {
  into = __float2bfloat16(value);
}
inline TWINRUN_EVERYWHERE float value_of(const __half& narrow) { return __half2float(narrow); }
inline TWINRUN_EVERYWHERE float value_of(const __nv_bfloat16& narrow) {
  return __bfloat162float(narrow);
}

template <class Half>
struct Narrow {
  const float* from;
  Half* into;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const { round_to(from[i], into[i]); }
};

template <class Half>
struct Widen {
  const Half* from;
  float* into;
  TWINRUN_EVERYWHERE void operator()(std::int64_t i) const { into[i] = value_of(from[i]); }
};

}  // namespace twinrun::exec::gpu
