// Sections that are tables first: collectives, devices, a comparison's errors, inputs and assumptions.
import { color } from "./colors";
import { Comparison, PageData, Run } from "./data";
import { h, s, table } from "./dom";
import { asTable, caption, responsive, section, Section } from "./figure";
import { bytes, fromTo, gigabytesPerSecond, NONE, percent, seconds, signedPercent, signedSeconds, upper, whole, words } from "./format";
import { lineChart } from "./line_chart";

export function collectivesSection(runs: Run[]): Section | null {
  const run = runs.find((one) => one.result.collectives?.length);
  if (!run) return null;
  const left = run.result.collectives_left_out ?? 0;
  return section(
    "collectives",
    "Collectives",
    caption(
      "Alike ones together, most time first. busbw is nccl-tests' bus bandwidth, of the first of them." +
        (left ? ` The result lists the first ${whole(10000)}; ${whole(left)} more are not counted.` : ""),
    ),
    table(
      "Collectives of the run",
      [
        { title: "collective", text: (row) => words(row.kind) },
        { title: "size", number: true, text: (row) => bytes(row.bytes) },
        { title: "ranks", number: true, text: (row) => whole(row.ranks) },
        { title: "how", text: (row) => [row.algorithm, row.protocol].filter((one) => one).join(" ") || NONE },
        { title: "times", number: true, text: (row) => whole(row.count) },
        { title: "each", number: true, text: (row) => seconds(row.mean_time_s) },
        { title: "busbw", number: true, text: (row) => gigabytesPerSecond(row.busbw_GBps) },
        { title: "limited by", text: (row) => row.bottleneck ?? NONE },
      ],
      run.result.collectives,
    ),
  );
}

export function devicesSection(runs: Run[]): Section | null {
  const run = runs[0];
  if (!run?.result.devices_detail?.length) return null;
  const whole_s = run.result.makespan_s;
  return section(
    "devices",
    "Devices",
    caption("Over the whole run. Exposed is communication without compute at the same time."),
    table(
      "Where the time of each device went",
      [
        { title: "device", text: (row) => fromTo(row.device, row.last_device, row.count) },
        { title: "compute", number: true, text: (row) => seconds(row.compute_s) },
        { title: "communication", number: true, text: (row) => seconds(row.communication_s) },
        { title: "exposed", number: true, text: (row) => seconds(row.exposed_s) },
        { title: "idle", number: true, text: (row) => seconds(row.idle_s) },
        { title: "computing", number: true, text: (row) => percent((100 * row.compute_s) / whole_s) },
      ],
      run.result.devices_detail,
    ),
  );
}

export function trainingSection(runs: Run[]): Section | null {
  const shown = runs.filter((run) => (run.result.loss?.length ?? 0) > 1);
  if (!shown.length) return null;
  const colors = ["part-compute", "part-exposed-communication", "part-recompute", "part-update"];
  return section(
    "training",
    "Training",
    caption("The loss of every step of the executed run."),
    lineChart({
      title: "Loss over steps",
      x: { label: "step", text: whole },
      y: { label: "loss", text: (value) => value.toPrecision(3) },
      series: shown.map((run, index) => ({
        name: run.label,
        color: color(colors[index % colors.length]),
        points: (run.result.loss ?? []).map((loss, step) => ({ x: step, y: loss })),
      })),
      marks: [],
      height: 220,
    }),
    ...shown.map((run) =>
      run.result.weights_sha256 ? h("p", { class: "caption" }, `Weights of ${run.label}: sha256 ${run.result.weights_sha256}`) : null,
    ),
  );
}

const WORST = 15;

// A bar to the left where the second run was quicker, to the right where it took longer.
function errorBars(comparison: Comparison, width: number): Element {
  const rows = comparison.ops.filter((op) => typeof op.difference_s === "number").slice(0, WORST);
  const most = Math.max(1e-12, ...rows.map((op) => Math.abs(op.difference_s ?? 0)));
  const label = Math.min(340, width * 0.42);
  const half = (width - label - 150) / 2;
  const zero = label + half;
  const svg = s("svg", { width, height: rows.length * 24 + 8, class: "chart", role: "img" });
  svg.setAttribute("aria-label", "The ops that explain most of the difference");
  svg.appendChild(s("line", { x1: zero, x2: zero, y1: 0, y2: rows.length * 24 + 4, class: "base" }));
  rows.forEach((op, index) => {
    const difference = op.difference_s ?? 0;
    const length = (half * Math.abs(difference)) / most;
    const y = index * 24 + 4;
    const room = Math.floor(label / 6.4);
    const name = op.op.length > room ? "…" + op.op.slice(op.op.length - room + 1) : op.op;
    svg.append(
      s("text", { x: label - 8, y: y + 13, "text-anchor": "end" }, name),
      s("rect", {
        x: difference < 0 ? zero - length : zero,
        y,
        width: Math.max(1, length),
        height: 18,
        style: `fill: ${color(difference < 0 ? "quicker" : "slower")}`,
      }),
      s(
        "text",
        { x: zero + half + 8, y: y + 13 },
        `${signedSeconds(difference)}${typeof op.share_of_error_pct === "number" ? ` · ${percent(op.share_of_error_pct)}` : ""}`,
      ),
    );
  });
  return svg;
}

function metricText(name: string, value: number | null | undefined): string {
  if (/_s$|time|step/.test(name)) return seconds(value);
  if (/pct/.test(name)) return percent(value);
  if (/bytes/.test(name)) return bytes(value);
  return value === null || value === undefined ? NONE : value.toPrecision(4);
}

function onlyIn(title: string, ops: string[]): HTMLElement | null {
  if (!ops.length) return null;
  const shown = ops.slice(0, 50);
  const rest = ops.length - shown.length;
  return asTable(
    h("p", { class: "ops" }, shown.join(", ") + (rest ? ` and ${whole(rest)} more` : "")),
    `${title} (${whole(ops.length)})`,
  );
}

export function comparisonSection(data: PageData): Section | null {
  const comparison = data.comparison;
  if (!comparison) return null;
  const [a, b] = data.runs.map((run) => run.label);
  return section(
    "comparison",
    "Where the two differ",
    comparison.summary ? h("p", { class: "sentence" }, comparison.summary) : null,
    table(
      "The two runs",
      [
        { title: "", text: (row) => upper(words(row.name.replace(/_(s|pct)$/, ""))) },
        { title: a ?? "first", number: true, text: (row) => metricText(row.name, row.a) },
        { title: b ?? "second", number: true, text: (row) => metricText(row.name, row.b) },
        { title: "difference", number: true, text: (row) => signedPercent(row.difference_pct) },
      ],
      comparison.metrics,
    ),
    comparison.ops.length ? h("h3", {}, "The ops that explain most of it") : null,
    comparison.ops.length ? responsive((width) => errorBars(comparison, width)) : null,
    comparison.ops.length
      ? asTable(
          table(
            "Ops by their share of the difference",
            [
              { title: "op", text: (row) => row.op },
              { title: a ?? "first", number: true, text: (row) => seconds(row.a_s) },
              { title: b ?? "second", number: true, text: (row) => seconds(row.b_s) },
              { title: "difference", number: true, text: (row) => signedSeconds(row.difference_s) },
              { title: "share", number: true, text: (row) => percent(row.share_of_error_pct) },
            ],
            comparison.ops.slice(0, 100),
          ),
        )
      : null,
    onlyIn(`Only in ${a ?? "the first"}`, comparison.only_in_a ?? []),
    onlyIn(`Only in ${b ?? "the second"}`, comparison.only_in_b ?? []),
  );
}

export function inputsSection(data: PageData): Section {
  const made = section(
    "inputs",
    "Inputs and assumptions",
    caption("A simulation is as good as what it is told. These are the inputs, complete; `twinrun topo show` prints the machine's numbers with their sources."),
  );
  for (const run of data.runs) {
    const engine = run.result.engine;
    const facts: [string, string][] = [["run", run.label], ["source", run.result.source]];
    if (run.result.backend) facts.push(["backend", run.result.backend]);
    if (engine?.["fidelity"])
      facts.push(["collectives", `${engine["fidelity"]}${engine["why"] ? `: ${engine["why"]}` : ""}`]);
    for (const warning of run.result.warnings ?? []) facts.push([warning.code, warning.message]);
    const list = h("dl", { class: "facts" });
    for (const [name, value] of facts) list.append(h("dt", {}, name), h("dd", {}, value));
    made.element.appendChild(list);
    if (run.job) made.element.appendChild(asTable(h("pre", { tabindex: 0 }, run.job), "The job"));
    if (run.result.layout)
      made.element.appendChild(
        asTable(
          table(
            "How the job was laid out",
            [
              { title: "", text: ([key]) => upper(words(key)) },
              { title: "value", text: ([, value]) => String(value) },
            ],
            Object.entries(run.result.layout),
          ),
          "The layout",
        ),
      );
  }
  for (const text of data.notes) made.element.appendChild(h("p", { class: "note" }, text));
  made.element.appendChild(
    h(
      "p",
      { class: "made-by" },
      `Made by ${data.made_by || "twinrun"}. The figures of this page are in its data block (the element "data"), as JSON.`,
    ),
  );
  return made;
}
