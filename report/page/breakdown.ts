// Where a step goes: a bar a run, cut into parts that add up to the step; the two bounds beneath.
import { scaleLinear } from "d3-scale";
import { color, partColor, PARTS } from "./colors";
import { Run } from "./data";
import { s, table } from "./dom";
import { asTable, caption, legend, responsive, section, Section } from "./figure";
import { percent, seconds, upper, words } from "./format";
import { tipOn } from "./tooltip";

const BAR = 34;
const ROW = 84;

interface Part {
  name: string;
  begin: number;
  length: number;
}

function partsOf(run: Run): Part[] {
  const parts: Part[] = [];
  let begin = 0;
  for (const name of PARTS) {
    const length = run.result.breakdown_s?.[name] ?? 0;
    if (length > 0) parts.push({ name, begin, length });
    begin += length;
  }
  return parts;
}

function bar(run: Run, y: number, x: (value: number) => number): SVGGElement {
  const step = run.result.step_s;
  const group = s("g");
  for (const part of partsOf(run)) {
    const width = Math.max(0.5, x(part.begin + part.length) - x(part.begin));
    const rect = s("rect", {
      x: x(part.begin),
      y,
      width,
      height: BAR,
      style: `fill: ${partColor(part.name)}`,
      class: "part",
    });
    tipOn(rect, () => ({
      title: upper(words(part.name)),
      rows: [
        ["time", seconds(part.length)],
        ["share of the step", percent((100 * part.length) / step)],
      ],
    }));
    group.appendChild(rect);
    const texts = [`${words(part.name)} ${seconds(part.length)}`, seconds(part.length)];
    const text = texts.find((one) => width > one.length * 6.6 + 14);
    if (text)
      group.appendChild(
        s("text", { x: x(part.begin) + 8, y: y + BAR / 2 + 4, class: `on-${part.name.replace(/_/g, "-")} on-part` }, text),
      );
  }
  return group;
}

// max(t1, t2) and t1 + t2: the step lies between them when nothing else is in the way.
function bounds(run: Run, y: number, x: (value: number) => number): SVGGElement {
  const group = s("g", { class: "bounds" });
  const { t1_s: t1, t2_s: t2 } = run.result;
  if (!t1 || !t2) return group;
  const line = (from: number, to: number, name: string, at: number, ink: string) => {
    group.append(
      s("line", { x1: x(from), x2: x(to), y1: at, y2: at, style: `stroke: ${ink}`, class: "bound" }),
      s("text", { x: x(to) + 6, y: at + 4, class: "bound-text" }, `${name} ${seconds(to - from)}`),
    );
  };
  line(0, t1, "t1", y + 10, color("part-compute"));
  line(0, t2, "t2", y + 26, color("part-exposed-communication"));
  return group;
}

function draw(runs: Run[], width: number): Element {
  const longest = Math.max(
    ...runs.map((run) => Math.max(run.result.step_s, run.result.t1_s ?? 0, run.result.t2_s ?? 0)),
  );
  const x = scaleLinear().domain([0, longest]).range([0, width - 90]);
  const named = runs.length > 1 ? 22 : 0;
  const height = runs.length * (ROW + named);
  const svg = s("svg", { width, height, role: "img", class: "chart" });
  svg.setAttribute(
    "aria-label",
    runs.map((run) => `${run.label}: a step of ${seconds(run.result.step_s)}`).join("; "),
  );
  runs.forEach((run, index) => {
    const y = index * (ROW + named) + named;
    if (named)
      svg.appendChild(s("text", { x: 0, y: y - 8, class: "label" }, `${run.label} · ${run.result.source}`));
    svg.append(bar(run, y, x), bounds(run, y + BAR, x));
    svg.appendChild(
      s("text", { x: x(run.result.step_s) + 8, y: y + BAR / 2 + 5, class: "total" }, seconds(run.result.step_s)),
    );
  });
  return svg;
}

export function breakdownSection(runs: Run[]): Section | null {
  const shown = runs.filter((run) => run.result.breakdown_s);
  if (!shown.length) return null;
  // Not what is too short to be seen.
  const isSeen = (run: Run, part: string) => (run.result.breakdown_s?.[part] ?? 0) > 1e-5 * run.result.step_s;
  const used = PARTS.filter((part) => shown.some((run) => isSeen(run, part)));
  const columns = [
    { title: "part", text: (part: string) => upper(words(part)) },
    ...shown.map((run) => ({
      title: shown.length > 1 ? run.label : "time",
      number: true,
      text: (part: string) => seconds(run.result.breakdown_s?.[part] ?? 0),
    })),
    ...shown.map((run) => ({
      title: shown.length > 1 ? `share, ${run.label}` : "share of the step",
      number: true,
      text: (part: string) => percent((100 * (run.result.breakdown_s?.[part] ?? 0)) / run.result.step_s),
    })),
  ];
  return section(
    "breakdown",
    "Where a step goes",
    caption(
      "The mean device that trains; the parts add up to the step. t1 is compute alone, t2 communication alone: with nothing else in the way a step lies between the longer of them and their sum.",
    ),
    legend(used.map((part) => ({ name: words(part), color: partColor(part) }))),
    responsive((width) => draw(shown, width)),
    asTable(table("Parts of a step", columns, used)),
  );
}
