// The timeline on a canvas. Ops narrower than a pixel are summed up: how strong its colour is says how busy the
// stream was, so the cost of drawing goes with pixels and not with ops.
import { computedColor } from "./colors";
import { timeTick } from "./format";
import { Chunk, firstEndingAfter, Found, opName, TimeColumn, Timeline } from "./timeline_model";
import { AXIS_HEIGHT, Line, ROW_HEIGHT, View } from "./timeline_view";

export interface Theme {
  text: string;
  muted: string;
  grid: string;
  surface: string;
  raised: string;
  path: string;
  match: string;
  onBar: string;
  category: string[];
}

export function readTheme(categories: string[]): Theme {
  return {
    text: computedColor("text"),
    muted: computedColor("muted"),
    grid: computedColor("grid"),
    surface: computedColor("surface"),
    raised: computedColor("raised"),
    path: computedColor("path"),
    match: computedColor("match"),
    onBar: computedColor("on-bar"),
    category: categories.map((name) => computedColor(`op-${name}`)),
  };
}

export type PathStyle = "shown" | "alone" | "hidden";

export interface Scene {
  timelines: Timeline[];
  offsets: number[]; // of each run, so that steps begin together
  lines: Line[];
  view: View;
  gutter: number;
  width: number;
  height: number;
  scrollTop: number;
  path: PathStyle;
  unit: number; // a pixel of the screen, in CSS pixels
  matches: (timeline: Timeline, label: number) => boolean;
  searching: boolean;
  selected: Found | null;
  sides: string[]; // what each run is called
}

const SAMPLES = 8;

// Of the ops [first, last) in a column, one of those that take most of it.
function dominant(chunk: Chunk, first: number, last: number): number {
  const step = Math.max(1, Math.floor((last - first) / SAMPLES));
  let best = first;
  let most = -1;
  for (let i = first; i < last; i += step) {
    const length = chunk.times.end[i] - chunk.times.start[i];
    if (length > most) {
      most = length;
      best = i;
    }
  }
  return best;
}

// How long the stream was busy before an instant; `next` is the first op that ends after it.
function busyBefore(times: TimeColumn, next: number, at: number): number {
  const inside = next < times.start.length ? Math.max(0, at - times.start[next]) : 0;
  return times.busy[next] + inside;
}

// Paints a row column by column, a column being a pixel of the screen. Columns that one op fills are painted
// together; of others the share that is busy says how strong the colour is.
class RowPainter {
  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly scene: Scene,
    private readonly theme: Theme,
  ) {}

  paint(line: Line, y: number): void {
    const row = line.row;
    if (!row) return;
    const { view, offsets } = this.scene;
    for (const chunk of row.chunks) {
      const start = chunk.start - offsets[line.side];
      if (start > view.end || chunk.end - offsets[line.side] < view.begin) continue;
      this.paintChunk(line, chunk, start, y);
    }
  }

  private paintChunk(line: Line, chunk: Chunk, chunkStart: number, y: number): void {
    const { view, gutter, width, unit } = this.scene;
    const nsPerColumn = (view.length / (width - gutter)) * unit;
    const origin = view.begin - chunkStart; // of column 0, in the chunk's time
    const columns = Math.floor((width - gutter) / unit);
    const { start, end } = chunk.times;
    let op = firstEndingAfter(chunk.times, Math.max(origin, 0));
    let column = op < start.length ? Math.max(0, Math.floor((start[op] - origin) / nsPerColumn)) : columns;
    while (op < start.length && column < columns) {
      const begin = origin + column * nsPerColumn;
      const filled = Math.min(columns, Math.floor((end[op] - origin) / nsPerColumn));
      if (start[op] <= begin && filled > column) {
        this.paintOp(line, chunk, op, y, column, filled);
        column = filled;
      } else {
        const until = begin + nsPerColumn;
        const next = firstEndingAfter(chunk.times, until);
        const busy = busyBefore(chunk.times, next, until) - busyBefore(chunk.times, op, begin);
        const last = next < start.length && start[next] < until ? next + 1 : next;
        if (last > op) this.paintColumn(line, chunk, op, last, y, column, busy / nsPerColumn);
        column += 1;
      }
      const now = origin + column * nsPerColumn;
      while (op < start.length && end[op] <= now) {
        op = end[op + 1] !== undefined && end[op + 1] > now ? op + 1 : firstEndingAfter(chunk.times, now);
      }
      // Over a gap at once.
      if (op < start.length && start[op] > now)
        column = Math.max(column, Math.floor((start[op] - origin) / nsPerColumn));
    }
  }

  private faded(timeline: Timeline, chunk: Chunk, op: number): boolean {
    if (this.scene.searching) return !this.scene.matches(timeline, chunk.labels.label[op]);
    return this.scene.path === "alone" && !(chunk.onPath && chunk.onPath[op]);
  }

  private paintOp(line: Line, chunk: Chunk, op: number, y: number, from: number, to: number): void {
    const { context, theme, scene } = this;
    const timeline = scene.timelines[line.side];
    const left = scene.gutter + from * scene.unit;
    const right = scene.gutter + to * scene.unit;
    const isFaded = this.faded(timeline, chunk, op);
    context.globalAlpha = isFaded ? 0.25 : 1;
    context.fillStyle = theme.category[timeline.data.labels[chunk.labels.label[op]][1]];
    // A hair between neighbours, once there is room for it.
    context.fillRect(left, y + 2, right - left - (right - left > 5 ? 1 : 0), ROW_HEIGHT - 4);
    if (right - left > 46 && !isFaded) this.write(timeline, line, chunk, op, y, left, right);
    context.globalAlpha = 1;
    if (chunk.onPath?.[op]) this.underline(y, left, right - left);
  }

  private write(t: Timeline, line: Line, chunk: Chunk, op: number, y: number, left: number, right: number): void {
    if (!line.row) return;
    const { context, theme } = this;
    const name = opName(t, { row: line.row, chunk, op });
    const room = Math.floor((right - left - 8) / 6.1);
    const text = name.length <= room ? name : "…" + name.slice(name.length - room + 1);
    if (text.length < 4) return;
    context.fillStyle = theme.onBar;
    context.fillText(text, left + 4, y + ROW_HEIGHT / 2 + 3);
  }

  private paintColumn(line: Line, chunk: Chunk, first: number, last: number, y: number, column: number, busy: number): void {
    const { context, theme, scene } = this;
    const timeline = scene.timelines[line.side];
    const op = dominant(chunk, first, last);
    const x = scene.gutter + column * scene.unit;
    context.globalAlpha = Math.min(1, 0.15 + 0.85 * busy) * (this.faded(timeline, chunk, op) ? 0.25 : 1);
    context.fillStyle = theme.category[timeline.data.labels[chunk.labels.label[op]][1]];
    context.fillRect(x, y + 2, scene.unit, ROW_HEIGHT - 4);
    context.globalAlpha = 1;
    if (!chunk.onPath) return;
    for (let i = first; i < Math.min(last, first + SAMPLES); i++)
      if (chunk.onPath[i]) {
        this.underline(y, x, scene.unit);
        return;
      }
  }

  private underline(y: number, x: number, w: number): void {
    if (this.scene.path === "hidden") return;
    this.context.fillStyle = this.theme.path;
    this.context.fillRect(x, y + ROW_HEIGHT - 3, w, 2.5);
  }
}

export function tickStep(length: number, width: number): number {
  const rough = (length * 110) / Math.max(110, width);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((digit) => digit * power >= rough) ?? 10);
}

function drawAxis(context: CanvasRenderingContext2D, scene: Scene, theme: Theme): void {
  const { view, gutter, width, height } = scene;
  const step = tickStep(view.length, width - gutter);
  const text = timeTick(step);
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, width, AXIS_HEIGHT);
  context.textAlign = "center";
  for (let at = Math.ceil(view.begin / step) * step; at <= view.end; at += step) {
    const x = gutter + ((at - view.begin) / view.length) * (width - gutter);
    context.fillStyle = theme.grid;
    context.fillRect(Math.round(x), AXIS_HEIGHT - 6, 1, height);
    context.fillStyle = theme.muted;
    if (x < width - 20) context.fillText(text(at), Math.max(gutter + 20, x), AXIS_HEIGHT - 11);
  }
  context.textAlign = "left";
}

function drawSteps(context: CanvasRenderingContext2D, scene: Scene, theme: Theme): void {
  const { view, gutter, width, height, timelines, offsets } = scene;
  for (const [, begin] of timelines[0].data.steps) {
    const at = begin - offsets[0];
    if (at <= view.begin || at >= view.end) continue;
    const x = Math.round(gutter + ((at - view.begin) / view.length) * (width - gutter));
    context.fillStyle = theme.muted;
    context.fillRect(x, AXIS_HEIGHT, 1, height);
  }
}

function drawGutter(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, line: Line, y: number): void {
  const { gutter, width, sides } = scene;
  if (!line.row) {
    context.fillStyle = theme.raised;
    context.fillRect(0, y, width, line.height);
    context.fillStyle = theme.text;
    context.fillText(line.text, 10, y + line.height / 2 + 4);
    return;
  }
  context.fillStyle = theme.surface;
  context.fillRect(0, y, gutter, line.height);
  context.fillStyle = theme.muted;
  const side = sides.length > 1 ? `${sides[line.side]} ` : "";
  const room = Math.floor((gutter - 26) / 6.1);
  const text = side + line.text;
  context.fillText(text.length > room ? text.slice(0, room - 1) + "…" : text, 20, y + line.height / 2 + 4);
}

function drawSelection(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, line: Line, y: number): void {
  const { selected, view, gutter, width, offsets } = scene;
  if (!selected || line.row !== selected.row) return;
  const start = selected.chunk.start - offsets[line.side];
  const perNs = (width - gutter) / view.length;
  const x = gutter + (start + selected.chunk.times.start[selected.op] - view.begin) * perNs;
  const w = (selected.chunk.times.end[selected.op] - selected.chunk.times.start[selected.op]) * perNs;
  if (x > width || x + w < gutter) return;
  context.strokeStyle = theme.text;
  context.lineWidth = 2;
  context.strokeRect(Math.max(gutter, x) - 0.5, y + 1, Math.max(3, Math.min(width, x + w) - Math.max(gutter, x)), ROW_HEIGHT - 2);
}

export function drawTimeline(context: CanvasRenderingContext2D, scene: Scene, theme: Theme): void {
  const { width, height, scrollTop, lines } = scene;
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  drawAxis(context, scene, theme);
  const painter = new RowPainter(context, scene, theme);
  context.save();
  context.beginPath();
  context.rect(0, AXIS_HEIGHT, width, height);
  context.clip();
  for (const line of lines) {
    const y = AXIS_HEIGHT + line.y - scrollTop;
    if (y + line.height < AXIS_HEIGHT || y > height) continue;
    painter.paint(line, y);
    drawGutter(context, scene, theme, line, y);
    drawSelection(context, scene, theme, line, y);
  }
  drawSteps(context, scene, theme);
  context.restore();
}

// The whole run on a strip: all rows together, and where the view is.
export function drawMinimap(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, height: number): void {
  const { width, gutter, view, timelines, offsets } = scene;
  const [begin, end] = view.full;
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, width, height);
  const columns = Math.max(1, Math.floor(width - gutter));
  const share = rememberedShares(timelines[0], offsets[0], begin, end, columns);
  const categories = theme.category.length;
  for (let column = 0; column < columns; column++) {
    let y = height - 4;
    for (let category = 0; category < categories; category++) {
      const tall = share[column * categories + category] * (height - 8);
      if (tall <= 0) continue;
      context.fillStyle = theme.category[category];
      context.fillRect(gutter + column, y - tall, 1, tall);
      y -= tall;
    }
  }
  const perNs = (width - gutter) / (end - begin);
  const left = gutter + (view.begin - begin) * perNs;
  const right = gutter + (view.end - begin) * perNs;
  context.fillStyle = theme.text;
  context.globalAlpha = 0.12;
  context.fillRect(gutter, 0, left - gutter, height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = theme.text;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), height - 1);
}

const remembered = new WeakMap<Timeline, { key: string; shares: Float32Array }>();

function rememberedShares(timeline: Timeline, offset: number, begin: number, end: number, columns: number): Float32Array {
  const key = [offset, begin, end, columns].join();
  const known = remembered.get(timeline);
  if (known && known.key === key) return known.shares;
  const shares = minimapShares(timeline, offset, begin, end, columns);
  remembered.set(timeline, { key, shares });
  return shares;
}

// By column and category, what share of the rows is busy with it. Ops are visited up to a limit, evenly.
function minimapShares(timeline: Timeline, offset: number, begin: number, end: number, columns: number): Float32Array {
  const MOST = 60_000;
  const categories = timeline.data.categories.length;
  const shares = new Float32Array(columns * categories);
  const perNs = columns / (end - begin);
  const devices = new Set(timeline.rows.map((row) => row.device)).size || 1;
  const every = Math.max(1, Math.ceil(timeline.data.ops / MOST));
  for (const row of timeline.rows)
    for (const chunk of row.chunks) {
      const { start, end: ends } = chunk.times;
      for (let op = 0; op < start.length; op += every) {
        const category = timeline.data.labels[chunk.labels.label[op]][1];
        const first = Math.max(0, (chunk.start - offset + start[op] - begin) * perNs);
        const stop = op + every < start.length && every > 1 ? start[op + every] : ends[op];
        const last = Math.min(columns, (chunk.start - offset + stop - begin) * perNs);
        for (let column = Math.floor(first); column < last; column++)
          shares[column * categories + category] +=
            (Math.min(last, column + 1) - Math.max(first, column)) / devices;
      }
    }
  // Several streams of a device may be busy at once: scale so that the tallest column fits.
  let tallest = 1;
  for (let column = 0; column < columns; column++) {
    let sum = 0;
    for (let category = 0; category < categories; category++) sum += shares[column * categories + category];
    tallest = Math.max(tallest, sum);
  }
  return shares.map((share) => share / tallest);
}
