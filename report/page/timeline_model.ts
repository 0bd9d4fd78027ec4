// The packed timeline of report/timeline_data.h, unpacked into columns. Chunks that are alike share theirs,
// so a million ops of many equal ranks take the memory of one.
import { LabelRow, TimelineData } from "./data";

export interface LabelColumn {
  label: Uint32Array;
  microBatch: Int32Array; // -1: none
}

export interface TimeColumn {
  start: Float64Array; // ns from the start of the chunk
  end: Float64Array;
  wait: Float64Array; // ready before the start for so long
  busy: Float64Array; // sum of durations of the ops before, one more entry than ops
}

export interface Chunk {
  step: number | null;
  start: number; // ns
  end: number;
  labels: LabelColumn;
  times: TimeColumn;
  onPath: Uint8Array | null;
  key: string; // equal for chunks that look the same, wherever they stand
}

export interface Row {
  device: number;
  stream: string;
  lane: number;
  owner: string;
  chunks: Chunk[];
}

export interface Timeline {
  data: TimelineData;
  rows: Row[];
}

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

class Reader {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  get done(): boolean {
    return this.at >= this.bytes.length;
  }
  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }
  signed(): number {
    const doubled = this.varint();
    return doubled % 2 === 0 ? doubled / 2 : -(doubled + 1) / 2;
  }
}

function readLabels(base64: string, rows: LabelRow[]): LabelColumn {
  const reader = new Reader(bytesOf(base64));
  const labels: number[] = [];
  const microBatches: number[] = [];
  let label = -1;
  let microBatch = 0;
  while (!reader.done) {
    label += reader.signed() + 1;
    if (rows[label][5]) microBatch += reader.signed();
    labels.push(label);
    microBatches.push(rows[label][5] ? microBatch : -1);
  }
  return { label: Uint32Array.from(labels), microBatch: Int32Array.from(microBatches) };
}

function readTimes(base64: string): TimeColumn {
  const reader = new Reader(bytesOf(base64));
  const starts: number[] = [];
  const ends: number[] = [];
  const waits: number[] = [];
  const busy = [0];
  let end = 0;
  while (!reader.done) {
    const start = end + reader.signed();
    end = start + reader.varint();
    starts.push(start);
    ends.push(end);
    waits.push(reader.varint());
    busy.push(busy[busy.length - 1] + end - start);
  }
  return {
    start: Float64Array.from(starts),
    end: Float64Array.from(ends),
    wait: Float64Array.from(waits),
    busy: Float64Array.from(busy),
  };
}

function readPath(base64: string, ops: number): Uint8Array {
  const reader = new Reader(bytesOf(base64));
  const onPath = new Uint8Array(ops);
  let at = 0;
  let inside = false;
  while (!reader.done) {
    const run = reader.varint();
    if (inside) onPath.fill(1, at, at + run);
    at += run;
    inside = !inside;
  }
  return onPath;
}

export function unpack(data: TimelineData): Timeline {
  const labels = new Map<number, LabelColumn>();
  const times = new Map<number, TimeColumn>();
  const remember = <T>(known: Map<number, T>, number: number, make: () => T): T => {
    const found = known.get(number) ?? make();
    known.set(number, found);
    return found;
  };
  const rows = data.rows.map((row) => ({
    ...row,
    chunks: row.chunks.map(([step, start, labelsAt, timesAt, pathAt]): Chunk => {
      const label = remember(labels, labelsAt, () => readLabels(data.sequences[labelsAt], data.labels));
      const time = remember(times, timesAt, () => readTimes(data.sequences[timesAt]));
      const ops = label.label.length;
      return {
        step,
        start,
        end: start + time.end[ops - 1],
        labels: label,
        times: time,
        onPath: pathAt < 0 ? null : readPath(data.sequences[pathAt], ops),
        key: `${labelsAt},${timesAt},${Math.round(start)}`,
      };
    }),
  }));
  return { data, rows };
}

// The first op of a chunk that ends after an instant (ns from the start of the chunk).
export function firstEndingAfter(times: TimeColumn, at: number): number {
  let low = 0;
  let high = times.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times.end[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Found {
  row: Row;
  chunk: Chunk;
  op: number;
}

// "forward/conv1/mb3" without step and owner.
export function opName(timeline: Timeline, found: Found): string {
  const label = timeline.data.labels[found.chunk.labels.label[found.op]];
  const name = label[5] ? label[0].replace("/mb#", `/mb${found.chunk.labels.microBatch[found.op]}`) : label[0];
  return name.endsWith("@") ? name.slice(0, -1) : name;
}

// As the plan has it: step0/forward/conv1/mb3@rank0.
export function opId(timeline: Timeline, found: Found): string {
  const label = timeline.data.labels[found.chunk.labels.label[found.op]];
  const name = opName(timeline, found);
  const owned = label[0].endsWith("@") ? name + found.row.owner : name;
  return found.chunk.step === null ? owned : `step${found.chunk.step}/${owned}`;
}

// The op at an instant; of a row, within `slack` ns beside it.
export function opAt(row: Row, at: number, slack: number): Found | null {
  for (const chunk of row.chunks) {
    if (at < chunk.start - slack || at > chunk.end + slack) continue;
    const inside = at - chunk.start;
    const op = firstEndingAfter(chunk.times, inside - slack);
    let best: Found | null = null;
    let distance = Infinity;
    for (let i = op; i < chunk.times.start.length && chunk.times.start[i] <= inside + slack; i++) {
      const away = Math.max(0, chunk.times.start[i] - inside, inside - chunk.times.end[i]);
      if (away < distance) {
        best = { row, chunk, op: i };
        distance = away;
      }
    }
    if (best) return best;
  }
  return null;
}

// The same op in another run: same row, same step (or the chunk beside it), same name.
export function counterpart(from: Timeline, found: Found, to: Timeline, step: number | null): Found | null {
  const device = from.data.devices[found.row.device];
  const name = opName(from, found);
  for (const row of to.rows) {
    if (row.stream !== found.row.stream || to.data.devices[row.device] !== device) continue;
    for (const chunk of row.chunks) {
      if (chunk.step !== step) continue;
      for (let op = 0; op < chunk.labels.label.length; op++)
        if (opName(to, { row, chunk, op }) === name) return { row, chunk, op };
    }
  }
  return null;
}

export interface LabelTotal {
  name: string;
  category: number;
  count: number;
  ns: number;
}

// What takes longest on a device, by name.
export function longest(timeline: Timeline, device: number, most: number): LabelTotal[] {
  const totals = new Map<number, LabelTotal>();
  for (const row of timeline.rows) {
    if (row.device !== device) continue;
    for (const chunk of row.chunks)
      chunk.labels.label.forEach((label, op) => {
        const [name, category] = timeline.data.labels[label];
        const total = totals.get(label) ?? { name: name.replace(/@$/, "").replace("/mb#", ""), category, count: 0, ns: 0 };
        total.count += 1;
        total.ns += chunk.times.end[op] - chunk.times.start[op];
        totals.set(label, total);
      });
  }
  return [...totals.values()].sort((a, b) => b.ns - a.ns).slice(0, most);
}
