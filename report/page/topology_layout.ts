// Where things stand: the inside of a machine as tiers (network above, GPUs below), the network as tiers of boxes.
import { MachineDetail, TopologyData } from "./data";

export interface Placed {
  x: number;
  y: number;
  w: number;
  h: number;
}

const BOX = { w: 62, h: 26 };

// From top to bottom. CPUs and their memory share a tier where there are GPUs below them.
const TIERS: Record<string, number> = { switch: 0, nic: 1, memory: 2, cpu: 2, "pcie-switch": 3, gpu: 4, nvswitch: 5 };
const TIER_HEIGHT = 74;

function neighbours(machine: MachineDetail): number[][] {
  const near: number[][] = machine.vertices.map(() => []);
  for (const [from, to] of machine.links) {
    near[from].push(to);
    near[to].push(from);
  }
  return near;
}

// Spreads a tier so that no two overlap, as near as it can to where each wants to be.
function spread(wanted: { vertex: number; at: number }[], gap: number): Map<number, number> {
  const order = [...wanted].sort((a, b) => a.at - b.at || a.vertex - b.vertex);
  const places = new Map<number, number>();
  let last = -Infinity;
  for (const one of order) {
    const at = Math.max(one.at, last + gap);
    places.set(one.vertex, at);
    last = at;
  }
  // What was pushed right by its neighbours goes back by the half of it.
  const drift = order.reduce((sum, one) => sum + (places.get(one.vertex) ?? 0) - one.at, 0) / (order.length || 1);
  for (const one of order) places.set(one.vertex, (places.get(one.vertex) ?? 0) - drift);
  return places;
}

export interface MachineLayout {
  places: Placed[];
  width: number;
  height: number;
}

// GPUs (or CPUs where there is none) stand in their order; each other tier over the middle of its neighbours.
export function layOutMachine(machine: MachineDetail, width: number): MachineLayout {
  const hasGpus = machine.vertices.some(([, kind]) => kind === "gpu");
  const tierOf = machine.vertices.map(([, kind]) => (kind === "memory" && !hasGpus ? 3 : (TIERS[kind] ?? 3)));
  const base = tierOf.includes(4) ? 4 : tierOf.includes(2) ? 2 : tierOf[0];
  const used = [...new Set(tierOf)].sort((a, b) => a - b);
  const byTier = used.map((tier) => machine.vertices.flatMap((_, vertex) => (tierOf[vertex] === tier ? [vertex] : [])));
  const widest = Math.max(...byTier.map((vertices) => vertices.length));
  const gap = Math.max(BOX.w * 0.45, Math.min(96, (width - BOX.w) / Math.max(1, widest)));
  const boxWidth = Math.min(BOX.w, gap - 6);
  const near = neighbours(machine);
  const at: number[] = machine.vertices.map(() => NaN);
  const baseVertices = byTier[used.indexOf(base)];
  baseVertices.forEach((vertex, index) => (at[vertex] = index * gap));
  const order = [...used].sort((a, b) => Math.abs(a - base) - Math.abs(b - base));
  for (const tier of order) {
    if (tier === base) continue;
    const middle = ((baseVertices.length - 1) * gap) / 2;
    const wanted = byTier[used.indexOf(tier)].map((vertex) => {
      const known = near[vertex].map((other) => at[other]).filter((place) => !Number.isNaN(place));
      return { vertex, at: known.length ? known.reduce((sum, place) => sum + place, 0) / known.length : middle };
    });
    for (const [vertex, place] of spread(wanted, gap)) at[vertex] = place;
  }
  const low = Math.min(...at);
  const high = Math.max(...at);
  const shift = (width - (high - low)) / 2 - low;
  const places = machine.vertices.map((_, vertex) => ({
    x: at[vertex] + shift - boxWidth / 2,
    y: used.indexOf(tierOf[vertex]) * TIER_HEIGHT + 8,
    w: boxWidth,
    h: BOX.h,
  }));
  // Links between GPUs bow below them.
  const bows = machine.links.some(([from, to]) => tierOf[from] === tierOf[to]);
  return { places, width, height: (used.length - 1) * TIER_HEIGHT + BOX.h + 16 + (bows ? 64 : 0) };
}

export interface NetworkLayout {
  places: Placed[];
  height: number;
}

// How far a box is from the machines, over wires: switches nearer to them stand lower.
function distances(topology: TopologyData): number[] {
  const far = topology.boxes.map((box) => (box.is_machine ? 0 : Infinity));
  for (let changed = true; changed; ) {
    changed = false;
    for (const [a, b] of topology.wires)
      for (const [from, to] of [
        [a, b],
        [b, a],
      ])
        if (far[from] + 1 < far[to]) {
          far[to] = far[from] + 1;
          changed = true;
        }
  }
  return far.map((one) => (Number.isFinite(one) ? one : 0));
}

// Machines that are wired to each other stand on a circle, others under their switches.
export function layOutNetwork(topology: TopologyData, width: number): NetworkLayout {
  const far = distances(topology);
  const top = Math.max(...far);
  if (top === 0) return onCircle(topology, width);
  const places: Placed[] = new Array(topology.boxes.length);
  for (let tier = 0; tier <= top; tier++) {
    const boxes = topology.boxes.flatMap((_, box) => (far[box] === tier ? [box] : []));
    const gap = width / boxes.length;
    const w = Math.max(8, Math.min(110, gap - 8));
    boxes.forEach((box, index) => {
      places[box] = { x: gap * (index + 0.5) - w / 2, y: (top - tier) * 84 + 8, w, h: 28 };
    });
  }
  return { places, height: top * 84 + 48 };
}

function onCircle(topology: TopologyData, width: number): NetworkLayout {
  const count = topology.boxes.length;
  const w = Math.max(16, Math.min(80, (Math.PI * (width - 100)) / count - 8));
  const radius = Math.min(width / 2 - w, 40 + count * 12);
  const height = 2 * Math.min(radius, 190) + 60;
  const places = topology.boxes.map((_, index) => {
    const angle = (2 * Math.PI * index) / count - Math.PI / 2;
    return {
      x: width / 2 + radius * Math.cos(angle) - w / 2,
      y: height / 2 + Math.min(radius, 190) * Math.sin(angle) - 12,
      w,
      h: 24,
    };
  });
  return { places, height };
}
