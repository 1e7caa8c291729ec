/** What the table of view options says, by type and by value. */
import { VIEW_OPTIONS, type ViewOptions } from "./viewOptions";

type Table = typeof VIEW_OPTIONS;
type Name = keyof Table;

/** Options that are part of a ViewSpec, options of the request beside it, and options that the viewer's address holds. */
export type SpecOption = { [K in Name]: Table[K]["goes"] extends "spec" ? K : never }[Name];
export type RequestOption = Exclude<Name, SpecOption>;
export type AddressOption = { [K in Name]: Table[K]["url"] extends "" ? never : K }[Name];

export const OPTION_NAMES = Object.keys(VIEW_OPTIONS) as readonly Name[];
export const SPEC_OPTIONS = OPTION_NAMES.filter((name) => VIEW_OPTIONS[name].goes === "spec") as readonly SpecOption[];
export const ADDRESS_OPTIONS = OPTION_NAMES.filter((name) => VIEW_OPTIONS[name].url !== "") as readonly AddressOption[];

export const DEFAULTS = Object.fromEntries(OPTION_NAMES.map((name) => [name, VIEW_OPTIONS[name].default])) as unknown as ViewOptions;

/** What was given, and the default of everything that was not. */
export function withDefaults(given: Partial<ViewOptions>): ViewOptions {
  return {
    ...DEFAULTS,
    ...Object.fromEntries(OPTION_NAMES.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])),
  };
}

/** Does an option say something else than its default? */
export function isChosen(options: Partial<ViewOptions>, name: Name): boolean {
  return JSON.stringify(options[name] ?? DEFAULTS[name]) !== JSON.stringify(DEFAULTS[name]);
}
