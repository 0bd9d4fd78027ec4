// Of `twinrun serve`: sliders that simulate again. The last setting wins; older requests are given up.
import { Controls, PageData } from "./data";
import { h } from "./dom";
import { gigabytesPerSecond, whole } from "./format";

const PAUSE_MS = 150;

function slider(
  name: string,
  values: number[],
  now: number,
  text: (value: number) => string,
  onInput: (value: number) => void,
): HTMLElement {
  const at = Math.max(0, values.indexOf(now));
  const shown = h("output", {}, text(values[at]));
  const input = h("input", {
    type: "range",
    min: 0,
    max: values.length - 1,
    step: 1,
    value: at,
    "aria-valuetext": text(values[at]),
    "data-control": name.toLowerCase(),
  });
  input.addEventListener("input", () => {
    const value = values[Number(input.value)];
    shown.textContent = text(value);
    input.setAttribute("aria-valuetext", text(value));
    onInput(value);
  });
  return h("label", { class: "slider" }, h("span", {}, name), input, shown);
}

export class ControlPanel {
  readonly element: HTMLElement;
  private readonly settings: Record<string, string>;
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly job = h("a", { download: "job.json" }, "job.json");
  private running: AbortController | null = null;
  private timer = 0;

  constructor(
    controls: Controls,
    private readonly onData: (data: PageData) => void,
  ) {
    this.settings = {
      batch: String(controls.batch.now),
      devices: String(controls.devices.now),
      bandwidth: String(controls.bandwidth.now),
      strategy: controls.strategy.now,
    };
    const strategy = h("select", { "data-control": "strategy" });
    for (const name of controls.strategy.values)
      strategy.appendChild(h("option", { value: name, selected: name === controls.strategy.now }, name.replace(/_/g, " ")));
    strategy.addEventListener("change", () => this.set("strategy", strategy.value));
    this.linkJob();
    const rate = controls.bandwidth.gigabytes_per_s;
    this.element = h(
      "form",
      { class: "controls", "aria-label": "What if" },
      h("h2", {}, "What if"),
      h(
        "div",
        { class: "sliders" },
        slider("Batch", controls.batch.values, controls.batch.now, (value) => `${whole(value)} a replica`, (value) =>
          this.set("batch", String(value)),
        ),
        slider("Devices", controls.devices.values, controls.devices.now, whole, (value) => this.set("devices", String(value))),
        slider(
          "Bandwidth",
          controls.bandwidth.values,
          controls.bandwidth.now,
          (value) => `${gigabytesPerSecond(value * rate)} (× ${Number(value.toPrecision(3))})`,
          (value) => this.set("bandwidth", String(value)),
        ),
        h("label", { class: "slider" }, h("span", {}, "Strategy"), strategy),
      ),
      h(
        "p",
        { class: "hint" },
        `${controls.bandwidth.what} The same on the command line: twinrun simulate `,
        this.job,
      ),
      this.status,
    );
    this.element.addEventListener("submit", (event) => event.preventDefault());
  }

  private linkJob(): void {
    this.job.href = `job?${new URLSearchParams(this.settings)}`;
  }

  private set(name: string, value: string): void {
    this.settings[name] = value;
    this.linkJob();
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.simulate(), PAUSE_MS);
  }

  private async simulate(): Promise<void> {
    this.running?.abort();
    const mine = new AbortController();
    this.running = mine;
    this.say("simulating …", true);
    try {
      const answer = await fetch(`simulate?${new URLSearchParams(this.settings)}`, { signal: mine.signal });
      const body = (await answer.json()) as PageData & { error?: string };
      if (mine.signal.aborted) return;
      if (!answer.ok || body.error) {
        this.say(body.error ?? `the server answered ${answer.status}`, false);
        return;
      }
      this.onData(body);
      this.say("", false);
    } catch (error) {
      if (!mine.signal.aborted) this.say(`no answer: ${String(error)}`, false);
    }
  }

  private say(text: string, busy: boolean): void {
    this.status.textContent = text;
    this.element.classList.toggle("busy", busy);
    this.element.dataset["state"] = busy ? "busy" : "ready";
  }
}
