#include "core/io/nccl_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace twinrun {
namespace {

struct Generation {
  double gigatransfers;
  std::string_view text;  // as a current kernel writes it
  double nccl_gigabytes;  // a lane, in NCCL's table
  double line_gigabytes;  // a lane, after encoding
};
constexpr std::array kGenerations = {
    Generation{2.5, "2.5 GT/s PCIe", 0.1875, 0.25}, Generation{5, "5.0 GT/s PCIe", 0.375, 0.5},
    Generation{8, "8.0 GT/s PCIe", 0.75, 0.984375}, Generation{16, "16.0 GT/s PCIe", 1.5, 1.96875},
    Generation{32, "32.0 GT/s PCIe", 3, 3.9375},    Generation{64, "64.0 GT/s PCIe", 6, 7.5625}};

const Generation& row(int generation) {
  return kGenerations[static_cast<std::size_t>(std::clamp(generation, 1, 6) - 1)];
}

constexpr std::array kKnownGpus = {
    KnownGpu{0x102D, 37, "k80"},
    KnownGpu{0x13F2, 52, "m60"},
    KnownGpu{0x17FD, 52, "m40"},
    KnownGpu{0x15F9, 60, "p100-sxm2"},
    KnownGpu{0x1B06, 61, "gtx-1080ti"},
    KnownGpu{0x1B80, 61, "gtx-1080"},
    KnownGpu{0x1B38, 61, "p40"},
    KnownGpu{0x1DB1, 70, "v100-sxm2-16gb"},
    KnownGpu{0x1DB5, 70, "v100-sxm2-32gb"},
    KnownGpu{0x1DB6, 70, "v100-pcie-32gb"},
    KnownGpu{0x1EB8, 75, "t4"},
    KnownGpu{0x1E07, 75, "rtx-2080ti"},
    KnownGpu{0x1E04, 75, "rtx-2080ti"},
    KnownGpu{0x20B0, 80, "a100-sxm4-40gb"},
    KnownGpu{0x20B2, 80, "a100-sxm4-80gb"},
    KnownGpu{0x20B5, 80, "a100-pcie-80gb"},
    KnownGpu{0x2236, 86, "a10"},
    KnownGpu{0x2235, 86, "a40"},
    KnownGpu{0x2204, 86, "rtx-3090"},
    KnownGpu{0x2684, 89, "rtx-4090"},
    KnownGpu{0x2330, 90, "h100-sxm5"},
    KnownGpu{0x2331, 90, "h100-pcie"},
    KnownGpu{0x2335, 90, "h200"},
    KnownGpu{0x2901, 100, "b200"},
};

template <class Matches>
const KnownGpu* find_gpu(Matches matches) {
  const auto* found = std::find_if(kKnownGpus.begin(), kKnownGpus.end(), matches);
  return found == kKnownGpus.end() ? nullptr : found;
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

PciClass pci_class(std::string_view text) {
  if (text.starts_with("0x068000")) {
    return PciClass::kNvswitch;
  }
  if (text.starts_with("0x068001")) {
    return PciClass::kCpuBridge;
  }
  if (text.starts_with("0x03")) {
    return PciClass::kGpu;
  }
  return text.starts_with("0x02") ? PciClass::kNic : PciClass::kBridge;
}

std::optional<int> pcie_generation(std::string_view speed_text) {
  double number = 0;
  const char* end_of_text = speed_text.data() + speed_text.size();
  const auto [end, error] = std::from_chars(speed_text.data(), end_of_text, number);
  if (error != std::errc() ||
      !std::string_view(end, static_cast<std::size_t>(end_of_text - end)).starts_with(" GT/s")) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kGenerations.size(); ++i) {
    if (kGenerations[i].gigatransfers == number) {
      return static_cast<int>(i) + 1;
    }
  }
  return std::nullopt;
}

std::string_view pcie_speed_text(int generation) { return row(generation).text; }

std::optional<PcieSpeed> parse_pcie_speed(std::string_view text) {
  PcieSpeed speed;
  if (text.size() < 6 || !text.starts_with("gen") || text[4] != 'x') {
    return std::nullopt;
  }
  speed.generation = text[3] - '0';
  const char* end_of_text = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 5, end_of_text, speed.width);
  const bool whole = error == std::errc() && end == end_of_text;
  if (!whole || speed.generation < 1 || speed.generation > 6 || speed.width < 1 ||
      speed.width > 32) {
    return std::nullopt;
  }
  return speed;
}

Bandwidth pcie_bandwidth(PcieSpeed speed) {
  return gigabytes_per_second(row(speed.generation).nccl_gigabytes * speed.width);
}

Bandwidth pcie_line_rate(PcieSpeed speed) {
  return gigabytes_per_second(row(speed.generation).line_gigabytes * speed.width);
}

std::optional<PcieSpeed> pcie_speed_of(Bandwidth bandwidth, Bandwidth line_rate) {
  constexpr std::array kWidths = {16, 8, 4, 2, 1, 12, 32};
  std::optional<PcieSpeed> found;
  for (const int width : kWidths) {
    for (int generation = 1; generation <= 6; ++generation) {
      const PcieSpeed speed{generation, width};
      if (!near(pcie_bandwidth(speed).bytes_per_s, bandwidth.bytes_per_s)) {
        continue;
      }
      if (near(pcie_line_rate(speed).bytes_per_s, line_rate.bytes_per_s)) {
        return speed;
      }
      found = found.value_or(speed);
    }
  }
  return found;
}

LinkRates nvlink_rates(int sm) {
  const auto rates = [](double reached, double line) {
    return LinkRates{gigabytes_per_second(reached), gigabytes_per_second(line)};
  };
  if (sm >= 100) {
    return rates(40.1, 50);
  }
  if (sm >= 90) {
    return rates(20.6, 25);
  }
  if (sm == 86) {
    return rates(12, 14.0625);
  }
  return sm >= 60 && sm < 70 ? rates(18, 20) : rates(20, 25);
}

std::optional<Bandwidth> socket_bandwidth(std::string_view vendor, int model) {
  if (vendor == "amd") {
    return gigabytes_per_second(16);
  }
  if (vendor == "power") {
    return gigabytes_per_second(32);
  }
  if (vendor == "arm") {
    return gigabytes_per_second(6);
  }
  if (vendor != "intel") {
    return std::nullopt;
  }
  // Granite Rapids and Sierra Forest are newer than Emerald Rapids but have lower numbers.
  if (model >= 0xCF || (model >= 0xAD && model <= 0xAF)) {
    return gigabytes_per_second(40);
  }
  return gigabytes_per_second(model >= 0x8F ? 22 : model >= 0x55 ? 10 : 6);
}

const KnownGpu* known_gpu_of_pci_device(std::uint32_t pci_device) {
  return find_gpu([&](const KnownGpu& gpu) { return gpu.pci_device == pci_device; });
}

const KnownGpu* known_gpu_named(std::string_view device) {
  return find_gpu([&](const KnownGpu& gpu) { return gpu.device == device; });
}

const KnownGpu* known_gpu_of_sm(int sm) {
  switch (sm) {
    case 70:
      return known_gpu_named("v100-sxm2-32gb");
    default:  // the first of the table
      return find_gpu([&](const KnownGpu& gpu) { return gpu.sm == sm; });
  }
}

int broadcom_generation(std::uint64_t pci_ids, int level) {
  const std::uint64_t family = pci_ids & ~std::uint64_t{0xFFF};
  if (family == 0x1000C0101000A000) {
    return 4;
  }
  const std::uint64_t of_level = static_cast<std::uint64_t>(level) * 0x1000;
  return family == (0x1000C03010000000 | of_level) ? 5 : 0;
}

}  // namespace twinrun
