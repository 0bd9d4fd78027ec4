// What would change with another batch, other numbers of devices, another bandwidth.
import { color } from "./colors";
import { Answer, Curve, Curves, PairPoint } from "./data";
import { h, table } from "./dom";
import { asTable, caption, section, Section } from "./figure";
import { count, gigabytesPerSecond, percent, seconds, whole } from "./format";
import { lineChart, Mark } from "./line_chart";

function assumed(curve: { assumed: string[] }): HTMLElement | null {
  return curve.assumed.length ? h("p", { class: "assumed" }, `Assumed: ${curve.assumed.join("; ")}.`) : null;
}

function powers(from: number, to: number): number[] {
  const out: number[] = [];
  for (let at = 2 ** Math.floor(Math.log2(from)); at <= to; at *= 2) out.push(at);
  return out;
}

function here(curve: { here: number | null }): Mark[] {
  return curve.here === null ? [] : [{ x: curve.here, text: "this job" }];
}

export function batchSection(curves: Curves | null): Section | null {
  const curve = curves?.batch;
  if (!curve || curve.points.length < 2) return null;
  const xs = curve.points.map((point) => point.batch);
  const marks = here(curve);
  if (curve.crossing !== null)
    marks.push({ x: curve.crossing, text: `t1 = t2 at ${whole(curve.crossing)}`, strong: true });
  return section(
    "batch",
    "How large a batch hides communication",
    h("p", { class: "sentence" }, curve.sentence),
    lineChart({
      title: "t1, t2 and the step over the batch of a replica",
      x: { label: "samples a replica", log: true, text: whole, ticks: powers(xs[0], xs[xs.length - 1]) },
      y: { label: "time", log: true, text: seconds },
      series: [
        {
          name: "t1, compute alone",
          color: color("part-compute"),
          points: curve.points.map((p) => ({ x: p.batch, y: p.t1_s, hollow: !p.fits, ...(p.fits ? {} : { more: "does not fit" }) })),
        },
        {
          name: "t2, communication alone",
          color: color("part-exposed-communication"),
          points: curve.points.flatMap((p) => (p.t2_s ? [{ x: p.batch, y: p.t2_s, hollow: !p.fits }] : [])),
        },
        { name: "step", color: color("text"), dashed: true, points: curve.points.map((p) => ({ x: p.batch, y: p.step_s })) },
      ],
      marks,
    }),
    assumed(curve),
    asTable(
      table(
        "Time over the batch",
        [
          { title: "samples a replica", number: true, text: (p) => whole(p.batch) },
          { title: "t1", number: true, text: (p) => seconds(p.t1_s) },
          { title: "t2", number: true, text: (p) => seconds(p.t2_s) },
          { title: "step", number: true, text: (p) => seconds(p.step_s) },
          { title: "fits", text: (p) => (p.fits ? "yes" : "no") },
        ],
        curve.points,
      ),
    ),
  );
}

function pairChart(
  curve: Curve<PairPoint>,
  title: string,
  label: string,
  text: (value: number) => string,
  ticks?: number[],
): HTMLElement {
  const marks = here(curve);
  if (curve.crossing !== null) marks.push({ x: curve.crossing, text: `they meet at ${text(curve.crossing)}`, strong: true });
  const series = (key: "server_samples_per_s" | "ring_samples_per_s") =>
    curve.points.flatMap((p) => {
      const y = p[key];
      return y === null ? [] : [{ x: p.at, y }];
    });
  return h(
    "div",
    { class: "figure" },
    h("h3", {}, title),
    h("p", { class: "sentence" }, curve.sentence),
    lineChart({
      title,
      x: { label, log: true, text, ...(ticks ? { ticks } : {}) },
      y: { label: "samples/s", log: true, text: count },
      series: [
        { name: "parameter server", color: color("series-server"), points: series("server_samples_per_s") },
        { name: "ring (DDP)", color: color("series-ring"), points: series("ring_samples_per_s") },
      ],
      marks,
      height: 270,
    }),
    assumed(curve),
    asTable(
      table(
        title,
        [
          { title: label, number: true, text: (p) => text(p.at) },
          { title: "server, samples/s", number: true, text: (p) => count(p.server_samples_per_s) },
          { title: "ring, samples/s", number: true, text: (p) => count(p.ring_samples_per_s) },
        ],
        curve.points,
      ),
    ),
  );
}

export function serverOrRingSection(curves: Curves | null): Section | null {
  const devices = curves?.devices;
  const bandwidth = curves?.bandwidth;
  if (!devices?.points.length && !bandwidth?.points.length) return null;
  const made = section("server-or-ring", "Parameter server or ring");
  const pair = h("div", { class: "pair" });
  if (devices && devices.points.length > 1) {
    const xs = devices.points.map((p) => p.at);
    pair.appendChild(pairChart(devices, "Over the number of devices", "devices", whole, powers(xs[0], xs[xs.length - 1])));
  }
  if (bandwidth && bandwidth.points.length > 1)
    pair.appendChild(pairChart(bandwidth, "Over the bandwidth", "bandwidth", gigabytesPerSecond));
  made.element.appendChild(pair);
  return pair.children.length ? made : null;
}

export function scalingSection(curves: Curves | null): Section | null {
  const curve = curves?.scaling;
  if (!curve || curve.points.length < 2) return null;
  const xs = curve.points.map((p) => p.devices);
  return section(
    "scaling",
    "How far it scales",
    h("p", { class: "sentence" }, curve.sentence),
    lineChart({
      title: "Samples per second over devices, against ideal scaling",
      x: { label: "devices", log: true, text: whole, ticks: powers(xs[0], xs[xs.length - 1]) },
      y: { label: "samples/s", log: true, text: count },
      series: [
        {
          name: "this job",
          color: color("part-compute"),
          points: curve.points.map((p) => ({
            x: p.devices,
            y: p.samples_per_s,
            hollow: !p.fits,
            more: `(${percent((100 * p.samples_per_s) / p.ideal_samples_per_s)} of ideal)`,
          })),
        },
        {
          name: "ideal",
          color: color("muted"),
          dashed: true,
          points: curve.points.map((p) => ({ x: p.devices, y: p.ideal_samples_per_s })),
        },
      ],
      marks: here(curve),
    }),
    assumed(curve),
    asTable(
      table(
        "Scaling",
        [
          { title: "devices", number: true, text: (p) => whole(p.devices) },
          { title: "samples/s", number: true, text: (p) => count(p.samples_per_s) },
          { title: "ideal", number: true, text: (p) => count(p.ideal_samples_per_s) },
          { title: "efficiency", number: true, text: (p) => percent((100 * p.samples_per_s) / p.ideal_samples_per_s) },
          { title: "fits", text: (p) => (p.fits ? "yes" : "no") },
        ],
        curve.points,
      ),
    ),
  );
}

const QUESTIONS: Record<string, string> = {
  batch_where_t1_equals_t2: "How large a batch hides communication?",
  server_or_ring: "Parameter server or ring?",
  bandwidth_where_server_and_ring_meet: "At which bandwidth do server and ring meet?",
  devices_where_scaling_stops: "How many devices until it stops paying?",
  bottleneck_link: "Which link is the bottleneck?",
  fastest_strategy: "Which strategy is fastest?",
  fits_memory: "Does it fit?",
};

export function answersSection(answers: Answer[]): Section | null {
  if (!answers.length) return null;
  const list = h("div", { class: "answers" });
  for (const answer of answers) {
    const lines = answer.answer.split("\n");
    const more = lines.slice(1).map((line) => line.trim()).filter((line) => line);
    list.appendChild(
      h(
        "article",
        {},
        h("h3", {}, QUESTIONS[answer.question] ?? answer.question.replace(/_/g, " ")),
        h("p", {}, lines[0]),
        more.length ? h("pre", {}, more.join("\n")) : null,
        answer.assumed.length ? h("p", { class: "assumed" }, `Assumed: ${answer.assumed.join("; ")}.`) : null,
      ),
    );
  }
  return section("answers", "Questions people ask", caption("Each answered by simulating variants of this job."), list);
}
