#pragma once

#include <cstdint>

#include "core/base/diagnostics.h"
#include "core/io/source.h"
#include "core/plan/dataset.h"

namespace twinrun {

// Lines of numbers with commas between: a sample, then its class in the last `answer_width` columns
// (1: a class). A first line that has no number is a header; empty lines and those that begin with
// # are not read.
Dataset read_csv_dataset(const Source& source, std::int64_t answer_width, Diagnostics& diagnostics);

// The IDX format of the MNIST files: two zero bytes, a type, the number of dimensions, each of them
// as 32 bits, then the numbers, all with the highest byte first. Bytes are taken as 0 … 1. The
// second file has the classes.
Dataset read_idx_dataset(const Source& images, const Source& labels, Diagnostics& diagnostics);

}  // namespace twinrun
