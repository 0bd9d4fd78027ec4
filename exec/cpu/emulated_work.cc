#include "exec/cpu/emulated_work.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace twinrun::exec {
namespace {

constexpr std::int64_t kLargestSide = 512;  // of products that stand for FLOPs without a shape
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;  // of memory passed over again

std::size_t elements_in(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count + 3) / sizeof(float);
}

}  // namespace

EmulatedWork::EmulatedWork(const Plan& plan, const Products& products, const LocalDevices& here)
    : plan_(plan), products_(products), scratch_(plan.stream_count()) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (!here.has(plan.device(op))) {
      continue;
    }
    const OpKind kind = plan.kind(op);
    std::size_t wanted = 0;
    if (kind == OpKind::kSend || kind == OpKind::kRecv) {
      wanted = elements_in(plan.message(op).bytes);
    } else if (kind == OpKind::kCollective) {
      wanted = elements_in(plan.collective(op).bytes);
    }
    std::vector<float>& scratch = scratch_[index_of(plan.stream(op))];
    scratch.resize(std::max(scratch.size(), wanted));
  }
}

void EmulatedWork::compute(OpId op) {
  std::vector<float>& scratch = scratch_[index_of(plan_.stream(op))];
  if (plan_.kind(op) == OpKind::kCopy) {
    return pass_over(plan_.copy(op).bytes.count, scratch);
  }
  if (plan_.kind(op) != OpKind::kCompute) {
    return;
  }
  const Kernel* const kernel = plan_.kernel(op);
  const ComputeOp& compute = plan_.compute(op);
  if (kernel != nullptr && kernel->m > 0 && compute.flops > 0) {
    return multiply(kernel->m, kernel->n, kernel->k, scratch);
  }
  // A cube, and then as many thin ones as are left.
  const double side = std::cbrt(compute.flops / 2);
  const auto edge = std::clamp<std::int64_t>(std::llround(side), 0, kLargestSide);
  if (edge > 0) {
    const auto depth = std::llround(compute.flops / 2 / static_cast<double>(edge * edge));
    return multiply(edge, edge, depth, scratch);
  }
  pass_over(compute.bytes.count, scratch);
}

// In slices of k, so that operands stay small.
void EmulatedWork::multiply(std::int64_t m,
                            std::int64_t n,
                            std::int64_t k,
                            std::vector<float>& scratch) const {
  const std::int64_t slice = std::min(k, std::max<std::int64_t>(1, kMostElements / std::max(m, n)));
  const std::int64_t wanted = m * slice + slice * n + m * n;
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(wanted)));
  for (std::int64_t done = 0; done < k; done += slice) {
    products_.multiply({.m = m,
                        .n = n,
                        .k = std::min(slice, k - done),
                        .a = scratch.data(),
                        .b = scratch.data() + m * slice,
                        .c = scratch.data() + m * slice + slice * n});
  }
}

// Half of the bytes are read and half written.
void EmulatedWork::pass_over(std::int64_t bytes, std::vector<float>& scratch) const {
  std::int64_t left = bytes / static_cast<std::int64_t>(2 * sizeof(float));
  const std::int64_t half = std::min(left, kMostElements);
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(2 * half)));
  while (left > 0) {
    const std::int64_t count = std::min(left, half);
    std::copy_n(scratch.data(), count, scratch.data() + half);
    left -= count;
  }
}

MovedData EmulatedWork::moved(OpId op) {
  const Bytes bytes =
      plan_.kind(op) == OpKind::kCollective ? plan_.collective(op).bytes : plan_.message(op).bytes;
  std::vector<float>& scratch = scratch_[index_of(plan_.stream(op))];
  return {{std::span(scratch).first(elements_in(bytes))}};
}

}  // namespace twinrun::exec
