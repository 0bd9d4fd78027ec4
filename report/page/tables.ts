// Sections that are tables first: collectives, devices, training, inputs and assumptions.
import { color } from "./colors";
import { PageData, Run } from "./data";
import { h, table } from "./dom";
import { asTable, caption, section, Section } from "./figure";
import { bytes, fromTo, gigabytesPerSecond, NONE, percent, seconds, upper, whole, words } from "./format";
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
