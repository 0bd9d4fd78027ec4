#pragma once

namespace substitute {

// Kernels: what nvcc's objects register when they are loaded, the CPU bodies that tests give, and
// launching.

void forget_kernel_faults();  // and lets the hung ones go on

}  // namespace substitute
