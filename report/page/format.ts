// Numbers for people: three significant figures and the unit that keeps them short.
import { Maybe } from "./data";

export const NONE = "–";

function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return value.toFixed(0);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1 || size === 0) return size === 0 ? "0" : value.toFixed(2);
  return Number(value.toPrecision(3)).toString();
}

function scaled(value: number, units: [number, string][]): string {
  const size = Math.abs(value);
  for (const [factor, unit] of units)
    if (Number(three(size / factor)) >= 1) return `${three(value / factor)} ${unit}`;
  const [factor, unit] = units[units.length - 1];
  return `${three(value / factor)} ${unit}`;
}

const TIMES: [number, string][] = [
  [3600, "h"],
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

export function seconds(value: Maybe): string {
  if (value === null || value === undefined) return NONE;
  if (value === 0) return "0 s";
  const size = Math.abs(value);
  // Between a minute and some hours people count in minutes.
  if (size >= 120 && size < 7200) return `${three(value / 60)} min`;
  return scaled(value, size < 3600 ? TIMES.slice(1) : TIMES);
}

export function nanoseconds(value: number): string {
  return seconds(value / 1e9);
}

// Ticks of an axis share their unit.
export function timeTick(step: number): (ns: number) => string {
  const [factor, unit] = TIMES.slice(1).find(([size]) => step >= size * 1e9 * 0.999) ?? [1e-9, "ns"];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / (factor * 1e9)) + 1e-9));
  return (ns) => `${(ns / (factor * 1e9)).toFixed(Math.min(3, decimals))} ${unit}`;
}

export function bytes(value: Maybe): string {
  if (value === null || value === undefined) return NONE;
  if (value === 0) return "0 B";
  return scaled(value, [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "B"],
  ]);
}

export function count(value: Maybe): string {
  if (value === null || value === undefined) return NONE;
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return three(value);
}

export function whole(value: Maybe): string {
  return value === null || value === undefined ? NONE : Math.round(value).toLocaleString("en-US");
}

export function percent(value: Maybe, digits = 1): string {
  return value === null || value === undefined ? NONE : `${value.toFixed(digits)} %`;
}

export function signedPercent(value: Maybe): string {
  if (value === null || value === undefined) return NONE;
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(1)} %`;
}

export function signedSeconds(value: Maybe): string {
  if (value === null || value === undefined) return NONE;
  return value === 0 ? "0 s" : `${value > 0 ? "+" : "−"}${seconds(Math.abs(value))}`;
}

export function flops(value: number): string {
  return scaled(value, [
    [1e15, "PFLOP"],
    [1e12, "TFLOP"],
    [1e9, "GFLOP"],
    [1e6, "MFLOP"],
    [1, "FLOP"],
  ]);
}

export function gigabytesPerSecond(value: Maybe): string {
  return value === null || value === undefined ? NONE : `${three(value)} GB/s`;
}

// "exposed_communication" as people say it.
export function words(key: string): string {
  return key.replace(/_/g, " ");
}

export function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// "gpu0 … gpu7" of neighbours that are alike.
export function fromTo(first: string, last: string, many: number): string {
  return many === 1 ? first : many === 2 ? `${first}, ${last}` : `${first} … ${last} (${many})`;
}
