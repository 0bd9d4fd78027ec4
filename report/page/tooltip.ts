// One tooltip for the page. What it says is also in tables, so it is decoration for assistive technology.
import { clear, h } from "./dom";

let box: HTMLElement | null = null;

function element(): HTMLElement {
  if (!box) {
    box = h("div", { class: "tooltip", "aria-hidden": "true", hidden: true });
    document.body.appendChild(box);
  }
  return box;
}

export interface Tip {
  title: string;
  rows: [string, string][];
}

export function showTip(tip: Tip, x: number, y: number): void {
  const shown = element();
  clear(shown);
  shown.appendChild(h("strong", {}, tip.title));
  const list = h("dl");
  for (const [name, value] of tip.rows) list.append(h("dt", {}, name), h("dd", {}, value));
  shown.appendChild(list);
  shown.hidden = false;
  const size = shown.getBoundingClientRect();
  const room = document.documentElement.getBoundingClientRect();
  const left = x + 14 + size.width > window.innerWidth ? x - 14 - size.width : x + 14;
  const top = y + 14 + size.height > window.innerHeight ? y - 14 - size.height : y + 14;
  shown.style.left = `${Math.max(4, left) - room.left}px`;
  shown.style.top = `${Math.max(4, top) - room.top}px`;
}

export function hideTip(): void {
  if (box) box.hidden = true;
}

// The tip follows the pointer over an element, and shows while the element has focus.
export function tipOn(target: Element, tip: () => Tip): void {
  const at = (event: Event) => {
    const pointer = event as PointerEvent;
    showTip(tip(), pointer.clientX, pointer.clientY);
  };
  target.addEventListener("pointerenter", at);
  target.addEventListener("pointermove", at);
  target.addEventListener("pointerleave", hideTip);
  target.addEventListener("focus", () => {
    const place = target.getBoundingClientRect();
    showTip(tip(), place.right, place.bottom);
  });
  target.addEventListener("blur", hideTip);
}
