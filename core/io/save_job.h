#pragma once

#include <string>

#include "core/io/load_job.h"

namespace twinrun {

// The job as twinrun/job/1, complete in itself: our names of keys, what options have overridden,
// usual values left out, models and topologies that came from files written out. read_job() gives
// the same job back.
std::string save_job(const LoadedJob& loaded);

}  // namespace twinrun
