// Fits core/compute/efficiency_table.inc to published measurements with the very model that the
// program has: the same files give the same table.
//
//   fit_efficiency MEASURED                     prints the table
//   fit_efficiency MEASURED --check             compares it with the one in the program
//   fit_efficiency MEASURED --write core/compute writes it
//   fit_efficiency MEASURED --report            errors on each table, with it and without it in the
//   fit fit_efficiency MEASURED --leave-out TABLE   errors on one table of a fit that did not know
//   it
//
// MEASURED is the folder of published tables; without it nothing is done and the status is 77.
//
// What is fitted:
//   GEMMs          most, tile and half_dim of each family and format of which kernel times are
//   known convolutions   which share of the GEMMs' efficiency they reach in a whole training step,
//   for
//                  three kinds of hardware: before Volta, fp32 since Volta, tensor cores; Kepler,
//                  of which no GEMMs are known, by itself. And what they take besides.
// Their tile and half_dim are those of DeepBench's convolutions, see product_time.cc.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/compute/compute_time.h"
#include "core/io/json_document.h"
#include "tests/core/compute/device_examples.h"
#include "tests/core/compute/measured_steps.h"

namespace twinrun {
namespace {

using Pairs = std::vector<std::pair<double, double>>;  // predicted, measured

// Of (predicted, measured): the logarithm, cut at a factor e so that a few odd ones do not rule.
double one_error(double predicted, double measured) {
  return std::min(std::abs(std::log(predicted / measured)), 1.0);
}

// Coordinate descent by factors that shrink from 1.4: slow, simple, and the same everywhere.
std::vector<double> descend(const std::function<double(const std::vector<double>&)>& cost,
                            std::vector<double> point,
                            const std::vector<std::size_t>& free) {
  double best = cost(point);
  for (double step = 0.4; step > 0.004;) {
    bool moved = false;
    for (const std::size_t i : free) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        std::vector<double> tried = point;
        tried[i] *= factor;
        const double error = cost(tried);
        if (error < best - 1e-9) {
          best = error;
          point = std::move(tried);
          moved = true;
        }
      }
    }
    step = moved ? step : step * 0.6;
  }
  return point;
}

struct GemmSource {  // DeepBench, by its own sheets; its P100 is the PCIe one
  const char* device;
  Dtype dtype;
  GpuFamily family;
  DeviceSpec spec;
};

std::vector<GemmSource> deepbench_devices() {
  const DeviceSpec p100 = gpu(60, {{Dtype::kFp32, 9.3}, {Dtype::kFp16, 18.7}}, 732);
  const DeviceSpec t4 = gpu(75, {{Dtype::kFp32, 8.1}, {Dtype::kFp16, 65}}, 320, 70);
  return {{"M40", Dtype::kFp32, GpuFamily::kMaxwell, gpu(52, {{Dtype::kFp32, 5.8}}, 288)},
          {"P100", Dtype::kFp32, GpuFamily::kPascal, p100},
          {"P100", Dtype::kFp16, GpuFamily::kPascal, p100},
          {"1080Ti", Dtype::kFp32, GpuFamily::kConsumer, gpu(61, {{Dtype::kFp32, 11.3}}, 484)},
          {"V100", Dtype::kFp32, GpuFamily::kVolta, v100()},
          {"V100", Dtype::kFp16, GpuFamily::kVolta, v100()},
          {"T4", Dtype::kFp32, GpuFamily::kLowPower, t4},
          {"T4", Dtype::kFp16, GpuFamily::kLowPower, t4}};
}

struct MeasuredGemm {
  Kernel kernel;
  double seconds = 0;
};

// Rows as the program has them, with text of their own.
struct Fitted {
  std::vector<GemmRow> gemms;
  std::vector<ConvRow> convs;
  std::deque<std::string> text;

  [[nodiscard]] EfficiencyTable table() const { return {gemms, convs, ""}; }
  std::string_view keep(std::string words) { return text.emplace_back(std::move(words)); }
};

enum ConvParameter : std::size_t {
  kKeplerShare,
  kOldShare,
  kVoltaShare,
  kTensorShare,
  kOldSetup,
  kNewSetup,
};
const std::vector<double> kConvStart = {0.8, 0.8, 0.8, 0.8, 50, 50};

std::vector<ConvRow> conv_rows_of(const std::vector<double>& p, std::string_view source) {
  // Sides of tiles and halves of DeepBench's convolutions: 59 to 104 and 0 to 13 in fp32, 88 to 99
  // and 32 to 54 on tensor cores.
  return {{ConvHardware::kKepler, p[kKeplerShare], 66, 10, p[kOldSetup], source, ""},
          {ConvHardware::kBeforeVolta, p[kOldShare], 66, 10, p[kOldSetup], source, ""},
          {ConvHardware::kSinceVolta, p[kVoltaShare], 66, 10, p[kNewSetup], source, ""},
          {ConvHardware::kTensorCores, p[kTensorShare], 70, 40, p[kNewSetup], source, ""},
          {ConvHardware::kCpu, 0.67, 40, 16, 0, "guess; calibrate replaces it", ""}};
}

class Fit {
 public:
  Fit(std::string folder, std::string without)
      : folder_(std::move(folder)), without_(std::move(without)) {
    deepbench_rows();
    ampere_rows();
    newer_rows();
    any_gpu_rows();
    conv_rows();
  }

  [[nodiscard]] const Fitted& result() const { return fitted_; }

 private:
  [[nodiscard]] JsonDocument read(const std::string& table) const {
    const std::string path = folder_ + "/" + table + ".json";
    if (table == without_ || !std::filesystem::exists(path)) {
      return JsonDocument(path);
    }
    Diagnostics diagnostics;
    return JsonDocument::read(Source::of_file(path), diagnostics);
  }

  // ---- GEMMs
  static double gemm_s(const DeviceSpec& device,
                       Dtype dtype,
                       const Kernel& kernel,
                       const EfficiencyCurve& curve) {
    const std::vector<GemmRow> one = {{family_of(device), dtype, curve, "", ""}};
    ComputeOp op;
    op.dtype = dtype;
    return to_seconds(compute_time(device, op, &kernel, {}, {one, {}, ""}).time);
  }

  static EfficiencyCurve fit_gemms(const DeviceSpec& device,
                                   Dtype dtype,
                                   const std::vector<MeasuredGemm>& measured,
                                   const std::vector<double>& start,
                                   const std::vector<std::size_t>& free) {
    const auto cost = [&](const std::vector<double>& p) {
      double sum = 0;
      for (const MeasuredGemm& one : measured) {
        sum += one_error(gemm_s(device, dtype, one.kernel, {p[0], p[1], p[2], 0}), one.seconds);
      }
      return sum / static_cast<double>(measured.size());
    };
    const std::vector<double> p = descend(cost, start, free);
    return {p[0], p[1], p[2], 0};
  }

  static Kernel product(JsonValue m, JsonValue n, JsonValue k) {
    const auto size = [](JsonValue value) { return static_cast<std::uint32_t>(value.integer()); };
    return {KernelKind::kGemm, size(m), size(n), size(k), "", std::nullopt};
  }

  void deepbench_rows() {
    const JsonDocument document = read("gemm_deepbench");
    for (const GemmSource& source : deepbench_devices()) {
      std::vector<MeasuredGemm> measured;
      for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
        if (row.find("dev").text() == source.device &&
            row.find("prec").text() == name_of(source.dtype)) {
          measured.push_back({product(row.find("m"), row.find("n"), row.find("k")),
                              row.find("ms").number() * 1e-3});
        }
      }
      if (!measured.empty()) {
        add(source.family, source.dtype,
            fit_gemms(source.spec, source.dtype, measured, {0.8, 40, 20}, {0, 1, 2}),
            fmt::format("DeepBench {} {}, {} GEMMs (gemm_deepbench)", source.device,
                        name_of(source.dtype), measured.size()));
      }
    }
  }

  // Square matrices of a figure cannot tell the smallest dimension from the size: half_dim is
  // Volta's.
  void ampere_rows() {
    const GemmRow* volta = find(GpuFamily::kVolta, Dtype::kFp16);
    const double half_dim = volta != nullptr ? volta->curve.half_dim : 20;
    const JsonDocument document = read("gemm_a100_vs_size_figure");
    for (const auto& [dtype, column] :
         {std::pair(Dtype::kFp16, "fp16_tflops"), std::pair(Dtype::kTf32, "tf32_tflops")}) {
      std::vector<MeasuredGemm> measured;
      for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
        const double n = row.find("n").number();
        measured.push_back({product(row.find("n"), row.find("n"), row.find("n")),
                            2 * n * n * n / (row.find(column).number() * 1e12)});
      }
      if (!measured.empty()) {
        add(GpuFamily::kAmpere, dtype,
            fit_gemms(a100(), dtype, measured, {0.9, 60, half_dim}, {0, 1}),
            "gemm_a100_vs_size_figure, square matmuls n = 256 to 8192");
      }
    }
    if (document.root()) {
      add(GpuFamily::kAmpere, Dtype::kFp32, {0.95, 40, 20, 0},
          "18.5 of 19.5 TFLOP/s from n = 1536 on (gemm_a100_vs_size_figure); tile guessed");
    }
  }

  struct Newer {
    const char* accelerator;
    const char* precision;
    GpuFamily family;
    Dtype dtype;
  };

  // Height from the best matmul anybody measured: the best of all shapes bounds what large products
  // come to. (Meeting that one shape exactly would let larger ones beat it.) Tile and half_dim are
  // the A100's.
  void newer_rows() {
    const std::vector<Newer> newer = {
        {"NVIDIA A100 SXM", "bf16", GpuFamily::kAmpere, Dtype::kFp16},
        {"NVIDIA H100 SXM", "bf16", GpuFamily::kHopper, Dtype::kFp16},
        {"NVIDIA H100 SXM", "fp8", GpuFamily::kHopper, Dtype::kFp8},
        {"NVIDIA B200 SXM", "bf16", GpuFamily::kBlackwell, Dtype::kFp16},
        {"NVIDIA B200 SXM", "fp8", GpuFamily::kBlackwell, Dtype::kFp8}};
    const JsonDocument document = read("matmul_peak_achieved_mamf");
    for (JsonValue row = document.root().find("rows").first(); row; row = row.next()) {
      const auto of = std::find_if(newer.begin(), newer.end(), [&](const Newer& one) {
        return row.find("accelerator").text() == one.accelerator &&
               row.find("precision").text() == one.precision;
      });
      if (of != newer.end()) {
        newer_row(*of, row);
      }
    }
  }

  void newer_row(const Newer& of, JsonValue row) {
    const GemmRow* ampere = find(GpuFamily::kAmpere, Dtype::kFp16);
    EfficiencyCurve curve = ampere != nullptr ? ampere->curve : EfficiencyCurve{0.9, 66, 20, 0};
    curve.most = row.find("mamf_tflops").number() / row.find("peak_tflops").number();
    add(of.family, of.dtype, curve,
        fmt::format("best {} matmul of {} (matmul_peak_achieved_mamf), tile of A100", of.precision,
                    of.accelerator));
  }

  static double middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  void any_gpu_rows() {
    for (const bool tensor : {false, true}) {
      std::vector<double> most = {0.9};
      std::vector<double> tile = {tensor ? 66.0 : 40.0};
      std::vector<double> half_dim = {20};
      for (const GemmRow& row : fitted_.gemms) {
        const bool is_tensor = row.dtype != Dtype::kFp32;
        if (is_tensor == tensor && !(row.family == GpuFamily::kPascal && is_tensor)) {
          most.push_back(row.curve.most);
          tile.push_back(row.curve.tile);
          half_dim.push_back(row.curve.half_dim);
        }
      }
      add(GpuFamily::kAnyGpu, tensor ? Dtype::kFp16 : Dtype::kFp32,
          {middle(most), middle(tile), middle(half_dim), 0},
          fmt::format("the middle of the {} rows of measured families", most.size() - 1));
    }
    add(GpuFamily::kCpu, Dtype::kFp32, {0.75, 40, 16, 0},
        "guess: a BLAS on one socket; calibrate replaces it");
  }

  // ---- convolutions
  void conv_rows() {
    std::vector<MeasuredStep> steps = measured_steps(folder_);
    std::erase_if(steps, [&](const MeasuredStep& step) { return step.table == without_; });
    const auto cost = [&](const std::vector<double>& p) {
      const std::vector<ConvRow> convs = conv_rows_of(p, "");
      double sum = 0;
      double weights = 0;
      for (const MeasuredStep& step : steps) {
        const EfficiencyTable table{fitted_.gemms, convs, ""};
        sum += step.weight * one_error(predicted_s(step, table), step.seconds);
        weights += step.weight;
      }
      return weights > 0 ? sum / weights : 0;
    };
    const std::vector<std::size_t> free = free_parameters(steps);
    std::vector<double> p = descend(cost, kConvStart, free);
    // Hardware that no row tells about is like the next that one does.
    const auto is_known = [&](std::size_t parameter) {
      return std::find(free.begin(), free.end(), parameter) != free.end();
    };
    for (const auto& [unknown, like] :
         {std::pair(kKeplerShare, kOldShare), std::pair(kTensorShare, kVoltaShare),
          std::pair(kVoltaShare, kOldShare)}) {
      p[unknown] = is_known(unknown) ? p[unknown] : p[like];
    }
    fitted_.convs = conv_rows_of(
        p, fitted_.keep(fmt::format("{} training steps and passes of CNNs", steps.size())));
  }

  // Those that some row tells about.
  static std::vector<std::size_t> free_parameters(const std::vector<MeasuredStep>& steps) {
    const auto has = [&](ConvHardware hardware) {
      return std::any_of(steps.begin(), steps.end(), [&](const MeasuredStep& step) {
        return conv_hardware_of(step.device, step.ops.front().op.dtype) == hardware;
      });
    };
    std::vector<std::size_t> free;
    for (const auto& [hardware, parameter] : {std::pair(ConvHardware::kKepler, kKeplerShare),
                                              std::pair(ConvHardware::kBeforeVolta, kOldShare),
                                              std::pair(ConvHardware::kSinceVolta, kVoltaShare),
                                              std::pair(ConvHardware::kTensorCores, kTensorShare),
                                              std::pair(ConvHardware::kBeforeVolta, kOldSetup),
                                              std::pair(ConvHardware::kSinceVolta, kNewSetup)}) {
      if (has(hardware)) {
        free.push_back(parameter);
      }
    }
    return free;
  }

  // ---- the table
  GemmRow* find(GpuFamily family, Dtype dtype) {
    const auto found = std::find_if(
        fitted_.gemms.begin(), fitted_.gemms.end(),
        [&](const GemmRow& row) { return row.family == family && row.dtype == dtype; });
    return found == fitted_.gemms.end() ? nullptr : &*found;
  }

  void add(GpuFamily family, Dtype dtype, const EfficiencyCurve& curve, std::string source) {
    const GemmRow row{family, dtype, curve, fitted_.keep(std::move(source)), ""};
    if (GemmRow* known = find(family, dtype)) {
      *known = row;
    } else {
      fitted_.gemms.push_back(row);
    }
  }

  std::string folder_;
  std::string without_;
  Fitted fitted_;
};

constexpr std::array<std::string_view, 11> kFamilyNames = {
    "Kepler", "Maxwell", "Pascal",    "Consumer", "Volta", "LowPower",
    "Ampere", "Hopper",  "Blackwell", "AnyGpu",   "Cpu"};

std::string dtype_constant(Dtype dtype) {
  std::string name(name_of(dtype));
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name;
}

constexpr std::array<std::string_view, 5> kHardwareNames = {"Cpu", "Kepler", "BeforeVolta",
                                                            "SinceVolta", "TensorCores"};

double tidy(double value) { return value < 0.01 ? 0 : value; }

std::string text_of(const GemmRow& row) {
  return fmt::format(
      "{{GpuFamily::k{}, Dtype::k{}, {{{:.3f}, {:.3g}, {:.3g}, 0}},\n \"{}\", \"{}\"}},\n",
      kFamilyNames[static_cast<std::size_t>(row.family)], dtype_constant(row.dtype), row.curve.most,
      tidy(row.curve.tile), tidy(row.curve.half_dim), row.source, row.without);
}

std::string text_of(const ConvRow& row) {
  return fmt::format("{{ConvHardware::k{}, {:.3f}, {:.3g}, {:.3g}, {:.3g}, \"{}\", \"{}\"}},\n",
                     kHardwareNames[static_cast<std::size_t>(row.hardware)], row.share, row.tile,
                     row.half_dim, tidy(row.setup_us), row.source, row.without);
}

template <class Row>
std::string text_of(const std::vector<Row>& rows) {
  std::string text =
      "// Written by tests/core/compute/fit_efficiency.cc, which explains the model. Files are of "
      "shared/measured;\n// the last column is the table that was left out.\n";
  for (const Row& row : rows) {
    text += text_of(row);
  }
  return text;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 0.02 * std::abs(b) + 0.02; }
bool is_same(const GemmRow& a, const GemmRow& b) {
  return a.family == b.family && a.dtype == b.dtype;
}
bool is_same(const ConvRow& a, const ConvRow& b) { return a.hardware == b.hardware; }
bool is_near(const GemmRow& a, const GemmRow& b) {
  return is_near(a.curve.most, b.curve.most) && is_near(a.curve.tile, b.curve.tile) &&
         is_near(a.curve.half_dim, b.curve.half_dim);
}
bool is_near(const ConvRow& a, const ConvRow& b) {
  return is_near(a.share, b.share) && is_near(a.setup_us, b.setup_us);
}

// A family of which nothing is left is any GPU.
GemmRow without_source(const GemmRow& row, const Fitted& fitted) {
  const auto any = std::find_if(fitted.gemms.begin(), fitted.gemms.end(), [&](const GemmRow& one) {
    return one.family == GpuFamily::kAnyGpu &&
           (one.dtype == Dtype::kFp32) == (row.dtype == Dtype::kFp32);
  });
  GemmRow out = row;
  out.curve = any->curve;
  out.source = "no row of its own: any GPU";
  return out;
}
ConvRow without_source(const ConvRow& row, const Fitted& /*fitted*/) { return row; }

// Adds the rows of `other` that are not those of `all`.
template <class Row>
void add_differences(std::vector<Row>& rows,
                     const std::vector<Row>& all,
                     const std::vector<Row>& other,
                     const Fitted& fitted,
                     std::string_view without) {
  for (const Row& row : all) {
    const auto same =
        std::find_if(other.begin(), other.end(), [&](const Row& one) { return is_same(one, row); });
    Row found = same != other.end() ? *same : without_source(row, fitted);
    if (!is_near(found, row)) {
      found.without = without;
      rows.push_back(found);
    }
  }
}

// The whole fit, then for each table the rows that are others without it.
class WholeTable {
 public:
  explicit WholeTable(const std::string& folder) : all_(folder, "") {
    gemms = all_.result().gemms;
    convs = all_.result().convs;
    for (const std::string_view table : fitted_tables()) {
      const Fitted& other = others_.emplace_back(folder, std::string(table)).result();
      add_differences(gemms, all_.result().gemms, other.gemms, other, table);
      add_differences(convs, all_.result().convs, other.convs, other, table);
    }
  }

  std::vector<GemmRow> gemms;
  std::vector<ConvRow> convs;

 private:
  Fit all_;
  std::deque<Fit> others_;
};

template <class Row>
std::size_t missing(const std::vector<Row>& fitted, std::span<const Row> program) {
  std::size_t count = 0;
  for (const Row& row : fitted) {
    const bool is_there = std::any_of(program.begin(), program.end(), [&](const Row& own) {
      return own.without == row.without && is_same(own, row) && is_near(own, row);
    });
    count += is_there ? 0 : 1;
  }
  return count + (fitted.size() != program.size() ? 1 : 0);
}

int check(const WholeTable& fitted) {
  const EfficiencyTable program = efficiency_table();
  const bool same =
      missing(fitted.gemms, program.gemms) + missing(fitted.convs, program.convs) == 0;
  std::printf("%zu rows, %s\n", fitted.gemms.size() + fitted.convs.size(),
              same ? "as fitted" : "others than the fit: run with --write");
  return same ? 0 : 1;
}

void print_errors(const char* what,
                  const std::vector<MeasuredStep>& steps,
                  const EfficiencyTable& table,
                  const std::string& only) {
  std::map<std::string, Pairs> by_table;
  for (const MeasuredStep& step : steps) {
    if (only.empty() || step.table == only) {
      by_table[step.table].emplace_back(predicted_s(step, table), step.seconds);
    }
  }
  for (const auto& [name, pairs] : by_table) {
    const ErrorSummary errors = summary_of(pairs);
    std::printf(
        "%-9s %-32s %3zu rows: median %5.1f %%, p90 %5.1f %%, worst %5.1f %%, bias %+5.1f %%\n",
        what, name.c_str(), errors.count, errors.median, errors.p90, errors.worst, errors.bias);
  }
}

void print_rows(const std::vector<MeasuredStep>& steps, const EfficiencyTable& table) {
  for (const MeasuredStep& step : steps) {
    const double predicted = predicted_s(step, table);
    std::printf("  %-32s %-50s %9.3f ms predicted, %9.3f measured, %+6.1f %%\n", step.table.c_str(),
                step.label.c_str(), 1e3 * predicted, 1e3 * step.seconds,
                100 * (predicted / step.seconds - 1));
  }
}

void report(const std::string& folder, const std::string& only, bool with_rows) {
  const std::vector<MeasuredStep> steps = measured_steps(folder);
  if (only.empty()) {
    const Fit all(folder, "");
    const EfficiencyTable table = all.result().table();
    print_errors("in sample", steps, table, "");
    print_errors("inference", measured_inference(folder), table, "");
    if (with_rows) {
      print_rows(steps, table);
    }
  }
  for (const std::string_view table : fitted_tables()) {
    if (only.empty() || table == only) {
      const Fit fit(folder, std::string(table));
      print_errors("held out", steps, fit.result().table(), std::string(table));
    }
  }
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty() || !std::filesystem::is_directory(arguments.front())) {
    std::printf("skipped: no folder of measurements\n");
    return 77;
  }
  const std::string& folder = arguments.front();
  const std::string what = arguments.size() > 1 ? arguments[1] : "";
  const std::string more = arguments.size() > 2 ? arguments[2] : "";
  if (what == "--report" || what == "--rows" || what == "--leave-out") {
    report(folder, what == "--leave-out" ? more : "", what == "--rows");
    return 0;
  }
  const WholeTable fitted(folder);
  if (what == "--check") {
    return check(fitted);
  }
  if (what == "--write") {
    std::ofstream(more + "/gemm_efficiency.inc") << text_of(fitted.gemms);
    std::ofstream(more + "/conv_efficiency.inc") << text_of(fitted.convs);
  } else {
    std::fputs((text_of(fitted.gemms) + text_of(fitted.convs)).c_str(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace twinrun

int main(int count, char** values) { return twinrun::run({values + 1, values + count}); }
