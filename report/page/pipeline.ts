// The schedule of a pipeline as a grid: a row a device, a block a micro-batch, forward, backward or recompute.
import { scaleLinear } from "d3-scale";
import { color } from "./colors";
import { PipelineData, Run } from "./data";
import { s, table } from "./dom";
import { asTable, caption, legend, note, responsive, section, Section } from "./figure";
import { nanoseconds, percent, timeTick } from "./format";
import { tickStep } from "./timeline_draw";
import { hideTip, showTip } from "./tooltip";

const PHASES = ["forward", "backward", "recompute"];
const ROW = 26;

type Block = [number, number, number, number];

function busyOf(blocks: Block[]): number {
  return blocks.reduce((sum, [, , , length]) => sum + length, 0);
}

function draw(pipeline: PipelineData, width: number): Element {
  const left = Math.min(140, 14 + 7 * Math.max(...pipeline.rows.map((row) => row.device.length)));
  const height = pipeline.rows.length * ROW + 30;
  const x = scaleLinear().domain([0, pipeline.duration_ns]).range([left, width - 8]);
  const svg = s("svg", { width, height, class: "chart pipeline", role: "img" });
  svg.setAttribute("aria-label", `Schedule of step ${pipeline.step} on ${pipeline.rows.length} devices`);
  pipeline.rows.forEach((row, index) => {
    const y = index * ROW;
    svg.append(
      s("rect", { x: left, y: y + 2, width: width - 8 - left, height: ROW - 4, class: "empty" }),
      s("text", { x: left - 8, y: y + ROW / 2 + 4, "text-anchor": "end" }, row.device),
    );
    for (const block of row.blocks) {
      const [phase, microBatch, start, length] = block;
      const w = x(start + length) - x(start);
      svg.appendChild(
        s("rect", {
          x: x(start),
          y: y + 2,
          width: Math.max(0.6, w - (w > 3 ? 1 : 0)),
          height: ROW - 4,
          style: `fill: ${color(`op-${PHASES[phase]}`)}`,
        }),
      );
      if (w > 7 + 6 * String(microBatch).length)
        svg.appendChild(
          s("text", { x: x(start) + w / 2, y: y + ROW / 2 + 4, "text-anchor": "middle", class: "on-bar" }, String(microBatch)),
        );
    }
  });
  const step = tickStep(pipeline.duration_ns, width - left);
  const text = timeTick(step);
  for (let at = 0; at <= pipeline.duration_ns; at += step)
    svg.appendChild(s("text", { x: x(at), y: height - 8, "text-anchor": "middle" }, text(at)));
  hover(svg, pipeline, (px) => x.invert(px));
  return svg;
}

function hover(svg: SVGSVGElement, pipeline: PipelineData, timeAt: (x: number) => number): void {
  svg.addEventListener("pointermove", (event) => {
    const place = svg.getBoundingClientRect();
    const row = pipeline.rows[Math.floor((event.clientY - place.top) / ROW)];
    const at = timeAt(event.clientX - place.left);
    const block = row?.blocks.find(([, , start, length]) => at >= start && at <= start + length);
    if (!row || at < 0) {
      hideTip();
      return;
    }
    if (!block) {
      showTip({ title: row.device, rows: [["bubble", `at ${nanoseconds(at)}`]] }, event.clientX, event.clientY);
      return;
    }
    const [phase, microBatch, start, length] = block;
    showTip(
      {
        title: `${PHASES[phase]}, micro-batch ${microBatch}`,
        rows: [
          ["on", row.device],
          ["starts", nanoseconds(start)],
          ["takes", nanoseconds(length)],
        ],
      },
      event.clientX,
      event.clientY,
    );
  });
  svg.addEventListener("pointerleave", hideTip);
}

export function pipelineSection(runs: Run[]): Section | null {
  const shown = runs.filter((run) => run.pipeline);
  if (!shown.length) return null;
  const first = shown[0].pipeline as PipelineData;
  const phases = PHASES.filter((_, phase) => first.rows.some((row) => row.blocks.some((block) => block[0] === phase)));
  const made = section(
    "pipeline",
    "Pipeline schedule",
    caption("The last step. A block is one micro-batch on one device, its number inside; what is empty is bubble or waiting."),
    note(first.left_out),
    legend([
      ...phases.map((phase) => ({ name: phase, color: color(`op-${phase}`) })),
      { name: "bubble", color: color("empty") },
    ]),
  );
  for (const run of shown) {
    const pipeline = run.pipeline as PipelineData;
    if (shown.length > 1) made.element.appendChild(caption(`${run.label} · ${run.result.source}`));
    made.element.append(
      responsive((width) => draw(pipeline, width)),
      asTable(
        table(
          `Step ${pipeline.step}${shown.length > 1 ? `, ${run.label}` : ""}`,
          [
            { title: "device", text: (row) => row.device },
            { title: "blocks", number: true, text: (row) => String(row.blocks.length) },
            { title: "busy", number: true, text: (row) => nanoseconds(busyOf(row.blocks)) },
            {
              title: "of the step",
              number: true,
              text: (row) => percent((100 * busyOf(row.blocks)) / pipeline.duration_ns),
            },
          ],
          pipeline.rows,
        ),
      ),
    );
  }
  return made;
}
