// The value that the page draws: "twinrun/page/1", made by report/page_data.cc.

export interface PageData {
  schema: string;
  made_by: string;
  title: string;
  headline: string;
  notes: string[];
  runs: Run[];
  comparison: Comparison | null;
  sweeps: Sweep[];
  curves: Curves | null;
  answers: Answer[];
  controls: Controls | null;
}

export interface Run {
  label: string;
  headline: string;
  result: Result;
  job: string | null;
  timeline: TimelineData | null;
  memory: MemoryData | null;
  pipeline: PipelineData | null;
  topology: TopologyData | null;
}

export type Maybe = number | null | undefined;

export interface Result {
  source: string;
  backend: string | null;
  name: string;
  topology: string;
  devices: number;
  steps: number;
  makespan_s: number;
  step_s: number;
  step_s_each?: number[];
  samples_per_s: Maybe;
  epoch_s: Maybe;
  speedup_vs_one_device: Maybe;
  scaling_efficiency_pct: Maybe;
  tflops_per_device: Maybe;
  mfu_pct: Maybe;
  t1_s: Maybe;
  t2_s: Maybe;
  max_t1_t2_s: Maybe;
  sum_t1_t2_s: Maybe;
  overlap_pct: Maybe;
  exposed_communication_s: Maybe;
  breakdown_s: Record<string, number> | null;
  memory: MemoryPeak[];
  devices_detail: DeviceDetail[];
  collectives: CollectiveSum[];
  collectives_left_out?: number;
  critical_path_share?: Record<string, number>;
  staleness?: { mean: number; max: number; histogram: number[] };
  loss?: number[];
  weights_sha256?: string | null;
  cost_per_epoch?: Maybe;
  energy_J?: Maybe;
  energy_per_epoch_J?: Maybe;
  engine?: Record<string, unknown>;
  warnings?: { code: string; message: string; where: string }[];
  layout?: Record<string, string | number>;
  memory_advice?: string;
}

export interface MemoryPeak {
  device: string;
  last_device: string;
  count: number;
  peak_bytes: number;
  capacity_bytes: number | null;
  fits: boolean | null;
  at_op: string | null;
  parts: Record<string, number>;
}

export interface DeviceDetail {
  device: string;
  last_device: string;
  count: number;
  compute_s: number;
  communication_s: number;
  exposed_s: number;
  idle_s: number;
}

export interface CollectiveSum {
  kind: string;
  algorithm: string | null;
  protocol: string | null;
  ranks: number;
  bytes: number;
  bottleneck: string | null;
  busbw_GBps: number | null;
  op: string;
  count: number;
  mean_time_s: number;
  total_time_s: number;
}

// [name, category, bytes, FLOPs, more, has a micro-batch]
export type LabelRow = [string, number, number, number, string, number];
// [step, start in ns, labels, times, critical path]
export type ChunkRow = [number | null, number, number, number, number];

export interface TimelineData {
  categories: string[];
  ops: number;
  left_out: string;
  makespan_ns: number;
  steps: [number, number, number][];
  devices: string[];
  labels: LabelRow[];
  sequences: string[];
  rows: { device: number; stream: string; lane: number; owner: string; chunks: ChunkRow[] }[];
}

export interface MemoryData {
  makespan_ns: number;
  curves: MemoryCurve[];
  left_out: string;
}

export interface MemoryCurve {
  devices: string[];
  capacity_bytes: number | null;
  peak_bytes: number;
  times_ns: number[];
  parts: Record<string, number[]>;
}

export interface PipelineData {
  step: number;
  duration_ns: number;
  rows: { device: string; blocks: [number, number, number, number][] }[];
  left_out: string;
}

// [from, to, kind, GB/s, latency in us, bonded, there, back]
export type LinkRow = [
  number,
  number,
  string,
  number,
  number,
  number,
  [number, number] | null,
  [number, number] | null,
];

export interface MachineDetail {
  name: string;
  template: string;
  busy_pct: number;
  vertices: [string, string, string][];
  links: LinkRow[];
}

export interface TopologyData {
  name: string;
  description: string;
  fabric: string;
  knows_use: boolean;
  machines: number;
  details: MachineDetail[];
  boxes: { name: string; tier: string; is_machine: boolean; count: number }[];
  wires: [number, number, number, number, number, number][];
  busiest: [string, string, number, number, number][];
  links: number;
  left_out: string;
}

export interface Answer {
  question: string;
  answer: string;
  value: unknown;
  unit: string;
  assumed: string[];
}

export interface BatchPoint {
  batch: number;
  t1_s: number;
  t2_s: number | null;
  step_s: number;
  fits: boolean;
}

export interface PairPoint {
  at: number; // devices, or GB/s
  server_samples_per_s: number | null;
  ring_samples_per_s: number | null;
}

export interface ScalingPoint {
  devices: number;
  samples_per_s: number;
  ideal_samples_per_s: number;
  fits: boolean;
}

export interface Curve<Point> {
  points: Point[];
  here: number | null;
  crossing: number | null;
  sentence: string;
  assumed: string[];
}

export interface Curves {
  batch: Curve<BatchPoint> | null;
  devices: Curve<PairPoint> | null;
  bandwidth: Curve<PairPoint> | null;
  scaling: Curve<ScalingPoint> | null;
  simulations: number;
}

export interface SweepPoint {
  point: number;
  set: Record<string, string>;
  error?: string;
  devices?: number;
  global_batch_size?: number;
  step_s?: number;
  samples_per_s?: number;
  t1_s?: number;
  t2_s?: number | null;
  exposed_communication_s?: number;
  peak_bytes?: number;
  capacity_bytes?: number | null;
  fits?: boolean;
  pareto?: boolean;
  breakdown_s?: Record<string, number>;
}

export interface Sweep {
  label: string;
  headline?: string;
  points: SweepPoint[];
  best: Record<string, { point: number; set: Record<string, string>; value: number }>;
}

export interface Metric {
  name: string;
  unit: "seconds" | "per second" | "percent" | "bytes";
  a: Maybe;
  b: Maybe;
  a_deviation: number;
  b_deviation: number;
  difference_pct: Maybe;
}

export interface PhasePair {
  name: string;
  a_on_path_s: number;
  b_on_path_s: number;
  a_working_s: number;
  b_working_s: number;
  a_waiting_s: number;
  b_waiting_s: number;
}

export interface OpPair {
  op: string;
  phase: string;
  a_s: number;
  b_s: number;
  difference_s: number;
  on_path_s: number;
  share_of_error_pct: Maybe;
}

export interface WaitPair {
  before: string;
  a_s: number;
  b_s: number;
  on_path_s: number;
  share_of_error_pct: Maybe;
}

export interface CollectivePair {
  name: string;
  kind: string;
  bytes: number;
  ranks: number;
  a: { start_s: number; time_s: number; waiting_s: number } | null;
  b: { start_s: number; time_s: number; waiting_s: number } | null;
}

export interface Comparison {
  summary: string;
  step_difference_s: number;
  metrics: Metric[];
  phases: PhasePair[];
  ops: OpPair[];
  ops_in_all: number;
  waits: WaitPair[];
  collectives: CollectivePair[];
  collectives_in_all: number;
  parting: string;
  only_in_a: { names: string[]; count: number };
  only_in_b: { names: string[]; count: number };
}

// Of `twinrun serve`: what the sliders may be set to, and where they stand.
export interface Controls {
  batch: { values: number[]; now: number };
  devices: { values: number[]; now: number };
  bandwidth: { values: number[]; now: number; gigabytes_per_s: number; what: string };
  strategy: { values: string[]; now: string };
}
