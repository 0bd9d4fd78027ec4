// The figures people look for first, as tiles; several runs as a table beside each other.
import { Run } from "./data";
import { h, table } from "./dom";
import { section, Section } from "./figure";
import { bytes, count, NONE, percent, seconds, signedPercent, whole } from "./format";

interface Figure {
  name: string;
  key: string; // of the result; tests find the tile by it
  value: (run: Run) => number | null | undefined;
  text: (value: number | null | undefined) => string;
  more: (run: Run) => string;
}

function fullest(run: Run) {
  const share = (peak: number, capacity: number | null) => (capacity ? peak / capacity : 0);
  return [...run.result.memory].sort(
    (a, b) => share(b.peak_bytes, b.capacity_bytes) - share(a.peak_bytes, a.capacity_bytes) || b.peak_bytes - a.peak_bytes,
  )[0];
}

function stepSpread(run: Run): string {
  const each = run.result.step_s_each ?? [];
  if (each.length < 2) return "";
  const [least, most] = [seconds(Math.min(...each)), seconds(Math.max(...each))];
  return least === most ? `the mean of ${each.length} steps alike` : `${least} to ${most} over ${each.length} steps`;
}

const FIGURES: Figure[] = [
  { name: "Step", key: "step_s", value: (run) => run.result.step_s, text: seconds, more: stepSpread },
  {
    name: "Samples per second",
    key: "samples_per_s",
    value: (run) => run.result.samples_per_s,
    text: count,
    more: (run) => (run.result.epoch_s ? `an epoch in ${seconds(run.result.epoch_s)}` : ""),
  },
  {
    name: "Scaling efficiency",
    key: "scaling_efficiency_pct",
    value: (run) => run.result.scaling_efficiency_pct,
    text: (value) => percent(value),
    more: (run) =>
      run.result.speedup_vs_one_device
        ? `${run.result.speedup_vs_one_device.toFixed(2)} times one device, on ${run.result.devices}`
        : "",
  },
  {
    name: "Compute alone, t1",
    key: "t1_s",
    value: (run) => run.result.t1_s,
    text: seconds,
    more: (run) => (run.result.mfu_pct ? `MFU ${percent(run.result.mfu_pct)}` : ""),
  },
  {
    name: "Communication alone, t2",
    key: "t2_s",
    value: (run) => run.result.t2_s,
    text: seconds,
    more: (run) =>
      run.result.overlap_pct !== null && run.result.overlap_pct !== undefined
        ? `${percent(run.result.overlap_pct)} of communication is hidden`
        : "",
  },
  {
    name: "Exposed communication",
    key: "exposed_communication_s",
    value: (run) => run.result.breakdown_s?.["exposed_communication"],
    text: seconds,
    more: (run) =>
      run.result.breakdown_s
        ? `${percent((100 * run.result.breakdown_s["exposed_communication"]) / run.result.step_s)} of a step`
        : "",
  },
  {
    name: "Peak memory",
    key: "peak_bytes",
    value: (run) => fullest(run)?.peak_bytes,
    text: bytes,
    more: (run) => {
      const device = fullest(run);
      if (!device) return "";
      const of = device.capacity_bytes ? `of ${bytes(device.capacity_bytes)} ` : "";
      return `${of}on ${device.device}${device.fits === false ? ": does not fit" : ""}`;
    },
  },
  {
    name: "Cost of an epoch",
    key: "cost_per_epoch",
    value: (run) => run.result.cost_per_epoch,
    text: count,
    more: () => "",
  },
];

function tiles(run: Run): HTMLElement {
  const list = h("dl", { class: "tiles" });
  for (const figure of FIGURES) {
    const value = figure.value(run);
    if (value === null || value === undefined) continue;
    const more = figure.more(run);
    list.appendChild(
      h(
        "div",
        { class: "tile", "data-key": figure.key, "data-value": value },
        h("dt", {}, figure.name),
        h("dd", {}, h("span", { class: "value" }, figure.text(value)), more ? h("span", { class: "more" }, more) : null),
      ),
    );
  }
  return list;
}

function beside(runs: Run[]): HTMLElement {
  const shown = FIGURES.filter((figure) => runs.some((run) => typeof figure.value(run) === "number"));
  const first = runs[0];
  const difference = (figure: Figure, run: Run) => {
    const [a, b] = [figure.value(first), figure.value(run)];
    return typeof a === "number" && typeof b === "number" && a !== 0 ? signedPercent(100 * (b / a - 1)) : NONE;
  };
  return table(
    "Runs beside each other",
    [
      { title: "", text: (figure: Figure) => figure.name },
      ...runs.flatMap((run, index) => [
        { title: `${run.label}`, number: true, text: (figure: Figure) => figure.text(figure.value(run)) },
        ...(index ? [{ title: "difference", number: true, text: (figure: Figure) => difference(figure, run) }] : []),
      ]),
    ],
    shown,
  );
}

export function subtitle(run: Run): string {
  const { layout, topology, devices, source, backend } = run.result;
  const parts = [backend ? `${source} on ${backend}` : source];
  if (layout) {
    parts.push(String(layout["strategy"]), String(layout["model"]));
    const replicas = Number(layout["replicas"]) * Number(layout["shards"] ?? 1);
    parts.push(`${whole(devices)} ${devices === 1 ? "device" : "devices"} of ${topology}`);
    parts.push(
      replicas > 1
        ? `batch ${replicas} × ${layout["local_batch_size"]}`
        : `batch ${layout["global_batch_size"]}`,
    );
    if (Number(layout["micro_batches"]) > 1) parts.push(`${layout["micro_batches"]} micro-batches`);
    parts.push(String(layout["dtype"]));
  } else {
    parts.push(`${whole(devices)} devices of ${topology}`);
  }
  return parts.join(" · ");
}

// Not where a comparison has the same figures.
export function overviewSection(runs: Run[], isCompared: boolean): Section | null {
  if (!runs.length || isCompared) return null;
  return section("overview", runs.length > 1 ? "The runs" : "The run", runs.length > 1 ? beside(runs) : tiles(runs[0]));
}
