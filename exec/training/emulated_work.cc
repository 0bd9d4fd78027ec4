#include "exec/training/emulated_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::exec {
namespace {

constexpr std::int64_t kLargestSide = 512;  // of products that stand for FLOPs without a shape
constexpr std::int64_t kMostInPass = std::int64_t{1} << 22;  // of memory passed over again

std::int64_t elements_in(Bytes bytes) {
  return (bytes.count + 3) / static_cast<std::int64_t>(sizeof(float));
}

// Half of the bytes are read and half written.
std::int64_t passed_over(std::int64_t bytes) {
  return bytes / static_cast<std::int64_t>(2 * sizeof(float));
}

constexpr double kMostInProduct = 0x1p50;  // no machine has so much: sums below stay whole numbers

std::size_t number(std::int64_t elements) { return static_cast<std::size_t>(elements); }

}  // namespace

EmulatedWork::EmulatedWork(const Plan& plan, TensorMachine& machine, const LocalDevices& here)
    : plan_(plan), machine_(machine), landing_(plan.size()) {
  std::vector<std::int64_t> most(plan.stream_count());
  std::map<std::pair<StreamId, DeviceId>, std::int64_t> copied;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (!here.has(plan.device(op))) {
      continue;
    }
    std::int64_t& of_stream = most[index_of(plan.stream(op))];
    of_stream = std::max(of_stream, wanted(op));
    if (plan.kind(op) == OpKind::kCopy) {
      std::int64_t& there = copied[{plan.stream(op), plan.copy(op).to}];
      there = std::max(there, wanted(op));
    }
  }
  for (std::size_t i = 0; i < most.size(); ++i) {
    scratch_.push_back(
        most[i] == 0 ? std::span<float>()
                     : machine.allocate(plan.stream_device(id_at<StreamId>(i)), number(most[i])));
  }
  std::map<std::pair<StreamId, DeviceId>, std::span<float>> there;
  for (const auto& [place, elements] : copied) {
    there[place] = machine.allocate(place.second, number(std::max<std::int64_t>(elements, 1)));
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (here.has(plan.device(op)) && plan.kind(op) == OpKind::kCopy) {
      landing_[i] = there[{plan.stream(op), plan.copy(op).to}];
    }
  }
}

// A cube, and then as many thin ones as are left.
EmulatedWork::Slices EmulatedWork::slices_of(OpId op) const {
  const Kernel* const kernel = plan_.kernel(op);
  const ComputeOp& compute = plan_.compute(op);
  Slices out;
  if (kernel != nullptr && kernel->m > 0 && compute.flops > 0) {
    out = {kernel->m, kernel->n, kernel->k};
  } else {
    const double side = std::cbrt(compute.flops / 2);
    const auto edge = std::clamp<std::int64_t>(std::llround(side), 0, kLargestSide);
    const std::int64_t depth =
        edge > 0 ? std::llround(compute.flops / 2 / static_cast<double>(edge * edge)) : 0;
    out = {edge, edge, depth};
  }
  const auto all = static_cast<double>(out.m) * static_cast<double>(out.n);
  if (all > kMostInProduct) {
    throw CannotRun(fmt::format("{} multiplies to {} × {} numbers: no machine has so much memory",
                                plan_.id(op), out.m, out.n));
  }
  if (out.k > 0) {
    out.slice = std::min(out.k, std::max<std::int64_t>(1, kMostInPass / std::max(out.m, out.n)));
  }
  return out;
}

std::int64_t EmulatedWork::wanted(OpId op) const {
  switch (plan_.kind(op)) {
    case OpKind::kSend:
    case OpKind::kRecv:
      return elements_in(plan_.message(op).bytes);
    case OpKind::kCollective:
      return elements_in(plan_.collective(op).bytes);
    case OpKind::kCopy:
      return std::min(elements_in(plan_.copy(op).bytes), kMostInPass);
    case OpKind::kCompute: {
      const Slices product = slices_of(op);
      return product.k > 0 ? product.elements()
                           : 2 * std::min(passed_over(plan_.compute(op).bytes.count), kMostInPass);
    }
    case OpKind::kHost:
    case OpKind::kMarker:
      return 0;
  }
  return 0;
}

void EmulatedWork::compute(OpId op) {
  if (plan_.kind(op) == OpKind::kCopy) {
    return copy(op);
  }
  if (plan_.kind(op) != OpKind::kCompute) {
    return;
  }
  if (const Slices product = slices_of(op); product.k > 0) {
    return multiply(op, product);
  }
  pass_over(op, plan_.compute(op).bytes.count);
}

void EmulatedWork::multiply(OpId op, const Slices& product) {
  float* const scratch = scratch_[index_of(plan_.stream(op))].data();
  TensorKernels& kernels = machine_.kernels(op);
  for (std::int64_t done = 0; done < product.k; done += product.slice) {
    kernels.multiply({.m = product.m,
                      .n = product.n,
                      .k = std::min(product.slice, product.k - done),
                      .a = scratch,
                      .b = scratch + product.m * product.slice,
                      .c = scratch + product.m * product.slice + product.slice * product.n});
  }
}

void EmulatedWork::pass_over(OpId op, std::int64_t bytes) {
  const std::span<float> scratch = scratch_[index_of(plan_.stream(op))];
  TensorKernels& kernels = machine_.kernels(op);
  std::int64_t left = passed_over(bytes);
  const std::int64_t half = std::min(left, kMostInPass);
  while (left > 0) {
    const std::int64_t count = std::min(left, half);
    kernels.copy(scratch.first(number(count)), scratch.subspan(number(half), number(count)), false);
    left -= count;
  }
}

void EmulatedWork::copy(OpId op) {
  const std::span<float> from = scratch_[index_of(plan_.stream(op))];
  const std::span<float> into = landing_[index_of(op)];
  TensorKernels& kernels = machine_.kernels(op);
  std::int64_t left = elements_in(plan_.copy(op).bytes);
  while (left > 0) {
    const std::int64_t count = std::min(left, kMostInPass);
    kernels.copy(from.first(number(count)), into.first(number(count)), false);
    left -= count;
  }
}

MovedData EmulatedWork::moved(OpId op) {
  const Bytes bytes =
      plan_.kind(op) == OpKind::kCollective ? plan_.collective(op).bytes : plan_.message(op).bytes;
  return {{scratch_[index_of(plan_.stream(op))].first(number(elements_in(bytes)))}};
}

}  // namespace twinrun::exec
