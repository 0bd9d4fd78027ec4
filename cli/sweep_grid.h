#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/io/job_overrides.h"

namespace twinrun::cli {

// One --set of a sweep: a path and the values it takes.
struct SweepAxis {
  std::string path;
  std::vector<std::string> values;
};

// "training.local_batch_size=1,2,4". A value that has commas itself is written in a JSON array
// (parallelism.balance=[[4,4],[5,3]]) or the list is separated by semicolons
// (topology=dgx-a100:nodes=2,nic=10Gb/s;p4d). UsageError when there is nothing to vary.
SweepAxis parse_axis(const std::string& text);

// The i-th point: the last axis moves fastest.
std::size_t point_count(const std::vector<SweepAxis>& axes);
std::vector<JobOverride> point_overrides(const std::vector<SweepAxis>& axes, std::size_t point);

// "2/4": the second of four parts. "auto": the part of this process among those that mpirun or srun
// started, times the task of a Slurm array. UsageError when it is none.
struct Shard {
  std::size_t index = 0;  // from 0
  std::size_t count = 1;
};
// The value of a variable of the environment; null when it is not set.
using Environment = std::function<const char*(const char* name)>;
Shard parse_shard(const std::string& text, const Environment& environment);

}  // namespace twinrun::cli
