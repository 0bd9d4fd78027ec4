#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <typeinfo>

#include <cxxabi.h>

#include "exec/cuda/plugin/element_work.h"
#include "exec/cuda/plugin/half_work.h"
#include "exec/cuda/plugin/kernels.h"
#include "tests/substitute/substitute.h"

// What the substitute runs for the kernels of the plugin: the same structs that they call, one
// element after another. Only the loops around them are other ones than those of kernels.cu.

namespace twinrun::exec::gpu {
namespace {

using substitute::Launch;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Volatile memory is translated as any other.
volatile float* where(const Launch& launch, volatile float* pointer, std::int64_t count) {
  return pointer == nullptr
             ? nullptr
             : launch.translate(const_cast<float*>(pointer), size(count));  // NOLINT: see above
}

void place(const Launch& launch, Fill& work, std::int64_t count) {
  work.array = launch.translate(work.array, size(count));
}
void place(const Launch& launch, SpreadBias& work, std::int64_t count) {
  work.bias = launch.translate(work.bias, size(work.width));
  work.output = launch.translate(work.output, size(count));
}
void place(const Launch& launch, SumRows& work, std::int64_t count) {
  work.from = launch.translate(work.from, size(work.rows * work.width));
  work.into = launch.translate(work.into, size(count));
}
template <class Forward>
void place_forward(const Launch& launch, Forward& work, std::int64_t count) {
  work.input = launch.translate(work.input, size(count));
  work.output = launch.translate(work.output, size(count));
}
void place(const Launch& launch, Relu& work, std::int64_t count) {
  place_forward(launch, work, count);
}
void place(const Launch& launch, Tanh& work, std::int64_t count) {
  place_forward(launch, work, count);
}
template <class Backward>
void place_backward(const Launch& launch, Backward& work, std::int64_t count) {
  work.output = launch.translate(work.output, size(count));
  work.output_gradient = launch.translate(work.output_gradient, size(count));
  work.input_gradient = launch.translate(work.input_gradient, size(count));
}
void place(const Launch& launch, ReluBackward& work, std::int64_t count) {
  place_backward(launch, work, count);
}
void place(const Launch& launch, TanhBackward& work, std::int64_t count) {
  place_backward(launch, work, count);
}
void place(const Launch& launch, Replace& work, std::int64_t count) {
  work.from = launch.translate(work.from, size(count));
  work.into = launch.translate(work.into, size(count));
}
template <class Half>
void place(const Launch& launch, Narrow<Half>& work, std::int64_t count) {
  work.from = launch.translate(work.from, size(count));
  work.into = launch.translate(work.into, size(count));
}
template <class Half>
void place(const Launch& launch, Widen<Half>& work, std::int64_t count) {
  work.from = launch.translate(work.from, size(count));
  work.into = launch.translate(work.into, size(count));
}
void place(const Launch& launch, UpdateWeights& work, std::int64_t count) {
  work.weights = where(launch, work.weights, count);
  work.gradients = where(launch, work.gradients, count);
  work.first = where(launch, work.first, count);
  work.second = where(launch, work.second, count);
}
void place(const Launch& launch, Add& work, std::int64_t count) {
  work.from = where(launch, work.from, count);
  work.into = where(launch, work.into, count);
}
void place(const Launch& launch, Take& work, std::int64_t count) {
  work.from = where(launch, work.from, count);
  work.into = launch.translate(work.into, size(count));
}
void place(const Launch& launch, LossOfRow& work, std::int64_t rows) {
  work.output = launch.translate(work.output, size(rows * work.width));
  work.targets = launch.translate(work.targets, size(rows * work.width));
  work.labels = launch.translate(work.labels, size(rows));
  if (work.losses != nullptr) {
    work.losses = launch.translate(work.losses, size(rows));
  }
  if (work.gradient != nullptr) {
    work.gradient = launch.translate(work.gradient, size(rows * work.width));
  }
}

template <class Element>
std::string name_of() {
  int status = 0;
  char* const text = abi::__cxa_demangle(typeid(Element).name(), nullptr, nullptr, &status);
  std::string name = text;
  std::free(text);
  return name;
}

// As the demangler writes it: two brackets do not touch.
std::string bracketed(const std::string& element) {
  return "<" + element + (element.back() == '>' ? " >" : ">");
}

template <class Element>
void add_each() {
  const std::string element = name_of<Element>();
  substitute::add_kernel(
      "void twinrun::exec::gpu::each" + bracketed(element) + "(" + element + ", long)",
      [](const Launch& launch, Element work, std::int64_t count) {
        place(launch, work, count);
        for (std::int64_t i = 0; i < count; ++i) {
          work(i);
        }
      });
}

// While a tile is worked on its lock is held, as on a GPU.
template <class Element>
void run_tiles(const Launch& launch, Element work, std::int64_t count, Tiles tiles) {
  place(launch, work, count);
  std::uint32_t* const locks =
      tiles.locks == nullptr ? nullptr : launch.translate(tiles.locks, size(tiles.lock_count));
  const std::int64_t first = tiles.first_element / tiles.elements;
  for (std::int64_t tile = first; tile < first + launch.grid.x; ++tile) {
    if (locks != nullptr) {
      std::atomic_ref lock(locks[tile % tiles.lock_count]);
      while (lock.exchange(1, std::memory_order_acquire) != 0) {
        std::this_thread::yield();
      }
    }
    const std::int64_t begin = tile * tiles.elements - tiles.first_element;
    for (std::int64_t i = std::max<std::int64_t>(begin, 0);
         i < std::min(begin + tiles.elements, count); ++i) {
      work(i);
    }
    if (locks != nullptr) {
      std::atomic_ref(locks[tile % tiles.lock_count]).store(0, std::memory_order_release);
    }
  }
}

template <class Element>
void add_tiles() {
  const std::string element = name_of<Element>();
  substitute::add_kernel("void twinrun::exec::gpu::each_of_tile" + bracketed(element) + "(" +
                             element + ", long, twinrun::exec::gpu::Tiles)",
                         run_tiles<Element>);
}

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void add_rows_and_clocks() {
  substitute::add_kernel("twinrun::exec::gpu::losses_of_rows(twinrun::exec::gpu::LossOfRow, long)",
                         [](const Launch& launch, LossOfRow work, std::int64_t rows) {
                           place(launch, work, rows);
                           for (std::int64_t row = 0; row < rows; ++row) {
                             work.forward<OneThread>(row);
                           }
                         });
  substitute::add_kernel(
      "twinrun::exec::gpu::loss_gradients_of_rows(twinrun::exec::gpu::LossOfRow, long)",
      [](const Launch& launch, LossOfRow work, std::int64_t rows) {
        place(launch, work, rows);
        for (std::int64_t row = 0; row < rows; ++row) {
          work.backward<OneThread>(row);
        }
      });
  substitute::add_kernel(
      "twinrun::exec::gpu::note_time(unsigned long*)",
      [](const Launch& launch, std::uint64_t* when) { *launch.translate(when, 1) = now_ns(); });
  substitute::add_kernel(
      "twinrun::exec::gpu::hold_until(unsigned long const*, long)",
      [](const Launch& launch, const std::uint64_t* when, std::int64_t nanoseconds) {
        const std::uint64_t until =
            *launch.translate(when, 1) + static_cast<std::uint64_t>(nanoseconds);
        while (now_ns() < until) {
          std::this_thread::sleep_for(std::chrono::nanoseconds(until - now_ns()));
        }
      });
}

// When the plugin is opened.
const bool kAreAdded = [] {
  add_each<Fill>();
  add_each<SpreadBias>();
  add_each<SumRows>();
  add_each<Relu>();
  add_each<Tanh>();
  add_each<ReluBackward>();
  add_each<TanhBackward>();
  add_each<Replace>();
  add_each<Narrow<__half>>();
  add_each<Narrow<__nv_bfloat16>>();
  add_each<Widen<__half>>();
  add_each<Widen<__nv_bfloat16>>();
  add_tiles<UpdateWeights>();
  add_tiles<Add>();
  add_tiles<Take>();
  add_rows_and_clocks();
  return true;
}();

}  // namespace
}  // namespace twinrun::exec::gpu
