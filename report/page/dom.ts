// Elements without a framework: h() for HTML, s() for SVG. Text is always text, never markup.

export type Child = Node | string | null | undefined;
type Value = string | number | boolean | null | undefined;
export type Attributes = Record<string, Value>;

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined) continue;
    parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function clear(element: Element): void {
  while (element.firstChild) element.removeChild(element.firstChild);
}

export interface Column<Row> {
  title: string;
  text: (row: Row) => string;
  number?: boolean; // right-aligned
}

export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[]): HTMLElement {
  const head = h("tr");
  for (const column of columns)
    head.appendChild(h("th", { scope: "col", class: column.number ? "number" : null }, column.title));
  const body = h("tbody");
  for (const row of rows) {
    const line = h("tr");
    columns.forEach((column, index) => {
      const attributes = { class: column.number ? "number" : null, scope: index ? null : "row" };
      line.appendChild(h(index ? "td" : "th", attributes, column.text(row)));
    });
    body.appendChild(line);
  }
  return h(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, head), body),
  );
}

export function choice(
  label: string,
  options: { value: string; text: string }[],
  now: string,
  onChange: (value: string) => void,
): HTMLElement {
  const select = h("select");
  for (const option of options)
    select.appendChild(
      h("option", { value: option.value, selected: option.value === now }, option.text),
    );
  select.addEventListener("change", () => onChange(select.value));
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

export function checkbox(
  label: string,
  checked: boolean,
  onChange: (checked: boolean) => void,
): HTMLElement {
  const input = h("input", { type: "checkbox", checked });
  input.addEventListener("change", () => onChange(input.checked));
  return h("label", { class: "check" }, input, h("span", {}, label));
}

export function button(label: string, title: string, onClick: () => void): HTMLButtonElement {
  const made = h("button", { type: "button", title, "aria-label": title }, label);
  made.addEventListener("click", onClick);
  return made;
}
