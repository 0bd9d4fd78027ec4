// Memory in use over time, part by part, against what the device has.
import { scaleLinear } from "d3-scale";
import { area, curveStepAfter, stack } from "d3-shape";
import { MEMORY_PARTS, memoryColor } from "./colors";
import { MemoryCurve, Run } from "./data";
import { choice, clear, h, s, table } from "./dom";
import { asTable, caption, legend, note, responsive, section, Section } from "./figure";
import { bytes, fromTo, percent, timeTick, upper } from "./format";
import { tickStep } from "./timeline_draw";
import { hideTip, showTip } from "./tooltip";

const HEIGHT = 280;
const MARGIN = { top: 18, right: 12, bottom: 32, left: 66 };

function usedParts(curve: MemoryCurve): string[] {
  return MEMORY_PARTS.filter((part) => curve.parts[part]);
}

// Powers of two, so that 256 MiB and 8 GiB stand at the lines.
function ticksOfBytes(most: number): number[] {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, most) / 6));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}

function draw(curve: MemoryCurve, makespan: number, width: number): Element {
  const parts = usedParts(curve);
  // The line of the capacity is in the picture unless it is far away.
  const limit = curve.capacity_bytes ?? 0;
  const most = limit && limit < 4 * curve.peak_bytes ? Math.max(limit, curve.peak_bytes) : curve.peak_bytes;
  const x = scaleLinear().domain([0, makespan]).range([MARGIN.left, width - MARGIN.right]);
  const y = scaleLinear().domain([0, most * 1.06]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const svg = s("svg", { width, height: HEIGHT, class: "chart", role: "img" });
  svg.setAttribute("aria-label", `Memory over time on ${curve.devices[0]}: peak ${bytes(curve.peak_bytes)}`);
  const axes = s("g", { class: "axes" });
  for (const tick of ticksOfBytes(most * 1.06))
    axes.append(
      s("line", { x1: x.range()[0], x2: x.range()[1], y1: y(tick), y2: y(tick), class: "grid" }),
      s("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, bytes(tick)),
    );
  const step = tickStep(makespan, width - MARGIN.left);
  const text = timeTick(step);
  for (let at = 0; at <= makespan; at += step)
    axes.appendChild(s("text", { x: x(at), y: HEIGHT - 12, "text-anchor": "middle" }, text(at)));
  svg.appendChild(axes);
  const rows = curve.times_ns.map((_, index) => index);
  const layers = stack<number>()
    .keys(parts)
    .value((row, part) => curve.parts[part][row])(rows);
  for (const layer of layers) {
    const indexed = layer.map(([low, high], index) => ({ at: curve.times_ns[index], low, high }));
    const shape = area<{ at: number; low: number; high: number }>()
      .x((point) => x(point.at))
      .y0((point) => y(point.low))
      .y1((point) => y(point.high))
      .curve(curveStepAfter)(indexed);
    svg.appendChild(s("path", { d: shape ?? "", style: `fill: ${memoryColor(layer.key)}`, class: "layer" }));
  }
  drawCapacity(svg, curve, most, x.range() as [number, number], y);
  hover(svg, curve, x, parts);
  return svg;
}

function drawCapacity(
  svg: SVGSVGElement,
  curve: MemoryCurve,
  most: number,
  [left, right]: [number, number],
  y: (value: number) => number,
): void {
  const limit = curve.capacity_bytes;
  if (!limit) return;
  const inside = limit <= most;
  const at = inside ? y(limit) : MARGIN.top;
  if (inside) svg.appendChild(s("line", { x1: left, x2: right, y1: at, y2: at, class: "capacity" }));
  const text = inside ? `capacity ${bytes(limit)}` : `capacity ${bytes(limit)}, far above`;
  svg.appendChild(s("text", { x: right - 4, y: inside ? at - 6 : at, "text-anchor": "end", class: "mark-text strong" }, text));
}

function hover(svg: SVGSVGElement, curve: MemoryCurve, x: { invert(value: number): number }, parts: string[]): void {
  svg.addEventListener("pointermove", (event) => {
    const at = x.invert(event.clientX - svg.getBoundingClientRect().left);
    let index = curve.times_ns.findIndex((time) => time > at) - 1;
    if (index < 0) index = at < curve.times_ns[0] ? 0 : curve.times_ns.length - 1;
    const total = parts.reduce((sum, part) => sum + curve.parts[part][index], 0);
    showTip(
      {
        title: `${bytes(total)} at ${timeTick(1e5)(curve.times_ns[index])}`,
        rows: [...parts].reverse().map((part) => [part, bytes(curve.parts[part][index])]),
      },
      event.clientX,
      event.clientY,
    );
  });
  svg.addEventListener("pointerleave", hideTip);
}

export function memorySection(runs: Run[]): Section | null {
  const run = runs.find((one) => one.memory && one.memory.curves.length);
  if (!run?.memory) return null;
  const memory = run.memory;
  const holder = h("div");
  const show = (index: number) => {
    const curve = memory.curves[index];
    clear(holder);
    holder.append(
      legend(usedParts(curve).map((part) => ({ name: part, color: memoryColor(part) }))),
      responsive((width) => draw(curve, memory.makespan_ns, width)),
    );
  };
  show(0);
  const names = memory.curves.map((curve, index) => ({
    value: String(index),
    text: fromTo(curve.devices[0], curve.devices[curve.devices.length - 1], curve.devices.length),
  }));
  const peaks = run.result.memory;
  const parts = MEMORY_PARTS.filter((part) => peaks.some((peak) => peak.parts[part]));
  return section(
    "memory",
    "Memory",
    caption("What a device holds over the run, against what it has. Activations are counted while they are alive."),
    note(run.result.memory_advice ?? ""),
    note(memory.left_out),
    names.length > 1 ? choice("Devices", names, "0", (value) => show(Number(value))) : null,
    holder,
    asTable(
      table(
        "Peak memory of the devices",
        [
          { title: "device", text: (peak) => fromTo(peak.device, peak.last_device, peak.count) },
          { title: "peak", number: true, text: (peak) => bytes(peak.peak_bytes) },
          { title: "has", number: true, text: (peak) => bytes(peak.capacity_bytes) },
          {
            title: "used",
            number: true,
            text: (peak) => percent(peak.capacity_bytes ? (100 * peak.peak_bytes) / peak.capacity_bytes : null),
          },
          ...parts.map((part) => ({
            title: upper(part),
            number: true,
            text: (peak: (typeof peaks)[number]) => bytes(peak.parts[part] ?? 0),
          })),
        ],
        peaks,
      ),
    ),
  );
}
