/** The panels around the graph. */
export const PANELS = ["outline", "details", "table", "passes", "styles"] as const;

export type PanelName = (typeof PANELS)[number];
