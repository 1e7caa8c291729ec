/** The table of view options, as types and values. */
import { VIEW_OPTIONS, type ViewOptions } from "./viewOptions";

type Table = typeof VIEW_OPTIONS;
type Name = keyof Table;

/** Options that are part of a ViewSpec, other options of a request, and options that are in the viewer's address. */
export type SpecOption = { [K in Name]: Table[K]["goes"] extends "spec" ? K : never }[Name];
export type RequestOption = Exclude<Name, SpecOption>;
export type AddressOption = { [K in Name]: Table[K]["url"] extends "" ? never : K }[Name];

export const OPTION_NAMES = Object.keys(VIEW_OPTIONS) as readonly Name[];
export const SPEC_OPTIONS = OPTION_NAMES.filter((name) => VIEW_OPTIONS[name].goes === "spec") as readonly SpecOption[];
export const ADDRESS_OPTIONS = OPTION_NAMES.filter((name) => VIEW_OPTIONS[name].url !== "") as readonly AddressOption[];

export const DEFAULTS = Object.fromEntries(OPTION_NAMES.map((name) => [name, VIEW_OPTIONS[name].default])) as unknown as ViewOptions;

/** The options with defaults for those that are absent. */
export function withDefaults(options: Partial<ViewOptions>): ViewOptions {
  return {
    ...DEFAULTS,
    ...Object.fromEntries(OPTION_NAMES.filter((name) => options[name] !== undefined).map((name) => [name, options[name]])),
  };
}

/** Does an option differ from its default? */
export function isChosen(options: Partial<ViewOptions>, name: Name): boolean {
  return JSON.stringify(options[name] ?? DEFAULTS[name]) !== JSON.stringify(DEFAULTS[name]);
}
