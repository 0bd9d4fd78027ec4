// The page: reads the data block and puts the sections together.
import { breakdownSection } from "./breakdown";
import { comparisonSection } from "./comparison";
import { ControlPanel } from "./controls";
import { answersSection, batchSection, scalingSection, serverOrRingSection } from "./curves";
import { PageData } from "./data";
import { clear, h } from "./dom";
import { forgetDrawings, redrawAll, Section } from "./figure";
import { memorySection } from "./memory";
import { overviewSection, subtitle } from "./overview";
import { pipelineSection } from "./pipeline";
import { sweepSection } from "./sweep";
import { collectivesSection, devicesSection, inputsSection, trainingSection } from "./tables";
import { timelineSection } from "./timeline";
import { topologySection } from "./topology";

const PAPER_WIDTH = 690; // px: A4 less its margins

function sectionsOf(data: PageData): Section[] {
  const made: (Section | null)[] = [
    ...data.sweeps.map(sweepSection),
    overviewSection(data.runs, data.comparison !== null),
    comparisonSection(data),
    breakdownSection(data.runs),
    timelineSection(data.runs),
    pipelineSection(data.runs),
    memorySection(data.runs),
    topologySection(data.runs),
    batchSection(data.curves),
    serverOrRingSection(data.curves),
    scalingSection(data.curves),
    trainingSection(data.runs),
    collectivesSection(data.runs),
    devicesSection(data.runs),
    answersSection(data.answers),
    inputsSection(data),
  ];
  return made.flatMap((one) => (one ? [one] : []));
}

function fillNavigation(sections: Section[]): void {
  const list = document.querySelector("nav ul");
  if (!list) return;
  clear(list);
  for (const one of sections) list.appendChild(h("li", {}, h("a", { href: `#${one.id}` }, one.title)));
}

function fillHeader(data: PageData): void {
  const set = (selector: string, text: string) => {
    const element = document.querySelector(selector);
    if (element) element.textContent = text;
  };
  set("#title", data.title);
  // A number and its unit stay on one line.
  set("#headline", data.headline.replace(/(\d) (%|[a-zµ]*s|[KMGT]?i?B|samples\/s)(?=[\s.,:;)]|$)/g, "$1\u00a0$2"));
  set("#subtitle", data.runs.map(subtitle).join("  |  "));
}

function render(data: PageData): void {
  const main = document.getElementById("sections");
  if (!main) return;
  const top = window.scrollY;
  forgetDrawings();
  clear(main);
  fillHeader(data);
  const sections = sectionsOf(data);
  for (const one of sections) main.appendChild(one.element);
  fillNavigation(sections);
  window.scrollTo(0, top);
  document.documentElement.dataset["ready"] = "yes";
}

// The page's head has set the theme to what the reader prefers; the button wins over that.
function listenToTheme(): void {
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  let chosen = false;
  const set = (dark: boolean) => {
    root.dataset["theme"] = dark ? "dark" : "light";
    toggle?.setAttribute("aria-pressed", String(dark));
    redrawAll();
  };
  toggle?.addEventListener("click", () => {
    chosen = true;
    set(root.dataset["theme"] !== "dark");
  });
  prefersDark.addEventListener("change", () => {
    if (!chosen) set(prefersDark.matches);
  });
  set(prefersDark.matches);
}

// Paper has its own width, and is white.
function listenToPrinting(): void {
  let theme: string | undefined;
  let printing = false;
  const begin = () => {
    if (printing) return;
    printing = true;
    theme = document.documentElement.dataset["theme"];
    document.documentElement.dataset["theme"] = "light";
    redrawAll(PAPER_WIDTH);
  };
  const end = () => {
    if (!printing) return;
    printing = false;
    document.documentElement.dataset["theme"] = theme ?? "light";
    redrawAll();
  };
  window.addEventListener("beforeprint", begin);
  window.addEventListener("afterprint", end);
  window.matchMedia("print").addEventListener("change", (event) => (event.matches ? begin() : end()));
}

// A setting of the sliders: its run, with the curves of the job as it was given.
function whatIf(given: PageData, changed: PageData): PageData {
  const note = "Curves and answers are those of the job as it was given, not of the sliders.";
  return {
    ...changed,
    title: given.title,
    made_by: given.made_by,
    curves: given.curves,
    answers: given.answers,
    notes: given.curves ? [note, ...given.notes] : given.notes,
  };
}

function start(): void {
  const block = document.getElementById("data");
  const data = JSON.parse(block?.textContent ?? "{}") as PageData;
  listenToTheme();
  listenToPrinting();
  if (data.controls) {
    const panel = new ControlPanel(data.controls, (changed) => render(whatIf(data, changed)));
    document.getElementById("controls")?.appendChild(panel.element);
  }
  render(data);
}

start();
