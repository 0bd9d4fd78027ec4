// What part of the timeline is seen, and which rows stand where.
import { Row, Timeline } from "./timeline_model";

export const ROW_HEIGHT = 18;
export const DEVICE_HEIGHT = 22;
export const AXIS_HEIGHT = 26;

// A line of the drawing: a device's name, or a stream of one of the runs.
export interface Line {
  y: number;
  height: number;
  device: string;
  row: Row | null; // null: the name of the device
  side: number; // which run
  text: string;
}

export class View {
  begin = 0; // ns
  end = 1;
  private whole: [number, number] = [0, 1];

  setWhole(begin: number, end: number): void {
    this.whole = [begin, Math.max(begin + 1, end)];
    [this.begin, this.end] = this.whole;
  }
  get full(): [number, number] {
    return this.whole;
  }
  get length(): number {
    return this.end - this.begin;
  }

  // Around an instant; never past the whole nor below 20 ns.
  zoom(factor: number, around: number): void {
    const [first, last] = this.whole;
    const length = Math.min(last - first, Math.max(20, this.length * factor));
    const share = (around - this.begin) / this.length;
    this.move(around - share * length, length);
  }
  pan(ns: number): void {
    this.move(this.begin + ns, this.length);
  }
  show(begin: number, end: number): void {
    const length = Math.min(this.whole[1] - this.whole[0], Math.max(20, end - begin));
    this.move((begin + end - length) / 2, length);
  }
  reset(): void {
    [this.begin, this.end] = this.whole;
  }

  private move(begin: number, length: number): void {
    const [first, last] = this.whole;
    this.begin = Math.max(first, Math.min(begin, last - length));
    this.end = this.begin + length;
  }
}

function fingerprint(timeline: Timeline, device: number): string {
  return timeline.rows
    .filter((row) => row.device === device)
    .map((row) => `${row.stream}:${row.chunks.map((chunk) => chunk.key).join(";")}`)
    .join("|");
}

interface DeviceGroup {
  names: string[];
  device: number; // of the first timeline
}

// Neighbours whose rows are alike to the nanosecond, as one.
function groups(timelines: Timeline[], folded: boolean): DeviceGroup[] {
  const first = timelines[0];
  const out: DeviceGroup[] = [];
  let last = "";
  first.data.devices.forEach((name, device) => {
    if (!first.rows.some((row) => row.device === device)) return;
    const print = timelines
      .map((timeline) => fingerprint(timeline, timeline.data.devices.indexOf(name)))
      .join("#");
    if (folded && out.length && print === last) {
      out[out.length - 1].names.push(name);
      return;
    }
    last = print;
    out.push({ names: [name], device });
  });
  return out;
}

function groupName(names: string[]): string {
  return names.length === 1 ? names[0] : `${names[0]} … ${names[names.length - 1]} (${names.length} alike)`;
}

// Simulated above executed, stream by stream.
export function layOut(timelines: Timeline[], folded: boolean): Line[] {
  const lines: Line[] = [];
  let y = 0;
  const add = (height: number, line: Omit<Line, "y" | "height">) => {
    lines.push({ ...line, y, height });
    y += height;
  };
  for (const group of groups(timelines, folded)) {
    const device = group.names[0];
    add(DEVICE_HEIGHT, { device, row: null, side: 0, text: groupName(group.names) });
    const rowsOf = (side: number) => {
      const number = timelines[side].data.devices.indexOf(device);
      return timelines[side].rows.filter((row) => row.device === number);
    };
    const bySide = timelines.map((_, side) => rowsOf(side));
    const keys = [...new Set(bySide.flatMap((rows) => rows.map((row) => `${row.stream}/${row.lane}`)))];
    for (const key of keys)
      bySide.forEach((rows, side) => {
        const row = rows.find((one) => `${one.stream}/${one.lane}` === key);
        if (!row) return;
        const lane = row.lane ? ` (${row.lane + 1})` : "";
        add(ROW_HEIGHT, { device, row, side, text: row.stream + lane });
      });
  }
  return lines;
}

export function heightOf(lines: Line[]): number {
  const last = lines[lines.length - 1];
  return last ? last.y + last.height : 0;
}
