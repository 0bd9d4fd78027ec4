#!/usr/bin/env python3
"""Fits core/compute/efficiency_table.inc to published measurements. Pure Python, no random numbers: the same
files give the same table.

  fit_efficiency.py --measured DIR             prints the table
  fit_efficiency.py --measured DIR --check     compares it with the one in the repository; 77 when DIR is absent
  fit_efficiency.py --measured DIR --write     replaces the one in the repository
  fit_efficiency.py --measured DIR --report    errors on shapes that were held out of the fit

The model, in seconds, and the same as in core/compute/compute_time.cc:

  efficiency = most * max(t / (t + half_us), 0.2) * d / (d + half_dim)    t = FLOPs / peak, d the smallest of m, n, k
  time       = max(t / efficiency, bytes / (memory bandwidth * 0.85)) + launch overhead
"""

import argparse
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "core/compute/efficiency_table.inc"
LAUNCH_S = 5e-6  # of every device in topologies/devices.json that is fitted here
MEMORY = 0.85    # 757 to 772 of 900 GB/s, device to device, memcpy_v100_pcie_superbench
FLOOR = 0.2      # the least share of `most` that a small op reaches; below, launch overhead rules anyway

# What DeepBench ran on, by its own sheets; the P100 sits on a desktop board, so it is the PCIe one.
# (name there, dtype): peak TFLOP/s of the dtype, memory GB/s, bytes an element, family, how the dtype is called
DEEPBENCH = {
    ("M40", "fp32"): (6.8, 288, 4, "Maxwell"),
    ("P100", "fp32"): (9.3, 732, 4, "Pascal"),
    ("P100", "fp16"): (18.7, 732, 2, "Pascal"),
    ("V100", "fp32"): (15.7, 900, 4, "Volta"),
    ("V100", "fp16"): (125, 900, 2, "Volta"),
    ("T4", "fp32"): (8.1, 320, 4, "LowPower"),
    ("T4", "fp16"): (65, 320, 2, "LowPower"),
    ("1080Ti", "fp32"): (11.3, 484, 4, "Consumer"),
}
CNN_DEVICES = {"GTX 1080 Ti": (11.3, 484), "Pascal Titan X": (11, 480), "GTX 1080": (8.9, 320),
               "Maxwell Titan X": (6.6, 336), "K80": (2.8, 240), "M60": (4.8, 160), "V100": (15.7, 900)}


def compute_s(flops, dim, peak_tflops, curve):
    most, half_us, half_dim = curve
    at_peak = flops / (peak_tflops * 1e12)
    size = max(at_peak / (at_peak + half_us * 1e-6), FLOOR)
    shape = dim / (dim + half_dim) if dim else 1
    return at_peak / (most * size * shape)


def op_s(flops, moved, dim, device, curve):
    peak, memory = device[:2]
    compute = compute_s(flops, dim, peak, curve) if flops else 0
    return max(compute, moved / (memory * 1e9 * MEMORY)) + LAUNCH_S


def gemm_s(shape, device, curve):
    m, n, k = shape
    return op_s(2.0 * m * n * k, device[2] * (m * k + k * n + m * n), min(shape), device, curve)


def descend(cost, start, free):
    """Coordinate descent by factors that shrink from 1.5: slow, simple, and the same everywhere."""
    point, best, step = list(start), cost(start), 0.5
    while step > 0.002:
        moved = False
        for i in free:
            for factor in (1 + step, 1 / (1 + step)):
                tried = point[:]
                tried[i] *= factor
                c = cost(tried)
                if c < best - 1e-9:
                    best, point, moved = c, tried, True
        step = step if moved else step * 0.6
    return point


def mean_error(pairs):
    """Of (predicted, measured): the logarithm, cut at a factor e so that a few odd shapes do not rule."""
    return sum(min(abs(math.log(p / t)), 1.0) for p, t in pairs) / len(pairs)


def gemm_curve(device, rows):
    return descend(lambda c: mean_error([(gemm_s(s, device, c), t) for s, t in rows]), (0.8, 5, 40), (0, 1, 2))


def deepbench(measured):
    rows = json.loads((measured / "gemm_deepbench.json").read_text())["rows"]
    for (name, dtype), device in DEEPBENCH.items():
        yield name, dtype, device, [((r["m"], r["n"], r["k"]), r["ms"] * 1e-3) for r in rows
                                    if (r["dev"], r["prec"]) == (name, dtype)]


def deepbench_rows(measured):
    for name, dtype, device, mine in deepbench(measured):
        curve = gemm_curve(device, mine)
        yield device[3], "Gemm", dtype, curve, f"DeepBench {name} {dtype}, {len(mine)} GEMMs (gemm_deepbench)"


def peak_row(measured, accelerator, precision):
    rows = json.loads((measured / "matmul_peak_achieved_mamf.json").read_text())["rows"]
    row = next(r for r in rows if r["accelerator"] == accelerator and r["precision"] == precision)
    return [int(x) for x in row["best_MxNxK"].split("x")], row["mamf_tflops"], row["peak_tflops"]


def reach(shape, tflops, device, curve):
    """The curve with `most` such that this GEMM reaches so many TFLOP/s."""
    m, n, k = shape
    wanted = 2.0 * m * n * k / (tflops * 1e12) - LAUNCH_S
    most = curve[0] * compute_s(2.0 * m * n * k, min(shape), device[0], curve) / wanted
    return [most, curve[1], curve[2]]


def tensor_core_rows(measured, half_dim):
    """Shape from the A100 figure, height from the best matmul anybody measured; newer GPUs by their own best, with
    A100's halves. The figure has square matrices only, which cannot tell FLOPs from
    the smallest dimension, so half_dim is Volta's."""
    figure = json.loads((measured / "gemm_a100_vs_size_figure.json").read_text())["rows"]
    shapes = {}
    for dtype, column, peak, size in (("fp16", "fp16_tflops", 312, 2), ("tf32", "tf32_tflops", 156, 4)):
        device = (peak, 1555, size)
        mine = [((r["n"],) * 3, 2.0 * r["n"] ** 3 / (r[column] * 1e12)) for r in figure]
        shapes[dtype] = descend(lambda c: mean_error([(gemm_s(s, device, c), t) for s, t in mine]),
                                (0.9, 5, half_dim), (0, 1))
    shape, best, peak = peak_row(measured, "NVIDIA A100 SXM", "bf16")
    a100 = reach(shape, best, (312, 1555, 2), shapes["fp16"])
    yield "Ampere", "Gemm", "fp16", a100, "gemm_a100_vs_size_figure, height by A100 SXM of matmul_peak_achieved_mamf"
    yield "Ampere", "Gemm", "tf32", shapes["tf32"], "gemm_a100_vs_size_figure, square matmuls n = 256 to 8192"
    yield ("Ampere", "Gemm", "fp32", [0.95, 2.8, 25],
           "18.5 of 19.5 TFLOP/s from n = 1536 on (gemm_a100_vs_size_figure); halves of Volta fp32")
    for family, name, dtype in (("Hopper", "NVIDIA H100 SXM", "bf16"), ("Hopper", "NVIDIA H100 SXM", "fp8"),
                                ("Blackwell", "NVIDIA B200 SXM", "bf16"), ("Blackwell", "NVIDIA B200 SXM", "fp8")):
        shape, best, peak = peak_row(measured, name, dtype)
        curve = reach(shape, best, (peak, 1), [1, a100[1], a100[2]])
        yield (family, "Gemm", "fp16" if dtype == "bf16" else dtype, curve,
               f"best {dtype} matmul of {name} (matmul_peak_achieved_mamf); halves of A100")


def convolution(layers, channels, filters, kernel, size, stride=1):
    out = size // stride
    layers.append((2.0 * out * out * channels * filters * kernel * kernel, channels * size * size + filters * out * out,
                   channels * filters * kernel * kernel))
    return out


def streamed(layers, elements, passes_forward, passes_backward):
    layers.append((elements, passes_forward, passes_backward))


def vgg(counts):
    """Layers as (flops, activations in and out, parameters) a sample, or (elements, passes forward, backward)."""
    layers, size, channels = [], 224, 3
    for count, width in zip(counts, (64, 128, 256, 512, 512)):
        for _ in range(count):
            convolution(layers, channels, width, 3, size)
            streamed(layers, width * size * size, 2, 3)  # relu: read and write; backward also reads the output
            channels = width
        streamed(layers, channels * size * size, 1.25, 2.5)  # max pooling
        size //= 2
    for inputs, outputs in ((25088, 4096), (4096, 4096), (4096, 1000)):
        layers.append((2.0 * inputs * outputs, inputs + outputs, inputs * outputs))
    return layers


def resnet(blocks):
    layers = []
    size = convolution(layers, 3, 64, 7, 224, 2)

    def normalised(width, area, rectified):
        streamed(layers, width * area, 3, 5)  # batch norm: two reads, one write
        if rectified:
            streamed(layers, width * area, 2, 3)
    normalised(64, size * size, True)
    streamed(layers, 64 * size * size, 1.25, 2.5)
    size, channels = 56, 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if block == 0 and stage > 0 else 1
            out = size // stride
            if block == 0:
                convolution(layers, channels, 4 * width, 1, size, stride)
                normalised(4 * width, out * out, False)
            convolution(layers, channels, width, 1, size)
            normalised(width, size * size, True)
            convolution(layers, width, width, 3, size, stride)
            normalised(width, out * out, True)
            convolution(layers, width, 4 * width, 1, out)
            normalised(4 * width, out * out, False)
            streamed(layers, 4 * width * out * out, 3, 2)  # the shortcut is added
            streamed(layers, 4 * width * out * out, 2, 3)
            size, channels = out, 4 * width
    layers.append((2.0 * 2048 * 1000, 3048, 2048 * 1000))
    return layers


NETWORKS = {"VGG-16": vgg((2, 2, 3, 3, 3)), "VGG-19": vgg((2, 2, 4, 4, 4)), "ResNet-50": resnet((3, 4, 6, 3)),
            "ResNet-101": resnet((3, 4, 23, 3)), "ResNet-152": resnet((3, 8, 36, 3))}


def network_s(name, batch, device, curve):
    """Forward and backward. A layer with weights computes its backward pass in two ops, each like the forward one."""
    forward = backward = 0.0
    for layer in NETWORKS[name]:
        if isinstance(layer[0], float):
            once = op_s(layer[0] * batch, 4 * (layer[1] * batch + layer[2]), None, device, curve)
            forward, backward = forward + once, backward + 2 * once
        else:
            forward += op_s(0, 4 * layer[0] * batch * layer[1], None, device, curve)
            backward += op_s(0, 4 * layer[0] * batch * layer[2], None, device, curve)
    return forward, backward


def layer_measurements(measured):
    """(network, batch, device, 'forward' | 'backward' | 'both', seconds), fp32, cuDNN 5.1 and MXNet's."""
    for r in json.loads((measured / "single_gpu_cnn_fwd_bwd_torch.json").read_text())["rows"]:
        if r["net"] in NETWORKS and str(r["cudnn"]).startswith("5.1"):
            yield r["net"], 16, CNN_DEVICES[r["device"]], "forward", r["fwd_ms"] * 1e-3
            yield r["net"], 16, CNN_DEVICES[r["device"]], "backward", r["bwd_ms"] * 1e-3
    names = {"VGG 16": "VGG-16", "Resnet 50": "ResNet-50", "Resnet 152": "ResNet-152"}
    for r in json.loads((measured / "single_gpu_batch_sweep_mxnet.json").read_text())["rows"]:
        if r["model"] in names and r["precision"] == "fp32" and r.get("images_per_s"):
            yield (names[r["model"]], r["batch"], CNN_DEVICES[r["dev"]],
                   "both" if r["mode"] == "training" else "forward", r["batch"] / r["images_per_s"])


def layer_pairs(measurements, curve):
    pairs = []
    for name, batch, device, what, seconds in measurements:
        forward, backward = network_s(name, batch, device, curve)
        pairs.append(({"forward": forward, "backward": backward, "both": forward + backward}[what], seconds))
    return pairs


def layer_row(measured):
    measurements = list(layer_measurements(measured))

    def cost(halves):  # most is held at 1: a fraction above is Winograd's doing, which an op does not know of
        return mean_error(layer_pairs(measurements, [1, halves[0], 0]))
    half, = descend(cost, [80], [0])
    return ("AnyGpu", "Layer", "fp32", [1, half, 0],
            f"{len(measurements)} passes of VGG and ResNet (single_gpu_cnn_fwd_bwd_torch, single_gpu_batch_sweep_mxnet)")


def middle(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def generic_rows(fitted):
    for dtype, tensor in (("fp32", ("fp32",)), ("fp16", ("fp16", "fp8", "tf32"))):
        curves = [c for family, kind, d, c, _ in fitted if d in tensor and (family, d) != ("Pascal", "fp16")]
        yield ("AnyGpu", "Gemm", dtype, [middle([c[i] for c in curves]) for i in range(3)],
               f"the middle of the {len(curves)} rows of measured families")
    yield "Cpu", "Gemm", "fp32", [0.75, 5, 16], "guess: a BLAS on one socket; calibrate replaces it"
    yield "Cpu", "Layer", "fp32", [0.5, 5, 0], "guess: layers reach less than a BLAS; calibrate replaces it"


def all_rows(measured):
    fitted = list(deepbench_rows(measured))
    volta = next(curve for family, _, dtype, curve, _ in fitted if (family, dtype) == ("Volta", "fp16"))
    fitted += tensor_core_rows(measured, volta[2])
    return fitted + [layer_row(measured)] + list(generic_rows(fitted))


def as_cpp(rows):
    lines = ["// Written by tests/core/compute/fit_efficiency.py, which explains the model. Files are of shared/measured."]
    for family, kind, dtype, (most, half_us, half_dim), source in rows:
        name = dtype.capitalize()
        lines.append(f"{{GpuFamily::k{family}, EfficiencyKind::k{kind}, Dtype::k{name}, "
                     f"{{{most:.3f}, {max(half_us, 0.01):.3g}, {half_dim:.3g}}},\n \"{source}\"}},")
    return "\n".join(lines) + "\n"


def median_percent(pairs):
    return 100 * middle([abs(p / t - 1) for p, t in pairs])


def report(measured):
    """What the fit is worth on rows it has not seen. DeepBench has a shape up to three times (transposed), so whole
    shapes are held out, every other one."""
    for name, dtype, device, rows in deepbench(measured):
        shapes = sorted({shape for shape, _ in rows})
        pairs = []
        for part in (0, 1):
            held = set(shapes[part::2])
            curve = gemm_curve(device, [row for row in rows if row[0] not in held])
            pairs += [(2.0 * s[0] * s[1] * s[2], gemm_s(s, device, curve), t) for s, t in rows if s in held]
        large, small = ([(p, t) for f, p, t in pairs if (f >= 1e9) == is_large] for is_large in (True, False))
        print(f"held out, {name} {dtype}: median error {median_percent(large):.1f} % of {len(large)} GEMMs from a "
              f"GFLOP on, {median_percent(small):.1f} % of {len(small)} smaller")
    measurements = list(layer_measurements(measured))
    errors = sorted(abs(p / t - 1) for p, t in layer_pairs(measurements, layer_row(measured)[3]))
    print(f"layers (not held out), {len(errors)} passes of VGG and ResNet: median error {100 * middle(errors):.0f} %, "
          f"a tenth beyond {100 * errors[len(errors) * 9 // 10]:.0f} %")


def numbers(text):
    return [float(x) for row in re.findall(r"\{([0-9.]+), ([0-9.e+-]+), ([0-9.e+-]+)\}", text) for x in row]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--measured", type=pathlib.Path, default=ROOT.parent / "shared/measured")
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--report", action="store_true")
    given = arguments.parse_args()
    if not given.measured.is_dir():
        print(f"skipped: no measurements in {given.measured}")
        return 77
    if given.report:
        report(given.measured)
        return 0
    text = as_cpp(all_rows(given.measured))
    if given.write:
        TABLE.write_text(text)
    elif given.check:
        # Formatting aside, and a last digit that another libm may round differently.
        ours, fitted = numbers(TABLE.read_text()), numbers(text)
        same = len(ours) == len(fitted) and all(abs(a - b) <= 0.01 * abs(b) + 1e-3 for a, b in zip(ours, fitted))
        print(f"{len(fitted) // 3} rows {'as fitted' if same else 'differ from the fit: run with --write'}")
        return 0 if same else 1
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
