#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "exec/cpu/matrix_product.h"
#include "exec/cpu/op_work.h"
#include "exec/local_devices.h"

namespace twinrun::exec {

// For plans that do not say what their ops work on: a matrix product of as many FLOPs for each
// compute op, or a pass over as many bytes where it has none; messages and collectives move as many
// bytes. What the numbers are means nothing.
class EmulatedWork : public OpWork {
 public:
  EmulatedWork(const Plan& plan, const Products& products, const LocalDevices& here = {});

  void compute(OpId op) override;
  MovedData moved(OpId op) override;

 private:
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, std::vector<float>& scratch) const;
  void pass_over(std::int64_t bytes, std::vector<float>& scratch) const;

  const Plan& plan_;
  const Products& products_;
  std::vector<std::vector<float>> scratch_;  // by stream: streams run beside each other
};

}  // namespace twinrun::exec
