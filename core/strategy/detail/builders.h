#pragma once

namespace twinrun {

class StepBuilder;

// One per strategy, each in the file of its name; the table in strategies.cc has them all.
void build_single(StepBuilder& steps);
void build_ddp(StepBuilder& steps);

}  // namespace twinrun
