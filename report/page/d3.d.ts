// What we use of d3, as Debian's packages have it without types.
declare module "d3-scale" {
  export interface ContinuousScale {
    (value: number): number;
    domain(): number[];
    domain(values: number[]): this;
    range(): number[];
    range(values: number[]): this;
    invert(value: number): number;
    ticks(count?: number): number[];
    nice(count?: number): this;
  }
  export interface LogScale extends ContinuousScale {
    base(value: number): this;
  }
  export function scaleLinear(): ContinuousScale;
  export function scaleLog(): LogScale;
}

declare module "d3-shape" {
  export interface Curve {
    readonly _curve: never;
  }
  export const curveLinear: Curve;
  export const curveMonotoneX: Curve;
  export const curveStepAfter: Curve;
  export interface Line<T> {
    (points: T[]): string | null;
    x(value: (point: T) => number): this;
    y(value: (point: T) => number): this;
    curve(curve: Curve): this;
    defined(value: (point: T) => boolean): this;
  }
  export function line<T>(): Line<T>;
  export interface Area<T> {
    (points: T[]): string | null;
    x(value: (point: T) => number): this;
    y0(value: (point: T) => number): this;
    y1(value: (point: T) => number): this;
    curve(curve: Curve): this;
  }
  export function area<T>(): Area<T>;
  export type StackRow = [number, number][] & { key: string };
  export interface Stack<T> {
    (rows: T[]): StackRow[];
    keys(keys: string[]): this;
    value(value: (row: T, key: string) => number): this;
  }
  export function stack<T>(): Stack<T>;
}
