// Sections and figures: a heading, a sentence that says what one sees, the drawing, and the same as a table.
import { append, Child, clear, h } from "./dom";

export interface Section {
  id: string;
  title: string;
  element: HTMLElement;
}

export function section(id: string, title: string, ...children: Child[]): Section {
  const heading = h("h2", { id: `${id}-heading` }, title);
  const element = h("section", { id, "aria-labelledby": `${id}-heading` }, heading);
  append(element, children);
  return { id, title, element };
}

export function note(text: string): HTMLElement | null {
  return text ? h("p", { class: "note" }, text) : null;
}

export function caption(text: string): HTMLElement {
  return h("p", { class: "caption" }, text);
}

export function asTable(content: HTMLElement, title = "The same as a table"): HTMLElement {
  return h("details", { class: "alternative" }, h("summary", {}, title), content);
}

export interface LegendEntry {
  name: string;
  color: string;
  shape?: "line" | "dash" | "box";
}

export function legend(entries: LegendEntry[]): HTMLElement {
  const list = h("ul", { class: "legend", "aria-hidden": "true" });
  for (const entry of entries) {
    const swatch = h("span", { class: `swatch ${entry.shape ?? "box"}` });
    swatch.style.setProperty("--swatch", entry.color);
    list.appendChild(h("li", {}, swatch, entry.name));
  }
  return list;
}

const drawings = new Set<() => void>();
let forcedWidth = 0;

// Draws now and whenever the width changes; `draw` gets the width in CSS pixels.
export function responsive(draw: (width: number) => Element): HTMLElement {
  const holder = h("div", { class: "drawing" });
  let last = 0;
  const redraw = (force: boolean) => {
    const width = forcedWidth || Math.floor(holder.clientWidth);
    if (width < 40 || (width === last && !force)) return;
    last = width;
    clear(holder);
    holder.appendChild(draw(width));
  };
  new ResizeObserver(() => redraw(false)).observe(holder);
  drawings.add(() => holder.isConnected && redraw(true));
  return holder;
}

// Everything once more: the theme changed, or the paper has another width (0: as wide as it is).
export function redrawAll(width = 0): void {
  forcedWidth = width;
  for (const draw of drawings) draw();
}

export function forgetDrawings(): void {
  drawings.clear();
}

// For drawings that take care of their own size, such as the timeline's canvas.
export function onRedraw(draw: () => void): void {
  drawings.add(draw);
}

export function printWidth(): number {
  return forcedWidth;
}
