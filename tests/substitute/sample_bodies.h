#pragma once

#include "tests/substitute/sample_kernels.h"
#include "tests/substitute/substitute.h"

// CPU bodies of the sample kernels.
inline void add_sample_bodies() {
  using substitute::Launch;
  substitute::add_kernel("fill(float*, float, int)",
                         [](const Launch& launch, float* to, float value, int count) {
                           float* const out = launch.translate(to, static_cast<std::size_t>(count));
                           launch.each_thread([&](const Launch::Thread& thread) {
                             if (thread.index < static_cast<std::uint64_t>(count)) {
                               out[thread.index] = value;
                             }
                           });
                         });
  substitute::add_kernel("_Z3addPfPKfi",
                         [](const Launch& launch, float* to, const float* from, int count) {
                           const auto size = static_cast<std::size_t>(count);
                           float* const out = launch.translate(to, size);
                           const float* const in = launch.translate(from, size);
                           launch.each_thread([&](const Launch::Thread& thread) {
                             if (thread.index < size) {
                               out[thread.index] += in[thread.index];
                             }
                           });
                         });
}
