// The timeline of all ranks and streams: what is drawn where, and what pointer and keys do.
import { Run } from "./data";
import { button, checkbox, choice, clear, h, table } from "./dom";
import { asTable, caption, legend, note, onRedraw, printWidth, section, Section } from "./figure";
import { color } from "./colors";
import { bytes, flops, nanoseconds, signedPercent } from "./format";
import { drawMinimap, drawTimeline, PathStyle, readTheme, Scene, Theme } from "./timeline_draw";
import { counterpart, Found, longest, opAt, opId, Timeline, unpack } from "./timeline_model";
import { AXIS_HEIGHT, heightOf, layOut, Line, View } from "./timeline_view";
import { hideTip, showTip, Tip } from "./tooltip";

const MINIMAP_HEIGHT = 44;
const MOST_HEIGHT = 620;
const FOLDED_FROM = 12; // devices: so many fill the screen

const HELP =
  "Drag to move, Ctrl + wheel or pinch to zoom (the wheel alone once the timeline has focus), Shift + drag to zoom to a stretch. " +
  "Keys: ← → move, + − zoom, 0 everything, ↑ ↓ rows, [ and ] the op before and after, Enter zooms to it.";

class TimelineWidget {
  readonly element = h("div", { class: "timeline" });
  private readonly canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "timeline",
    "aria-label": "Timeline of all devices and streams. " + HELP,
  });
  private readonly minimap = h("canvas", { class: "minimap", "aria-hidden": "true" });
  private readonly scroller = h("div", { class: "timeline-scroller" });
  private readonly spacer = h("div", { class: "timeline-spacer" });
  private readonly live = h("p", { class: "timeline-said", role: "status", "aria-live": "polite" });
  private readonly view = new View();
  private lines: Line[] = [];
  private offsets: number[];
  private step = "all";
  private folded: boolean;
  private path: PathStyle = "shown";
  private query = "";
  private matching: Set<number>[] = [];
  private selected: Found | null = null;
  private hovered: Found | null = null;
  private theme: Theme;
  private pending = false;

  constructor(
    private readonly timelines: Timeline[],
    private readonly sides: string[],
  ) {
    this.offsets = timelines.map(() => 0);
    this.folded = timelines[0].data.devices.length >= FOLDED_FROM;
    this.theme = readTheme(timelines[0].data.categories);
    if (timelines.length > 1) this.step = "last";
    this.scroller.append(this.canvas, this.spacer);
    this.element.append(this.toolbar(), this.minimap, this.scroller, this.live);
    this.layOut();
    this.chooseStep(this.step);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    onRedraw(() => {
      this.theme = readTheme(this.timelines[0].data.categories);
      this.fitHeight();
      this.paint();
    });
  }

  private toolbar(): HTMLElement {
    const search = h("input", { type: "search", placeholder: "Find ops by name", "aria-label": "Find ops by name" });
    const found = h("span", { class: "found", role: "status" });
    search.addEventListener("input", () => {
      const count = this.search(search.value);
      found.textContent = search.value ? `${count} names` : "";
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.toNextMatch();
    });
    const bar = h("div", { class: "toolbar" });
    const steps = this.stepChoices();
    if (steps.length > 1) bar.appendChild(choice("Step", steps, this.step, (value) => this.chooseStep(value)));
    bar.append(
      h("span", { class: "search" }, search, found),
      h(
        "span",
        { class: "buttons" },
        button("−", "Zoom out", () => this.zoom(1.6)),
        button("+", "Zoom in", () => this.zoom(1 / 1.6)),
        button("Fit", "Show everything", () => this.reset()),
      ),
      choice(
        "Critical path",
        [
          { value: "shown", text: "underlined" },
          { value: "alone", text: "the rest paler" },
          { value: "hidden", text: "not shown" },
        ],
        this.path,
        (value) => {
          this.path = value as PathStyle;
          this.draw();
        },
      ),
    );
    if (this.timelines[0].data.devices.length > 1)
      bar.appendChild(
        checkbox("Fold devices that are alike", this.folded, (checked) => {
          this.folded = checked;
          this.layOut();
          this.draw();
        }),
      );
    return bar;
  }

  private stepChoices(): { value: string; text: string }[] {
    const numbers = this.timelines.map((timeline) => new Set(timeline.data.steps.map(([step]) => step)));
    const common = [...numbers[0]].filter((step) => numbers.every((one) => one.has(step)));
    const choices = [{ value: "all", text: "all" }];
    if (this.timelines.length > 1) choices.push({ value: "last", text: "last of each, aligned" });
    for (const step of common.slice(-40)) choices.push({ value: String(step), text: `step ${step}` });
    return choices.length === 2 && this.timelines.length === 1 ? [] : choices;
  }

  // One step: each run is moved so that the step begins at 0.
  private chooseStep(value: string): void {
    this.step = value;
    const spans = this.timelines.map((timeline): [number, number] => {
      const steps = timeline.data.steps;
      const chosen = value === "last" ? steps[steps.length - 1] : steps.find(([step]) => String(step) === value);
      return chosen ? [chosen[1], chosen[2]] : [steps[0]?.[1] ?? 0, timeline.data.makespan_ns];
    });
    this.offsets = value === "all" ? spans.map(() => 0) : spans.map(([begin]) => begin);
    const begin = Math.min(...spans.map(([from], side) => from - this.offsets[side]));
    const end = Math.max(...spans.map(([, to], side) => to - this.offsets[side]));
    this.view.setWhole(begin, end);
    this.draw();
  }

  private layOut(): void {
    this.lines = layOut(this.timelines, this.folded);
    const names = this.lines.map((line) => (line.row && this.sides.length > 1 ? `${this.sides[line.side]} ${line.text}` : line.text));
    this.element.dataset["lines"] = names.slice(0, 200).join("\n");
    this.fitHeight();
  }

  private fitHeight(): void {
    const whole = heightOf(this.lines) + AXIS_HEIGHT + 2;
    const seen = printWidth() ? Math.min(whole, 900) : Math.min(whole, MOST_HEIGHT);
    this.scroller.style.height = `${seen}px`;
    this.canvas.style.height = `${seen}px`;
    this.spacer.style.height = `${whole - seen}px`;
  }

  private get width(): number {
    return printWidth() || this.scroller.clientWidth;
  }
  private get ratio(): number {
    return printWidth() ? 3 : window.devicePixelRatio || 1;
  }
  private get gutter(): number {
    return this.width < 560 ? 92 : 158;
  }

  private scene(): Scene {
    return {
      timelines: this.timelines,
      offsets: this.offsets,
      lines: this.lines,
      view: this.view,
      gutter: this.gutter,
      width: this.width,
      height: this.scroller.clientHeight,
      scrollTop: this.scroller.scrollTop,
      path: this.path,
      unit: 1 / this.ratio,
      matches: (timeline, label) => this.matching[this.timelines.indexOf(timeline)]?.has(label) ?? false,
      searching: this.query !== "",
      selected: this.hovered ?? this.selected,
      sides: this.sides,
    };
  }

  draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  private paint(): void {
    const scene = this.scene();
    if (scene.width < 50 || !this.element.isConnected) return;
    this.paintOn(this.canvas, scene.width, scene.height, (context) => drawTimeline(context, scene, this.theme));
    this.paintOn(this.minimap, scene.width, MINIMAP_HEIGHT, (context) =>
      drawMinimap(context, scene, this.theme, MINIMAP_HEIGHT),
    );
    this.element.dataset["begin"] = String(this.view.begin);
    this.element.dataset["end"] = String(this.view.end);
  }

  private paintOn(
    canvas: HTMLCanvasElement,
    width: number,
    height: number,
    paint: (context: CanvasRenderingContext2D) => void,
  ): void {
    const { ratio } = this;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    paint(context);
  }

  private timeAt(x: number): number {
    const { gutter, width } = this;
    return this.view.begin + ((x - gutter) / (width - gutter)) * this.view.length;
  }

  private lineAt(y: number): Line | null {
    const at = y - AXIS_HEIGHT + this.scroller.scrollTop;
    return y < AXIS_HEIGHT ? null : (this.lines.find((line) => at >= line.y && at < line.y + line.height) ?? null);
  }

  private opUnder(x: number, y: number): { found: Found; side: number } | null {
    const line = this.lineAt(y);
    if (!line?.row || x < this.gutter) return null;
    const nsPerPixel = this.view.length / (this.width - this.gutter);
    const found = opAt(line.row, this.timeAt(x) + this.offsets[line.side], 2 * nsPerPixel);
    return found && { found, side: line.side };
  }

  private zoom(factor: number, around = (this.view.begin + this.view.end) / 2): void {
    this.view.zoom(factor, around);
    this.draw();
  }
  private reset(): void {
    this.view.reset();
    this.draw();
  }

  private search(text: string): number {
    this.query = text.trim().toLowerCase();
    this.matching = this.timelines.map(
      (timeline) =>
        new Set(
          timeline.data.labels.flatMap(([name], label) => (name.toLowerCase().includes(this.query) ? [label] : [])),
        ),
    );
    this.draw();
    return this.matching[0].size;
  }

  // After the selected op, in time, on whatever row.
  private toNextMatch(): void {
    if (!this.query) return;
    const after = this.selected ? this.selected.chunk.start + this.selected.chunk.times.start[this.selected.op] : -1;
    let best: Found | null = null;
    let bestAt = Infinity;
    let first: Found | null = null;
    let firstAt = Infinity;
    for (const line of this.lines) {
      if (!line.row || line.side !== 0) continue;
      for (const chunk of line.row.chunks)
        for (let op = 0; op < chunk.labels.label.length; op++) {
          if (!this.matching[0].has(chunk.labels.label[op])) continue;
          const at = chunk.start + chunk.times.start[op];
          if (at > after && at < bestAt) [best, bestAt] = [{ row: line.row, chunk, op }, at];
          if (at < firstAt) [first, firstAt] = [{ row: line.row, chunk, op }, at];
        }
    }
    const found = best ?? first;
    if (found) this.select(found, true);
  }

  private sideOf(found: Found): number {
    return this.lines.find((line) => line.row === found.row)?.side ?? 0;
  }

  private select(found: Found, moves: boolean): void {
    this.selected = found;
    const side = this.sideOf(found);
    const { rows, title } = this.tip(found, side);
    this.live.textContent = `${title}: ${rows.map(([name, value]) => `${name} ${value}`).join(", ")}`;
    if (moves) this.reveal(found, side);
    this.draw();
  }

  private reveal(found: Found, side: number): void {
    const start = found.chunk.start - this.offsets[side] + found.chunk.times.start[found.op];
    const end = found.chunk.start - this.offsets[side] + found.chunk.times.end[found.op];
    if (start < this.view.begin || end > this.view.end)
      this.view.pan((start + end) / 2 - (this.view.begin + this.view.end) / 2);
    const line = this.lines.find((one) => one.row === found.row);
    if (!line) return;
    const room = this.scroller.clientHeight - AXIS_HEIGHT;
    const top = this.scroller.scrollTop;
    if (line.y < top || line.y + line.height > top + room) this.scroller.scrollTop = line.y - room / 2;
  }

  private zoomTo(found: Found): void {
    const side = this.sideOf(found);
    const start = found.chunk.start - this.offsets[side] + found.chunk.times.start[found.op];
    const end = found.chunk.start - this.offsets[side] + found.chunk.times.end[found.op];
    const around = Math.max(10, (end - start) * 0.6);
    this.view.show(start - around, end + around);
    this.draw();
  }

  private tip(found: Found, side: number): Tip {
    const timeline = this.timelines[side];
    const { chunk, op, row } = found;
    const [, category, size, work, more] = timeline.data.labels[chunk.labels.label[op]];
    const length = chunk.times.end[op] - chunk.times.start[op];
    const start = chunk.start + chunk.times.start[op];
    const step = timeline.data.steps.find(([number]) => number === chunk.step);
    const rows: [string, string][] = [
      ["on", `${timeline.data.devices[row.device]}, ${row.stream}`],
      ["kind", more === "compute" ? timeline.data.categories[category] : more],
      ["takes", nanoseconds(length)],
      ["starts", step ? `${nanoseconds(start - step[1])} into step ${step[0]}` : nanoseconds(start)],
    ];
    if (chunk.times.wait[op] > 0) rows.push(["waited", nanoseconds(chunk.times.wait[op])]);
    if (size) rows.push(["bytes", bytes(size) + (length ? ` · ${(size / length).toPrecision(3)} GB/s` : "")]);
    if (work) rows.push(["work", flops(work) + (length ? ` · ${(work / length / 1e3).toPrecision(3)} TFLOP/s` : "")]);
    if (chunk.onPath?.[op]) rows.push(["critical path", "yes"]);
    this.addCounterpart(found, side, length, rows);
    return { title: opId(timeline, found), rows };
  }

  // In a comparison: what the other run says of the same op.
  private addCounterpart(found: Found, side: number, length: number, rows: [string, string][]): void {
    if (this.timelines.length < 2) return;
    const other = 1 - side;
    const steps = this.timelines[other].data.steps;
    const step = this.step === "last" ? (steps[steps.length - 1]?.[0] ?? null) : found.chunk.step;
    const match = counterpart(this.timelines[side], found, this.timelines[other], step);
    if (!match) {
      rows.push([this.sides[other], "has no such op"]);
      return;
    }
    const theirs = match.chunk.times.end[match.op] - match.chunk.times.start[match.op];
    const difference = length > 0 ? ` (${signedPercent(100 * (theirs / length - 1))})` : "";
    rows.push([this.sides[other], nanoseconds(theirs) + difference]);
  }

  private listen(): void {
    const { canvas, scroller } = this;
    scroller.addEventListener("scroll", () => this.draw());
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("dblclick", (event) => {
      const under = this.opUnder(event.offsetX, event.offsetY);
      if (under) this.zoomTo(under.found);
    });
    canvas.addEventListener("pointerleave", () => this.hover(null, 0, 0));
    this.listenToDrags();
    const jump = (event: PointerEvent) => {
      if (!(event.buttons & 1)) return;
      const [begin, end] = this.view.full;
      const at = begin + ((event.offsetX - this.gutter) / (this.width - this.gutter)) * (end - begin);
      this.view.pan(at - (this.view.begin + this.view.end) / 2);
      this.draw();
    };
    this.minimap.addEventListener("pointerdown", jump);
    this.minimap.addEventListener("pointermove", jump);
  }

  private listenToDrags(): void {
    const { canvas, scroller } = this;
    const pointers = new Map<number, PointerEvent>();
    let moved = 0;
    let stretch: number | null = null; // where a Shift + drag began
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event);
      moved = 0;
      stretch = event.shiftKey ? event.offsetX : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) {
        this.hover(this.opUnder(event.offsetX, event.offsetY), event.clientX, event.clientY);
        return;
      }
      hideTip();
      moved += Math.abs(event.offsetX - before.offsetX) + Math.abs(event.offsetY - before.offsetY);
      if (pointers.size === 2) this.pinch(pointers, event);
      else if (stretch === null) {
        const nsPerPixel = this.view.length / (this.width - this.gutter);
        this.view.pan((before.offsetX - event.offsetX) * nsPerPixel);
        scroller.scrollTop += before.offsetY - event.offsetY;
        this.draw();
      }
      pointers.set(event.pointerId, event);
    });
    const release = (event: PointerEvent) => {
      pointers.delete(event.pointerId);
      if (stretch !== null && moved > 4) {
        const [from, to] = [stretch, event.offsetX].sort((a, b) => a - b);
        this.view.show(this.timeAt(from), this.timeAt(to));
        this.draw();
      } else if (moved <= 4) {
        const under = this.opUnder(event.offsetX, event.offsetY);
        if (under) this.select(under.found, false);
      }
      stretch = null;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  }

  private pinch(pointers: Map<number, PointerEvent>, now: PointerEvent): void {
    const other = [...pointers.values()].find((one) => one.pointerId !== now.pointerId);
    const before = pointers.get(now.pointerId);
    if (!other || !before) return;
    const apart = Math.max(8, Math.abs(before.offsetX - other.offsetX));
    const nowApart = Math.max(8, Math.abs(now.offsetX - other.offsetX));
    this.zoom(apart / nowApart, this.timeAt((now.offsetX + other.offsetX) / 2));
  }

  private hover(under: { found: Found; side: number } | null, x: number, y: number): void {
    const was = this.hovered;
    this.hovered = under?.found ?? null;
    if (under) showTip(this.tip(under.found, under.side), x, y);
    else hideTip();
    if (was?.chunk !== this.hovered?.chunk || was?.op !== this.hovered?.op) this.draw();
  }

  private onWheel(event: WheelEvent): void {
    const focused = document.activeElement === this.canvas;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.view.pan((event.deltaX * this.view.length) / (this.width - this.gutter));
      this.draw();
    } else if (event.ctrlKey || event.metaKey || focused) {
      event.preventDefault();
      const amount = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
      this.zoom(Math.exp(Math.max(-200, Math.min(200, amount)) / 300), this.timeAt(event.offsetX));
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.view.pan(-this.view.length / 8),
      ArrowRight: () => this.view.pan(this.view.length / 8),
      ArrowUp: () => this.toRow(-1),
      ArrowDown: () => this.toRow(1),
      "+": () => this.view.zoom(1 / 1.6, this.focusTime()),
      "=": () => this.view.zoom(1 / 1.6, this.focusTime()),
      "-": () => this.view.zoom(1.6, this.focusTime()),
      "0": () => this.view.reset(),
      "[": () => this.toOp(-1),
      "]": () => this.toOp(1),
      Enter: () => this.selected && this.zoomTo(this.selected),
      Escape: () => this.canvas.blur(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.draw();
  }

  // Keys zoom around the selected op when it is in sight.
  private focusTime(): number {
    const middle = (this.view.begin + this.view.end) / 2;
    if (!this.selected) return middle;
    const { chunk, op } = this.selected;
    const at = chunk.start - this.offsets[this.sideOf(this.selected)] + chunk.times.start[op];
    return at >= this.view.begin && at <= this.view.end ? at : middle;
  }

  private toRow(by: number): void {
    const rows = this.lines.filter((line) => line.row);
    const now = rows.findIndex((line) => line.row === this.selected?.row);
    const line = rows[now < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, now + by))];
    if (!line?.row) return;
    const middle = this.focusTime() + this.offsets[line.side];
    const found = opAt(line.row, middle, Infinity);
    if (found) this.select(found, true);
  }

  private toOp(by: number): void {
    if (!this.selected) {
      this.toRow(1);
      return;
    }
    const { row, chunk, op } = this.selected;
    if (chunk.labels.label[op + by] !== undefined) {
      this.select({ row, chunk, op: op + by }, true);
      return;
    }
    const next = row.chunks[row.chunks.indexOf(chunk) + by];
    if (next) this.select({ row, chunk: next, op: by > 0 ? 0 : next.labels.label.length - 1 }, true);
  }
}

function longestTable(timeline: Timeline): HTMLElement {
  const holder = h("div");
  const show = (device: number) => {
    clear(holder);
    const rows = longest(timeline, device, 30);
    holder.append(
      choice(
        "Device",
        timeline.data.devices.map((name, index) => ({ value: String(index), text: name })),
        String(device),
        (value) => show(Number(value)),
      ),
      table(
        `What takes longest on ${timeline.data.devices[device]}, all steps shown`,
        [
          { title: "op", text: (row) => row.name },
          { title: "kind", text: (row) => timeline.data.categories[row.category] },
          { title: "times", number: true, text: (row) => String(row.count) },
          { title: "in all", number: true, text: (row) => nanoseconds(row.ns) },
        ],
        rows,
      ),
    );
  };
  show(timeline.rows[0]?.device ?? 0);
  return holder;
}

function usedCategories(timelines: Timeline[]): string[] {
  const used = new Set(timelines.flatMap((timeline) => timeline.data.labels.map((label) => label[1])));
  return timelines[0].data.categories.filter((_, index) => used.has(index));
}

export function timelineSection(runs: Run[]): Section | null {
  const shown = runs.filter((run) => run.timeline && run.timeline.rows.length).slice(0, 2);
  if (!shown.length) return null;
  const timelines = shown.flatMap((run) => (run.timeline ? [unpack(run.timeline)] : []));
  const differ = shown.length > 1 && shown[0].result.source !== shown[1].result.source;
  const sides = shown.map((run, index) => (differ ? run.result.source : index ? "second" : "first"));
  const widget = new TimelineWidget(timelines, sides);
  const entries = usedCategories(timelines).map((name) => ({ name, color: color(`op-${name}`) }));
  return section(
    "timeline",
    "Timeline",
    caption(
      shown.length > 1
        ? `Every stream of every device, ${sides[0]} above ${sides[1]}. The critical path is underlined.`
        : "Every stream of every device. The critical path, the chain of ops that decides when the run ends, is underlined.",
    ),
    ...shown.map((run) => note(run.timeline?.left_out ?? "")),
    legend([...entries, { name: "critical path", color: color("path"), shape: "line" }]),
    widget.element,
    h("p", { class: "help" }, HELP),
    asTable(longestTable(timelines[0]), "The longest ops as a table"),
  );
}
