/**
 * Colours: one quiet background, thin grey lines, and colour only where it has a meaning. Borders of the categories can be
 * distinguished with normal vision, with deuteranopia and with protanopia, and so can the marks of what a pass did, which also have a
 * sign. All text meets WCAG AA on every fill, and every line has a contrast of 3 (test/scene/theme.test.ts computes all of it).
 */
import type { Shade } from "../base/colour";
import { CATEGORIES, type Category } from "../program/types";
import type { ViewOptions } from "../program/viewOptions";

export interface Paint {
  readonly fill: string;
  readonly stroke: string;
  /** Small text on this fill, if that of the theme would be too faint. */
  readonly secondary?: string;
}

export interface Theme {
  readonly name: "light" | "dark";
  readonly background: string;
  /** The background of a file; empty: none. */
  readonly paper: string;
  readonly panel: string;
  readonly text: string;
  readonly secondary: string;
  /** Controls and counts of repeats. */
  readonly accent: string;
  /** What a person chose or points at: ink, which is not a colour of a category or of a change. */
  readonly selection: string;
  /** What a search matches. It is dashed, too. */
  readonly match: string;
  /** Hairlines of panels. */
  readonly line: string;
  readonly edge: string;
  /** Control edges. */
  readonly faintEdge: string;
  /** Links: relations that are not data flow; dashed, so that they do not compete with it. */
  readonly linkEdge: string;
  /** Frames by nesting depth, taken in turn; the border is the same for all. */
  readonly frames: readonly string[];
  readonly frameStroke: string;
  /** Inlined operands inside a box. */
  readonly pill: Paint;
  /** Categories, then the rows named by the PAINT_ constants of types.ts. */
  readonly paints: readonly Paint[];
}

const paint = (fill: string, stroke: string, secondary?: string): Paint => ({ fill, stroke, ...(secondary ? { secondary } : {}) });

const LIGHT: Record<Category, Paint> = {
  other: paint("#F3F3F4", "#545157"),
  elementwise: paint("#EAF5EE", "#099F5B"),
  matmul: paint("#E8EEFC", "#4C6FD9"),
  reduce: paint("#FBF0E3", "#CB7500"),
  shape: paint("#F1F1F4", "#92919C"),
  communication: paint("#F9ECF4", "#C53D94"),
  control: paint("#F5ECF8", "#8014A5"),
  data: paint("#E9F5FB", "#249BDB"),
  parameter: paint("#FFFFFF", "#A3A3AE"),
  constant: paint("#FFFFFF", "#A3A3AE"),
  custom: paint("#F4F2E6", "#796609"),
  output: paint("#E6F6F6", "#247870"),
  random: paint("#F6EEEB", "#832E0B"),
  function: paint("#F1F1F4", "#92919C"),
  leaf: paint("#E8EEFC", "#4C6FD9"),
  saved: paint("#FBF0E3", "#CB7500"),
  base: paint("#A9D17A", "#15300A", "#3F4733"),
  cut: paint("#FCEDEC", "#D1344B"),
  result: paint("#E1F5C4", "#387010"),
};

const DARK: Record<Category, Paint> = {
  other: paint("#2E2E31", "#C2BBB8"),
  elementwise: paint("#1F3026", "#5BA95F"),
  matmul: paint("#222B45", "#7D9BF0"),
  reduce: paint("#382B19", "#F5AF24"),
  shape: paint("#2B2B31", "#9796A4"),
  communication: paint("#351F2F", "#B4528C"),
  control: paint("#2B2142", "#8758D7"),
  data: paint("#19323F", "#49CEFF"),
  parameter: paint("#1D1D22", "#71717D"),
  constant: paint("#1D1D22", "#71717D"),
  custom: paint("#2E2F27", "#E0E497"),
  output: paint("#1E3637", "#7FF5F1"),
  random: paint("#371E16", "#C0420F"),
  function: paint("#2B2B31", "#9796A4"),
  leaf: paint("#222B45", "#7D9BF0"),
  saved: paint("#382B19", "#F5AF24"),
  base: paint("#1B2A0E", "#4F7A2E"),
  cut: paint("#3A1F1F", "#FF7F6E"),
  result: paint("#3B5222", "#B7F0A0", "#C2CCB4"),
};

const LIGHT_HEAT = ["#F4F6FA", "#E9EEF7", "#DCE6F3", "#E7EAD9", "#F6EDC4", "#FBE3AC", "#FCD39A", "#FBC08C", "#F9AC82", "#F59A7C"];
const DARK_HEAT = ["#1C1D22", "#1D2430", "#1D2C3E", "#262F33", "#3A331F", "#4A371B", "#583719", "#65341A", "#72301C", "#7E2B20"];

/** The heat scale by step, for both themes. */
export const HEAT: readonly Shade[] = LIGHT_HEAT.map((light, i) => ({ light, dark: DARK_HEAT[i] }));

/** The shade of a part of the whole, from 0 to 1. */
export const heatOf = (part: number): Shade => HEAT[Math.min(HEAT.length - 1, Math.floor(part * HEAT.length))];

const MORE: readonly Shade[] = [
  { light: "#FBEFE6", dark: "#2A2019" },
  { light: "#FBDCC4", dark: "#44291A" },
  { light: "#F9C39F", dark: "#5E301B" },
  { light: "#F5A67D", dark: "#78361D" },
  { light: "#EE8A62", dark: "#93401F" },
];
const LESS: readonly Shade[] = [
  { light: "#E6F3F3", dark: "#172427" },
  { light: "#CBE7E8", dark: "#17323A" },
  { light: "#A9D8DB", dark: "#17414C" },
  { light: "#83C6CC", dark: "#17515F" },
  { light: "#5CB2BB", dark: "#186274" },
];

/** The scales of a change: what got more, which is usually worse, and what got less. */
export const CHANGES = { more: MORE, less: LESS };

/** The shade of a cell that has this part of everything; of a change, with its sign. Half of the shades are for less than a quarter. */
export function partShade(part: number, isChange: boolean): Shade {
  const strength = Math.sqrt(Math.abs(part));
  if (!isChange) return heatOf(strength);
  const shades = part < 0 ? LESS : MORE;
  return shades[Math.min(shades.length - 1, Math.floor(strength * shades.length))];
}

const rows = (by: Record<Category, Paint>) => CATEGORIES.map((category) => by[category]);

export const THEMES: Record<"light" | "dark", Theme> = {
  light: {
    name: "light",
    background: "#FCFCFD",
    paper: "#FCFCFD",
    panel: "#FFFFFF",
    text: "#1D1D22",
    secondary: "#6B6B78",
    accent: "#4C6FD9",
    selection: "#000000",
    match: "#E800E8",
    line: "#E4E4EA",
    edge: "#80808C",
    faintEdge: "#8A8A96",
    linkEdge: "#8C8C97",
    frames: ["#F5F6FA", "#FBFBFD"],
    frameStroke: "#B4B6C6",
    pill: paint("#FFFFFF", "#D3D3DB"),
    paints: [
      ...rows(LIGHT),
      paint("#FFFFFF", "#C6C7D1"),
      paint("#FFFFFF", "#B4B4BE"),
      paint("#ECECF1", "#B4B4BE", "#5F5F6B"),
      paint("#E8F1FD", "#1D5FC4"),
      paint("#FDEEE3", "#C4560A"),
      paint("#F0EDF3", "#5B5560"),
      paint("#F7F7F9", "#CDCDD5"),
    ],
  },
  dark: {
    name: "dark",
    background: "#131316",
    paper: "#131316",
    panel: "#1A1A1F",
    text: "#E9E9EE",
    secondary: "#A3A3AF",
    accent: "#7D9BF0",
    selection: "#FFFFFF",
    match: "#FF00FF",
    line: "#2B2B32",
    edge: "#7A7A87",
    faintEdge: "#72727E",
    linkEdge: "#6E6E7A",
    frames: ["#1A1B20", "#212228"],
    frameStroke: "#565762",
    pill: paint("#17171B", "#4A4A54"),
    paints: [
      ...rows(DARK),
      paint("#1D1D22", "#4A4B56"),
      paint("#1D1D22", "#5C5C67"),
      paint("#303038", "#5C5C67"),
      paint("#182A45", "#6FA8FF"),
      paint("#3B2413", "#FF9A4D"),
      paint("#35323A", "#D6D0DC"),
      paint("#1B1B20", "#3C3C45"),
    ],
  },
};

/** A theme on white paper, or on none. */
export function onPaper(theme: Theme, background: ViewOptions["background"] | undefined): Theme {
  if (background === "white") return { ...theme, background: "#FFFFFF", paper: "#FFFFFF" };
  return background === "transparent" ? { ...theme, paper: "" } : theme;
}
