#pragma once

namespace twinrun {

class StepBuilder;

// One per strategy, each in the file of its name; the table in strategies.cc has them all.
void build_single(StepBuilder& steps);
void build_ddp(StepBuilder& steps);
void build_layer_model_parallel(StepBuilder& steps);
void build_tensor_parallel(StepBuilder& steps);
void build_gpipe(StepBuilder& steps);
void build_one_f_one_b(StepBuilder& steps);
void build_pipedream(StepBuilder& steps);
void build_parameter_server(StepBuilder& steps);
void build_hierarchical_ps(StepBuilder& steps);
void build_data_parallel(StepBuilder& steps);
void build_mirrored(StepBuilder& steps);
void build_multi_worker_mirrored(StepBuilder& steps);

}  // namespace twinrun
