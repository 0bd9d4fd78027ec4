// Colours live in style.css as variables, so that both themes have their own; SVG names them, the canvas asks.

export function color(name: string): string {
  return `var(--${name})`;
}

export function computedColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// In the order in which bars stack them.
export const PARTS = [
  "compute",
  "recompute",
  "update",
  "exposed_communication",
  "server_wait",
  "bubble",
  "imbalance",
  "input_wait",
  "host",
  "idle",
];

export const MEMORY_PARTS = [
  "parameters",
  "gradients",
  "optimizer",
  "buffers",
  "versions",
  "activations",
  "workspace",
];

export function partColor(part: string): string {
  return color(`part-${part.replace(/_/g, "-")}`);
}

export function memoryColor(part: string): string {
  return color(`memory-${part}`);
}

// How busy a link is, in five steps; the legend names them.
export const BUSY_STEPS = [0, 10, 30, 60, 85];

export function busyColor(percent: number): string {
  const step = BUSY_STEPS.reduce((found, from, index) => (percent >= from ? index : found), 0);
  return color(`busy-${step}`);
}
