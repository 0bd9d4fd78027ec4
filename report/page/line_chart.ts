// Lines over one number, with marks where something happens. Axes are linear or logarithmic.
import { ContinuousScale, scaleLinear, scaleLog } from "d3-scale";
import { curveLinear, line } from "d3-shape";
import { h, s } from "./dom";
import { legend, responsive } from "./figure";
import { hideTip, showTip } from "./tooltip";

export interface Axis {
  label: string;
  log?: boolean;
  text: (value: number) => string;
  ticks?: number[];
  fromZero?: boolean;
}

export interface Series {
  name: string;
  color: string;
  dashed?: boolean;
  points: { x: number; y: number; hollow?: boolean; more?: string }[];
}

export interface Mark {
  x: number;
  text: string;
  strong?: boolean;
}

export interface ChartSpec {
  title: string; // for those who do not see it
  x: Axis;
  y: Axis;
  series: Series[];
  marks: Mark[];
  height?: number;
}

const MARGIN = { top: 26, right: 18, bottom: 44, left: 66 };

function extent(values: number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

function scaleFor(axis: Axis, values: number[], range: [number, number]): ContinuousScale {
  const positive = axis.log ? values.filter((value) => value > 0) : values;
  let [low, high] = positive.length ? extent(positive) : [1, 10];
  if (axis.log) {
    if (low === high) [low, high] = [low / 2, high * 2];
    return scaleLog().domain([low, high]).range(range);
  }
  if (axis.fromZero) low = Math.min(0, low);
  if (low === high) high = low + 1;
  return scaleLinear().domain([low, high]).range(range).nice(6);
}

function ticksOf(axis: Axis, scale: ContinuousScale, most: number): number[] {
  const [low, high] = scale.domain();
  if (axis.ticks) {
    const shown = axis.ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    const every = Math.ceil(shown.length / most);
    return shown.filter((_, index) => index % every === 0);
  }
  const ticks = scale.ticks(most);
  if (!axis.log) return ticks;
  const wide = high / low > 100;
  const chosen = ticks.filter((tick) => {
    const digit = Number(tick.toExponential().charAt(0));
    return wide ? digit === 1 : digit === 1 || digit === 2 || digit === 5;
  });
  return chosen.length > 1 ? chosen : ticks;
}

function axes(spec: ChartSpec, x: ContinuousScale, y: ContinuousScale): SVGGElement {
  const group = s("g", { class: "axes" });
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  for (const tick of ticksOf(spec.y, y, 5)) {
    const at = y(tick);
    group.append(
      s("line", { x1: left, x2: right, y1: at, y2: at, class: "grid" }),
      s("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, spec.y.text(tick)),
    );
  }
  for (const tick of ticksOf(spec.x, x, Math.max(2, Math.floor((right - left) / 70)))) {
    const at = x(tick);
    group.append(
      s("line", { x1: at, x2: at, y1: bottom, y2: bottom + 5, class: "tick" }),
      s("text", { x: at, y: bottom + 19, "text-anchor": "middle" }, spec.x.text(tick)),
    );
  }
  group.append(
    s("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "base" }),
    s("text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle", class: "label" }, spec.x.label),
    s("text", { x: 0, y: top - 12, class: "label" }, spec.y.label),
  );
  return group;
}

function marks(spec: ChartSpec, x: ContinuousScale, y: ContinuousScale): SVGGElement {
  const group = s("g", { class: "marks" });
  const [bottom, top] = y.range();
  const [left, right] = x.range();
  spec.marks.forEach((mark, index) => {
    const at = x(mark.x);
    if (!Number.isFinite(at) || at < left - 1 || at > right + 1) return;
    const flip = at > (left + right) / 2;
    group.append(
      s("line", { x1: at, x2: at, y1: top, y2: bottom, class: mark.strong ? "mark strong" : "mark" }),
      s(
        "text",
        {
          x: flip ? at - 6 : at + 6,
          y: top + 12 + 16 * index,
          "text-anchor": flip ? "end" : "start",
          class: mark.strong ? "mark-text strong" : "mark-text",
        },
        mark.text,
      ),
    );
  });
  return group;
}

function drawSeries(series: Series, x: ContinuousScale, y: ContinuousScale): SVGGElement {
  const group = s("g");
  const shown = series.points.filter((p) => Number.isFinite(x(p.x)) && Number.isFinite(y(p.y)));
  const path = line<{ x: number; y: number }>()
    .x((p) => x(p.x))
    .y((p) => y(p.y))
    .curve(curveLinear)(shown);
  group.appendChild(
    s("path", {
      d: path ?? "",
      class: series.dashed ? "series dashed" : "series",
      style: `stroke: ${series.color}`,
    }),
  );
  if (series.dashed) return group;
  for (const point of shown)
    group.appendChild(
      s("circle", {
        cx: x(point.x),
        cy: y(point.y),
        r: shown.length > 60 ? 1.5 : 3.5,
        style: `stroke: ${series.color}; fill: ${point.hollow ? "var(--surface)" : series.color}`,
        class: "point",
      }),
    );
  return group;
}

// Over the whole drawing: the nearest x, and what every series has there.
function hover(svg: SVGSVGElement, spec: ChartSpec, x: ContinuousScale, height: number): void {
  const all = [...new Set(spec.series.flatMap((one) => one.points.map((p) => p.x)))];
  const cursor = s("line", { class: "cursor", y1: MARGIN.top, y2: height - MARGIN.bottom, hidden: true });
  svg.appendChild(cursor);
  svg.addEventListener("pointermove", (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left;
    const nearest = all.reduce(
      (best, value) => (Math.abs(x(value) - at) < Math.abs(x(best) - at) ? value : best),
      all[0],
    );
    if (nearest === undefined) return;
    cursor.removeAttribute("hidden");
    cursor.setAttribute("x1", String(x(nearest)));
    cursor.setAttribute("x2", String(x(nearest)));
    const rows: [string, string][] = [];
    for (const series of spec.series) {
      const point = series.points.find((one) => one.x === nearest);
      if (point) rows.push([series.name, spec.y.text(point.y) + (point.more ? ` ${point.more}` : "")]);
    }
    showTip({ title: `${spec.x.text(nearest)} · ${spec.x.label}`, rows }, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", () => {
    cursor.setAttribute("hidden", "");
    hideTip();
  });
}

export function lineChart(spec: ChartSpec): HTMLElement {
  const height = spec.height ?? 300;
  const drawing = responsive((width) => {
    const values = spec.series.flatMap((one) => one.points);
    const x = scaleFor(
      spec.x,
      values.map((p) => p.x),
      [MARGIN.left, width - MARGIN.right],
    );
    const y = scaleFor(
      spec.y,
      values.map((p) => p.y),
      [height - MARGIN.bottom, MARGIN.top],
    );
    const svg = s("svg", { width, height, role: "img", "aria-label": spec.title, class: "chart" });
    svg.append(axes(spec, x, y), marks(spec, x, y));
    for (const series of spec.series) svg.appendChild(drawSeries(series, x, y));
    hover(svg, spec, x, height);
    return svg;
  });
  const entries = spec.series.map((one) => ({
    name: one.name,
    color: one.color,
    shape: one.dashed ? ("dash" as const) : ("line" as const),
  }));
  return h("div", { class: "chart-holder" }, legend(entries), drawing);
}
