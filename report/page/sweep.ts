// A sweep: the best point, what each key does, which points no other beats, and all of them as a table.
import { color } from "./colors";
import { Sweep, SweepPoint } from "./data";
import { choice, clear, h, s, table } from "./dom";
import { asTable, caption, legend, responsive, section, Section } from "./figure";
import { bytes, count, NONE, seconds, whole } from "./format";
import { lineChart } from "./line_chart";
import { scaleLinear } from "d3-scale";
import { tipOn } from "./tooltip";

const SERIES = ["part-compute", "part-exposed-communication", "part-recompute", "part-update", "series-server", "series-ring", "part-bubble-line"];

interface FigureOf {
  key: keyof SweepPoint;
  name: string;
  text: (value: number | null | undefined) => string;
}

const FIGURES: FigureOf[] = [
  { key: "samples_per_s", name: "samples/s", text: count },
  { key: "step_s", name: "step", text: seconds },
  { key: "t1_s", name: "t1", text: seconds },
  { key: "t2_s", name: "t2", text: seconds },
  { key: "exposed_communication_s", name: "exposed communication", text: seconds },
  { key: "peak_bytes", name: "peak memory", text: bytes },
];

function lastWord(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).replace(/_/g, " ");
}

function setText(set: Record<string, string>): string {
  return Object.entries(set)
    .map(([path, value]) => `${lastWord(path)} ${value}`)
    .join(", ");
}

function axesOf(sweep: Sweep): { path: string; values: string[] }[] {
  const paths = Object.keys(sweep.points[0]?.set ?? {});
  return paths.map((path) => ({ path, values: [...new Set(sweep.points.map((point) => point.set[path]))] }));
}

function isNumeric(values: string[]): boolean {
  return values.every((value) => value.trim() !== "" && Number.isFinite(Number(value)));
}

// One figure over one key; a line for each setting of the other keys.
function overKey(sweep: Sweep, path: string, figure: FigureOf): HTMLElement {
  const values = axesOf(sweep).find((axis) => axis.path === path)?.values ?? [];
  const numeric = isNumeric(values);
  const place = (value: string) => (numeric ? Number(value) : values.indexOf(value));
  const others = new Map<string, SweepPoint[]>();
  for (const point of sweep.points) {
    const rest = Object.fromEntries(Object.entries(point.set).filter(([key]) => key !== path));
    const name = setText(rest) || figure.name;
    others.set(name, [...(others.get(name) ?? []), point]);
  }
  const lines = [...others].slice(0, SERIES.length);
  const log = numeric && values.every((value) => Number(value) > 0) && values.length > 2;
  const chart = lineChart({
    title: `${figure.name} over ${lastWord(path)}`,
    x: {
      label: lastWord(path),
      log,
      text: (value) => (numeric ? count(value) : (values[Math.round(value)] ?? "")),
      ticks: values.map(place),
    },
    y: { label: figure.name, text: figure.text, fromZero: true },
    series: lines.map(([name, points], index) => ({
      name,
      color: color(SERIES[index]),
      points: points.flatMap((point) => {
        const y = point[figure.key];
        return typeof y === "number"
          ? [{ x: place(point.set[path]), y, hollow: point.fits === false, ...(point.fits === false ? { more: "does not fit" } : {}) }]
          : [];
      }),
    })),
    marks: [],
  });
  return h(
    "div",
    {},
    chart,
    others.size > lines.length ? h("p", { class: "note" }, `${lines.length} of ${others.size} lines are drawn.`) : null,
  );
}

// Memory against speed; those that none beats are filled.
function trade(sweep: Sweep, width: number): Element {
  const height = 280;
  const points = sweep.points.filter((point) => point.step_s !== undefined);
  const x = scaleLinear()
    .domain([0, Math.max(...points.map((point) => (point.peak_bytes ?? 0) / 2 ** 30))])
    .range([66, width - 16])
    .nice(5);
  const y = scaleLinear()
    .domain([0, Math.max(...points.map((point) => point.samples_per_s ?? 0))])
    .range([height - 44, 22])
    .nice(5);
  const svg = s("svg", { width, height, class: "chart", role: "img", "aria-label": "Speed against memory, a dot a point" });
  const axes = s("g", { class: "axes" });
  for (const tick of y.ticks(5))
    axes.append(
      s("line", { x1: 66, x2: width - 16, y1: y(tick), y2: y(tick), class: "grid" }),
      s("text", { x: 58, y: y(tick) + 4, "text-anchor": "end" }, count(tick)),
    );
  for (const tick of x.ticks(6)) axes.appendChild(s("text", { x: x(tick), y: height - 25, "text-anchor": "middle" }, `${tick} GiB`));
  axes.append(
    s("text", { x: 0, y: 12, class: "label" }, "samples/s"),
    s("text", { x: (width + 50) / 2, y: height - 6, "text-anchor": "middle", class: "label" }, "peak memory of the fullest device"),
  );
  svg.appendChild(axes);
  for (const point of points) {
    const dot = s("circle", {
      cx: x((point.peak_bytes ?? 0) / 2 ** 30),
      cy: y(point.samples_per_s ?? 0),
      r: 5,
      tabindex: 0,
      class: `point ${point.pareto ? "pareto" : ""} ${point.fits === false ? "too-large" : ""}`,
      "aria-label": `${setText(point.set)}: ${count(point.samples_per_s)} samples/s`,
    });
    tipOn(dot, () => ({
      title: setText(point.set),
      rows: [
        ["samples/s", count(point.samples_per_s)],
        ["step", seconds(point.step_s)],
        ["peak memory", bytes(point.peak_bytes) + (point.fits === false ? ", does not fit" : "")],
        ["devices", whole(point.devices)],
      ],
    }));
    svg.appendChild(dot);
  }
  return svg;
}

function pointsTable(sweep: Sweep): HTMLElement {
  const axes = axesOf(sweep);
  return table(
    "All points",
    [
      ...axes.map((axis) => ({ title: lastWord(axis.path), number: isNumeric(axis.values), text: (point: SweepPoint) => point.set[axis.path] })),
      ...FIGURES.map((figure) => ({
        title: figure.name,
        number: true,
        text: (point: SweepPoint) => {
          const value = point[figure.key];
          return typeof value === "number" ? figure.text(value) : NONE;
        },
      })),
      { title: "devices", number: true, text: (point: SweepPoint) => whole(point.devices) },
      { title: "fits", text: (point: SweepPoint) => (point.step_s === undefined ? (point.error ?? NONE) : point.fits ? "yes" : "no") },
      { title: "best trade", text: (point: SweepPoint) => (point.pareto ? "yes" : "") },
    ],
    sweep.points.slice(0, 2000),
  );
}

function bestList(sweep: Sweep): HTMLElement {
  const list = h("dl", { class: "facts" });
  for (const figure of FIGURES) {
    const best = sweep.best[figure.key];
    if (best) list.append(h("dt", {}, `best ${figure.name}`), h("dd", {}, `${figure.text(best.value)} with ${setText(best.set)}`));
  }
  return list;
}

export function sweepSection(sweep: Sweep, index: number): Section {
  const axes = axesOf(sweep);
  const holder = h("div");
  let path = axes[0]?.path ?? "";
  let figure = FIGURES[0];
  const show = () => {
    clear(holder);
    if (path) holder.appendChild(overKey(sweep, path, figure));
  };
  show();
  const bar = h(
    "div",
    { class: "toolbar" },
    axes.length > 1
      ? choice(
          "Over",
          axes.map((axis) => ({ value: axis.path, text: lastWord(axis.path) })),
          path,
          (value) => {
            path = value;
            show();
          },
        )
      : null,
    choice(
      "Show",
      FIGURES.map((one) => ({ value: String(one.key), text: one.name })),
      String(figure.key),
      (value) => {
        figure = FIGURES.find((one) => one.key === value) ?? figure;
        show();
      },
    ),
  );
  return section(
    `sweep${index || ""}`,
    index ? `Sweep ${sweep.label}` : "The sweep",
    sweep.headline ? h("p", { class: "sentence" }, sweep.headline) : null,
    bestList(sweep),
    bar,
    holder,
    h("h3", {}, "Speed against memory"),
    caption("Filled dots are beaten by none in speed, memory and devices together; crossed-out colour: does not fit."),
    legend([
      { name: "best trade", color: color("part-compute") },
      { name: "beaten by another", color: color("muted") },
      { name: "does not fit", color: color("slower") },
    ]),
    responsive((width) => trade(sweep, width)),
    asTable(pointsTable(sweep), "All points as a table"),
  );
}
