// The machines and the network as a graph, links coloured by how busy they were.
import { BUSY_STEPS, busyColor, color } from "./colors";
import { LinkRow, MachineDetail, Run, TopologyData } from "./data";
import { choice, clear, h, s, table } from "./dom";
import { asTable, caption, legend, note, responsive, section, Section } from "./figure";
import { bytes, gigabytesPerSecond, percent, whole } from "./format";
import { layOutMachine, layOutNetwork, Placed } from "./topology_layout";
import { tipOn } from "./tooltip";

function thickness(gigabytesPerSecondOfLink: number): number {
  return Math.max(1.5, Math.min(7, 1 + Math.log2(1 + gigabytesPerSecondOfLink) / 1.3));
}

function busyOf(link: LinkRow): number {
  return Math.max(link[6]?.[1] ?? 0, link[7]?.[1] ?? 0);
}

function middle(place: Placed): [number, number] {
  return [place.x + place.w / 2, place.y + place.h / 2];
}

// Straight between tiers; bowed between neighbours of one tier, the farther the deeper.
function pathBetween(a: Placed, b: Placed): string {
  const [ax, ay] = middle(a);
  const [bx, by] = middle(b);
  if (Math.abs(ay - by) > 1) return `M${ax},${ay}L${bx},${by}`;
  const depth = Math.min(70, 16 + Math.abs(ax - bx) * 0.17);
  const edge = Math.max(a.y + a.h, b.y + b.h);
  return `M${ax},${edge}C${ax},${edge + depth} ${bx},${edge + depth} ${bx},${edge}`;
}

function box(place: Placed, text: string, kind: string): SVGGElement {
  const room = Math.floor((place.w - 4) / 6.2);
  const short = text.length <= room ? text : text.replace(/^[a-z-]+/i, (word) => word.slice(0, Math.max(1, room - 3)));
  return s(
    "g",
    { class: `vertex ${kind}` },
    s("rect", { x: place.x, y: place.y, width: place.w, height: place.h, rx: 4 }),
    short.length <= room + 1
      ? s("text", { x: place.x + place.w / 2, y: place.y + place.h / 2 + 4, "text-anchor": "middle" }, short)
      : null,
  );
}

function linkTip(machine: MachineDetail, link: LinkRow, knowsUse: boolean) {
  const [from, to, kind, rate, latency, bonded, there, back] = link;
  const [a, b] = [machine.vertices[from][0], machine.vertices[to][0]];
  const rows: [string, string][] = [
    ["kind", bonded > 1 ? `${kind}, ${bonded} together` : kind],
    ["bandwidth", gigabytesPerSecond(rate)],
    ["latency", `${latency.toPrecision(3)} µs`],
  ];
  const use = (name: string, one: [number, number] | null) => {
    if (one && knowsUse) rows.push([name, `${bytes(one[0])}, ${percent(one[1])} busy`]);
  };
  use(`${a} → ${b}`, there);
  use(`${b} → ${a}`, back);
  return { title: `${a} — ${b}`, rows };
}

function drawMachine(machine: MachineDetail, knowsUse: boolean, width: number): Element {
  const layout = layOutMachine(machine, width);
  const svg = s("svg", { width, height: layout.height, class: "chart topology", role: "img" });
  svg.setAttribute("aria-label", `The inside of ${machine.name}: ${machine.vertices.length} parts, ${machine.links.length} links`);
  // The busiest on top.
  for (const link of [...machine.links].sort((a, b) => busyOf(a) - busyOf(b))) {
    const path = s("path", {
      d: pathBetween(layout.places[link[0]], layout.places[link[1]]),
      class: "link",
      style: `stroke: ${knowsUse ? busyColor(busyOf(link)) : color("muted")}; stroke-width: ${thickness(link[3])}`,
    });
    tipOn(path, () => linkTip(machine, link, knowsUse));
    svg.appendChild(path);
  }
  machine.vertices.forEach(([name, kind, device], index) => {
    const drawn = box(layout.places[index], name, kind);
    tipOn(drawn, () => ({ title: name, rows: [["kind", kind], ...(device ? [["device", device] as [string, string]] : [])] }));
    svg.appendChild(drawn);
  });
  return svg;
}

function drawNetwork(topology: TopologyData, width: number): Element {
  const layout = layOutNetwork(topology, width);
  const svg = s("svg", { width, height: layout.height, class: "chart topology", role: "img" });
  svg.setAttribute("aria-label", `The network: ${topology.machines} machines, ${topology.fabric}`);
  for (const wire of [...topology.wires].sort((a, b) => a[5] - b[5])) {
    const [a, b, links, rate, carried, busy] = wire;
    const path = s("path", {
      d: pathBetween(layout.places[a], layout.places[b]),
      class: "link",
      style: `stroke: ${topology.knows_use ? busyColor(busy) : color("muted")}; stroke-width: ${thickness(rate * links)}`,
    });
    tipOn(path, () => ({
      title: `${topology.boxes[a].name} — ${topology.boxes[b].name}`,
      rows: [
        ["links", `${links} of ${gigabytesPerSecond(rate)}`],
        ...(topology.knows_use
          ? ([
              ["carried", bytes(carried)],
              ["busiest of them", percent(busy)],
            ] as [string, string][])
          : []),
      ],
    }));
    svg.appendChild(path);
  }
  topology.boxes.forEach((one, index) =>
    svg.appendChild(
      box(layout.places[index], one.count > 1 ? `${one.name} × ${one.count}` : one.name, one.is_machine ? "machine" : "switch"),
    ),
  );
  return svg;
}

function busyLegend(): HTMLElement {
  return legend(
    BUSY_STEPS.map((from, index) => ({
      name: index === 0 ? "idle or hardly used" : `from ${from} %`,
      color: color(`busy-${index}`),
      shape: "line" as const,
    })),
  );
}

export function topologySection(runs: Run[]): Section | null {
  const run = runs.find((one) => one.topology?.knows_use && one.topology.links) ?? runs.find((one) => one.topology);
  const topology = run?.topology;
  if (!topology || !topology.details.length) return null;
  const inside = h("div");
  const show = (index: number) => {
    clear(inside);
    inside.appendChild(responsive((width) => drawMachine(topology.details[index], topology.knows_use, width)));
  };
  const busiest = topology.details.reduce(
    (best, one, index) => (one.busy_pct > topology.details[best].busy_pct ? index : best),
    0,
  );
  show(busiest);
  const names = topology.details.map((one, index) => ({ value: String(index), text: `${one.name} (${one.template})` }));
  return section(
    "topology",
    "Machines and links",
    caption(
      `${topology.name}${topology.description ? `: ${topology.description}` : ""}. ` +
        (topology.knows_use
          ? "Colour says how busy a link was over the whole run, the busier of both directions; width its bandwidth."
          : "What links carried is known of simulated runs only; width is bandwidth."),
    ),
    note(topology.left_out),
    topology.knows_use ? busyLegend() : null,
    topology.machines > 1 ? responsive((width) => drawNetwork(topology, width)) : null,
    names.length > 1 ? choice("Inside of", names, String(busiest), (value) => show(Number(value))) : null,
    inside,
    topology.busiest.length
      ? asTable(
          table(
            `The busiest of ${whole(topology.links)} links`,
            [
              { title: "link", text: (row) => row[0] },
              { title: "kind", text: (row) => row[1] },
              { title: "bandwidth", number: true, text: (row) => gigabytesPerSecond(row[2]) },
              { title: "carried", number: true, text: (row) => bytes(row[3]) },
              { title: "busy", number: true, text: (row) => percent(row[4]) },
            ],
            topology.busiest,
          ),
        )
      : null,
  );
}
