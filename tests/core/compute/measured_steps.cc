#include "tests/core/compute/measured_steps.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/compute/compute_time.h"
#include "core/io/catalogue.h"
#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/model/catalogue.h"
#include "core/strategy/job.h"
#include "core/strategy/layer_work.h"
#include "core/strategy/optimizer_state.h"

namespace twinrun {
namespace {

enum class StepPart { kForward, kBackward, kAll };

class StepReader {
 public:
  explicit StepReader(std::string folder) : folder_(std::move(folder)), devices_(load_devices()) {}

  void batch_sweep(bool training) {
    const std::map<std::string, std::string> models = {{"VGG 16", "vgg16"},
                                                       {"Inception-v3", "inception-v3"},
                                                       {"Resnet 50", "resnet50"},
                                                       {"Resnet 152", "resnet152"}};
    const std::map<std::string, std::string> devices = {
        {"K80", "k80"}, {"M60", "m60"}, {"V100", "v100-sxm2-16gb"}};
    each_row("single_gpu_batch_sweep_mxnet", [&](JsonValue row) {
      const auto model = models.find(text(row, "model"));
      if (model == models.end() || !row.find("images_per_s") ||
          (text(row, "mode") == "training") != training) {
        return;
      }
      const auto batch = static_cast<std::int64_t>(row.find("batch").number());
      // Below eight images the host decides, not the GPU.
      const double weight = batch < 8 ? 0.3 : 1;
      add({model->second, devices.at(text(row, "dev")), dtype_named(text(row, "precision")), batch,
           training ? StepPart::kAll : StepPart::kForward, false},
          static_cast<double>(batch) / row.find("images_per_s").number(), weight);
    });
  }

  void torch() {
    const std::map<std::string, std::string> models = {{"VGG-16", "vgg16"},
                                                       {"ResNet-50", "resnet50"},
                                                       {"ResNet-101", "resnet101"},
                                                       {"ResNet-152", "resnet152"}};
    const std::map<std::string, std::string> devices = {{"GTX 1080 Ti", "gtx-1080ti"},
                                                        {"Pascal Titan X", "titan-x-pascal"},
                                                        {"GTX 1080", "gtx-1080"},
                                                        {"Maxwell Titan X", "titan-x-maxwell"}};
    each_row("single_gpu_cnn_fwd_bwd_torch", [&](JsonValue row) {
      const auto model = models.find(text(row, "net"));
      const auto device = devices.find(text(row, "device"));
      const bool is_latest = text(row, "cudnn").starts_with("5.1");
      if (model == models.end() || device == devices.end() || !is_latest) {
        return;
      }
      const StepOf step{model->second, device->second, Dtype::kFp32, 16, StepPart::kForward, false};
      add(step, row.find("fwd_ms").number() * 1e-3, 1);
      StepOf back = step;
      back.part = StepPart::kBackward;
      add(back, row.find("bwd_ms").number() * 1e-3, 1);
    });
  }

  void tensorflow() {
    const std::map<std::string, std::string> models = {{"VGG16", "vgg16"},
                                                       {"InceptionV3", "inception-v3"},
                                                       {"ResNet-50", "resnet50"},
                                                       {"ResNet-152", "resnet152"}};
    each_row("tf_benchmarks_p100_k80", [&](JsonValue row) {
      const auto model = models.find(text(row, "model"));
      if (model == models.end() || row.find("gpus").number() != 1 ||
          text(row, "data") != "synthetic data") {
        return;
      }
      const auto batch = static_cast<std::int64_t>(row.find("batch_per_gpu").number());
      add({model->second, "p100-sxm2", Dtype::kFp32, batch, StepPart::kAll, false},
          static_cast<double>(batch) / row.find("images_per_s").number(), 3);
    });
  }

  // NVIDIA's MXNet fuses batch norms with what follows; batches are those of the README that the
  // table was taken from (DeepLearningExamples, MxNet/Classification/RN50v1.5).
  void nvidia() {
    struct Machine {
      std::string_view word;
      std::string_view device;
      std::int64_t mixed_batch;
      std::int64_t single_batch;
    };
    constexpr std::array kMachines = {Machine{"DGX A100", "a100-sxm4-80gb", 512, 512},
                                      Machine{"DGX-1", "v100-sxm2-16gb", 192, 96},
                                      Machine{"DGX-2", "v100-sxm2-32gb", 256, 128}};
    each_row("training_scaling_nvidia_dle", [&](JsonValue row) {
      if (row.find("GPUs").number() != 1) {
        return;
      }
      const std::string section = text(row, "section");
      const auto* const machine = std::find_if(
          kMachines.begin(), kMachines.end(),
          [&](const Machine& one) { return section.find(one.word) != std::string::npos; });
      const auto take = [&](const char* column, Dtype dtype, std::int64_t batch) {
        if (const JsonValue rate = row.find(column)) {
          add({"resnet50", std::string(machine->device), dtype, batch, StepPart::kAll, true},
              static_cast<double>(batch) / rate.number(), 3);
        }
      };
      take("Throughput - mixed precision", Dtype::kFp16, machine->mixed_batch);
      take("Throughput - TF32", Dtype::kTf32, machine->single_batch);
      take("Throughput - FP32", Dtype::kFp32, machine->single_batch);
    });
  }

  void torchgpipe() {
    each_row("gpipe_torchgpipe_p40", [&](JsonValue row) {
      if (text(row, "model") == "ResNet-101" && text(row, "scheme").starts_with("single GPU")) {
        const auto batch = static_cast<std::int64_t>(row.find("mini_batch").number());
        add({"resnet101", "p40", Dtype::kFp32, batch, StepPart::kAll, false},
            static_cast<double>(batch) / row.find("samples_per_s").number(), 5);
      }
    });
  }

  std::vector<MeasuredStep> take() { return std::move(steps_); }

 private:
  struct StepOf {
    std::string model;
    std::string device;
    Dtype dtype = Dtype::kFp32;
    std::int64_t batch = 1;
    StepPart part = StepPart::kAll;
    bool fused_norms = false;
  };

  static std::map<std::string, DeviceSpec> load_devices() {
    Diagnostics diagnostics;
    std::map<std::string, DeviceSpec> by_name;
    const JsonDocument document = JsonDocument::read(catalogue_devices(), diagnostics);
    for (DeviceSpec& device : read_devices(document.root().find("devices"), diagnostics)) {
      const std::string name = device.name;
      by_name.emplace(name, std::move(device));
    }
    return by_name;
  }

  static Dtype dtype_named(const std::string& name) {
    return name == "fp16" ? Dtype::kFp16 : Dtype::kFp32;
  }

  static std::string text(JsonValue row, const char* key) {
    const JsonValue value = row.find(key);
    return value && value.is_string() ? std::string(value.text()) : std::string();
  }

  template <class Take>
  void each_row(const std::string& table, Take take) {
    table_ = table;
    const std::string path = folder_ + "/" + table + ".json";
    if (!std::filesystem::exists(path)) {
      return;
    }
    Diagnostics diagnostics;
    const auto document = JsonDocument::read(Source::of_file(path), diagnostics);
    for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
      take(row);
    }
  }

  void add(const StepOf& of, double seconds, double weight) {
    const Model model = *catalogue_model(of.model, 0);
    MeasuredStep step{
        table_,
        fmt::format("{} {} {} x {}{}", of.device, name_of(of.dtype), of.model, of.batch,
                    of.part == StepPart::kForward    ? " forward"
                    : of.part == StepPart::kBackward ? " backward"
                                                     : ""),
        devices_.at(of.device),
        {},
        seconds,
        weight};
    const WorkOptions options{of.batch, of.dtype, 1, false, {of.fused_norms, false}};
    std::int64_t parameters = 0;
    const HostCosts host;
    const auto take = [&](const ComputeSpec& spec, Time dispatch) {
      step.ops.push_back({ComputeOp{spec.flops, spec.bytes, no_id<KernelId>(), spec.dtype},
                          *spec.kernel, 1, to_seconds(dispatch)});
      step.ops.back().kernel.layer.clear();
    };
    for (const LayerWork& work : layer_work(model, options)) {
      parameters += parameters_of(work);
      if (of.part != StepPart::kBackward) {
        take(work.forward, host.forward);
      }
      for (const auto& backward : {work.backward_input, work.backward_weight}) {
        if (of.part != StepPart::kForward && backward) {
          take(*backward, host.backward);
        }
      }
    }
    if (of.part == StepPart::kAll) {
      const UpdateWork update = update_work(of.dtype, Optimizer::kMomentum);
      step.ops.push_back({ComputeOp{0, {update.bytes * parameters}, no_id<KernelId>(), of.dtype},
                          Kernel{KernelKind::kUpdate, 0, 0, 0, "", {}}});
    }
    merge(step.ops);
    steps_.push_back(std::move(step));
  }

  // Layers that occur often count once.
  static void merge(std::vector<StepOp>& ops) {
    std::vector<StepOp> merged;
    for (StepOp& one : ops) {
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const StepOp& other) {
        return other.op == one.op && other.kernel == one.kernel &&
               other.dispatch_s == one.dispatch_s;
      });
      if (same != merged.end()) {
        same->count += one.count;
      } else {
        merged.push_back(std::move(one));
      }
    }
    ops = std::move(merged);
  }

  std::string folder_;
  std::map<std::string, DeviceSpec> devices_;
  std::string table_;
  std::vector<MeasuredStep> steps_;
};

}  // namespace

std::vector<MeasuredStep> measured_steps(const std::string& folder) {
  StepReader reader(folder);
  reader.batch_sweep(true);
  reader.torch();
  reader.tensorflow();
  reader.nvidia();
  reader.torchgpipe();
  return reader.take();
}

std::vector<MeasuredStep> measured_inference(const std::string& folder) {
  StepReader reader(folder);
  reader.batch_sweep(false);
  return reader.take();
}

double predicted_s(const MeasuredStep& step, const EfficiencyTable& table) {
  double sum = 0;
  for (const StepOp& one : step.ops) {
    const double once = to_seconds(compute_time(step.device, one.op, &one.kernel, {}, table).time);
    sum += one.count * std::max(once, one.dispatch_s);
  }
  return sum;
}

ErrorSummary summary_of(const std::vector<std::pair<double, double>>& predicted_and_measured) {
  ErrorSummary summary;
  std::vector<double> errors;
  for (const auto& [predicted, measured] : predicted_and_measured) {
    const double error = 100 * (predicted / measured - 1);
    errors.push_back(std::abs(error));
    summary.bias += error;
  }
  if (errors.empty()) {
    return summary;
  }
  std::sort(errors.begin(), errors.end());
  summary.count = errors.size();
  summary.median = errors[errors.size() / 2];
  summary.p90 = errors[errors.size() * 9 / 10];
  summary.worst = errors.back();
  summary.bias /= static_cast<double>(errors.size());
  return summary;
}

}  // namespace twinrun
