/** The panels around the graph. */
export const PANELS = [
  "outline",
  "details",
  "table",
  "memory",
  "cost",
  "roofline",
  "kernels",
  "listing",
  "source",
  "passes",
  "styles",
] as const;

export type PanelName = (typeof PANELS)[number];

/** Those that share the dock below the graph, of which one is open at a time. */
export const DOCK = ["table", "memory", "cost", "roofline", "kernels", "listing", "source"] as const satisfies readonly PanelName[];

export type DockPanel = (typeof DOCK)[number];

export function isDocked(name: PanelName): name is DockPanel {
  return (DOCK as readonly PanelName[]).includes(name);
}
