// Two runs: by how much they differ, and which phases, ops and waits that comes from.
import { color } from "./colors";
import { Comparison, Metric, PageData } from "./data";
import { h, s, table } from "./dom";
import { asTable, caption, legend, responsive, section, Section } from "./figure";
import { bytes, count, NONE, percent, seconds, signedPercent, signedSeconds, upper, whole, words } from "./format";
import { tipOn } from "./tooltip";

const WORST = 15;
const BAR = 24;

interface Difference {
  name: string;
  seconds: number;
  more: string;
  rows: [string, string][]; // of its tip
}

// A bar to the left where the second run was quicker, to the right where it took longer.
function bars(title: string, differences: Difference[], width: number): Element {
  const most = Math.max(1e-12, ...differences.map((one) => Math.abs(one.seconds)));
  const label = Math.min(330, width * 0.4);
  const half = (width - label - 150) / 2;
  const zero = label + half;
  const height = differences.length * BAR + 8;
  const svg = s("svg", { width, height, class: "chart", role: "img", "aria-label": title });
  svg.appendChild(s("line", { x1: zero, x2: zero, y1: 0, y2: height - 4, class: "base" }));
  differences.forEach((one, index) => {
    const length = (half * Math.abs(one.seconds)) / most;
    const y = index * BAR + 4;
    const room = Math.floor(label / 6.6);
    const name = one.name.length > room ? "…" + one.name.slice(one.name.length - room + 1) : one.name;
    const bar = s("rect", {
      x: one.seconds < 0 ? zero - length : zero,
      y,
      width: Math.max(1, length),
      height: BAR - 6,
      style: `fill: ${color(one.seconds < 0 ? "quicker" : "slower")}`,
    });
    tipOn(bar, () => ({ title: one.name, rows: one.rows }));
    svg.append(
      s("text", { x: label - 8, y: y + 13, "text-anchor": "end" }, name),
      bar,
      s("text", { x: zero + half + 8, y: y + 13 }, signedSeconds(one.seconds) + (one.more ? ` · ${one.more}` : "")),
    );
  });
  return svg;
}

function metricText(metric: Metric, value: number | null | undefined, deviation: number): string {
  const text: Record<Metric["unit"], (value: number | null | undefined) => string> = {
    seconds,
    "per second": count,
    percent: (one) => percent(one),
    bytes,
  };
  const shown = text[metric.unit](value);
  return deviation > 0 && shown !== NONE ? `${shown} ± ${text[metric.unit](deviation)}` : shown;
}

function metricsTable(comparison: Comparison, a: string, b: string): HTMLElement {
  return table(
    "The two runs",
    [
      { title: "", text: (metric) => upper(words(metric.name.replace(/_(s|pct)$/, "").replace(/_per$/, " per second"))) },
      { title: a, number: true, text: (metric) => metricText(metric, metric.a, metric.a_deviation) },
      { title: b, number: true, text: (metric) => metricText(metric, metric.b, metric.b_deviation) },
      {
        title: "difference",
        number: true,
        text: (metric) =>
          metric.unit === "percent" && metric.difference_pct !== null && metric.difference_pct !== undefined
            ? signedPercent(metric.difference_pct).replace("%", "points")
            : signedPercent(metric.difference_pct),
      },
    ],
    comparison.metrics,
  );
}

function phaseDifferences(comparison: Comparison, a: string, b: string): Difference[] {
  return comparison.phases
    .map((phase) => ({
      name: phase.name,
      seconds: phase.b_on_path_s - phase.a_on_path_s,
      more: "",
      rows: [
        [`on the path, ${a}`, seconds(phase.a_on_path_s)],
        [`on the path, ${b}`, seconds(phase.b_on_path_s)],
      ] as [string, string][],
    }))
    .filter((one) => one.seconds !== 0)
    .sort((x, y) => Math.abs(y.seconds) - Math.abs(x.seconds));
}

function shareText(share: number | null | undefined): string {
  return typeof share === "number" ? percent(share) : "";
}

// Ops and waits together: both are links of the chain that decides the step.
function chainDifferences(comparison: Comparison, a: string, b: string): Difference[] {
  const ops = comparison.ops.map((op) => ({
    name: op.op,
    seconds: op.on_path_s,
    more: shareText(op.share_of_error_pct),
    rows: [
      [a, seconds(op.a_s)],
      [b, seconds(op.b_s)],
    ] as [string, string][],
  }));
  const waits = comparison.waits.map((wait) => ({
    name: wait.before ? `wait before ${wait.before}` : "wait at the end of the step",
    seconds: wait.on_path_s,
    more: shareText(wait.share_of_error_pct),
    rows: [
      [a, seconds(wait.a_s)],
      [b, seconds(wait.b_s)],
    ] as [string, string][],
  }));
  return [...ops, ...waits]
    .filter((one) => one.seconds !== 0)
    .sort((x, y) => Math.abs(y.seconds) - Math.abs(x.seconds))
    .slice(0, WORST);
}

function opsTable(comparison: Comparison, a: string, b: string): HTMLElement {
  return table(
    `Ops, the largest share of the difference first (${whole(comparison.ops.length)} of ${whole(comparison.ops_in_all)})`,
    [
      { title: "op", text: (op) => op.op },
      { title: "phase", text: (op) => op.phase },
      { title: a, number: true, text: (op) => seconds(op.a_s) },
      { title: b, number: true, text: (op) => seconds(op.b_s) },
      { title: "difference", number: true, text: (op) => signedSeconds(op.difference_s) },
      { title: "adds to the step", number: true, text: (op) => signedSeconds(op.on_path_s) },
      { title: "share", number: true, text: (op) => percent(op.share_of_error_pct) },
    ],
    comparison.ops,
  );
}

function collectivesTable(comparison: Comparison, a: string, b: string): HTMLElement | null {
  if (!comparison.collectives.length) return null;
  const error = (x: { time_s: number } | null, y: { time_s: number } | null) =>
    x && y && x.time_s > 0 ? signedPercent(100 * (y.time_s / x.time_s - 1)) : NONE;
  return asTable(
    table(
      `Collectives (${whole(comparison.collectives.length)} of ${whole(comparison.collectives_in_all)})`,
      [
        { title: "collective", text: (row) => row.name },
        { title: "size", number: true, text: (row) => bytes(row.bytes) },
        { title: "ranks", number: true, text: (row) => whole(row.ranks) },
        { title: `starts, ${a}`, number: true, text: (row) => seconds(row.a?.start_s) },
        { title: `starts, ${b}`, number: true, text: (row) => seconds(row.b?.start_s) },
        { title: `takes, ${a}`, number: true, text: (row) => seconds(row.a?.time_s) },
        { title: `takes, ${b}`, number: true, text: (row) => seconds(row.b?.time_s) },
        { title: "difference", number: true, text: (row) => error(row.a, row.b) },
      ],
      comparison.collectives,
    ),
    "Collectives beside each other",
  );
}

function onlyIn(title: string, only: { names: string[]; count: number }): HTMLElement | null {
  if (!only.count) return null;
  const rest = only.count - only.names.length;
  return asTable(
    h("p", { class: "ops" }, only.names.join(", ") + (rest ? ` and ${whole(rest)} more` : "")),
    `${title} (${whole(only.count)})`,
  );
}

export function comparisonSection(data: PageData): Section | null {
  const comparison = data.comparison;
  if (!comparison || data.runs.length < 2) return null;
  const [a, b] = data.runs.map((run) => run.label);
  const phases = phaseDifferences(comparison, a, b);
  const chain = chainDifferences(comparison, a, b);
  const made = section(
    "comparison",
    "Where the two differ",
    h("p", { class: "sentence" }, comparison.summary),
    metricsTable(comparison, a, b),
  );
  if (chain.length)
    made.element.append(
      h("h3", {}, "By phase, on the critical path"),
      legend([
        { name: `${b} takes longer`, color: color("slower") },
        { name: `${b} is quicker`, color: color("quicker") },
      ]),
      responsive((width) => bars("Difference by phase", phases, width)),
      h("h3", {}, "The ops and waits that explain most of it"),
      caption("What each adds to the step along the critical path of the slower run; the shares of all of them add up to 100 %."),
      responsive((width) => bars("Difference by op", chain, width)),
    );
  const more = [
    asTable(opsTable(comparison, a, b), "All ops as a table"),
    collectivesTable(comparison, a, b),
    onlyIn(`Only in ${a}`, comparison.only_in_a),
    onlyIn(`Only in ${b}`, comparison.only_in_b),
    caption(comparison.parting),
  ];
  for (const one of more) if (one) made.element.appendChild(one);
  return made;
}
