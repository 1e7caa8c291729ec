/** The state as the part of a URL after "#", and back. Short names, only what differs from the default; what is invalid is ignored. */
import { ADDRESS_OPTIONS, type AddressOption } from "../../core/program/options";
import { VIEW_OPTIONS } from "../../core/program/viewOptions";
import { PANELS } from "./panels";
import { START, type ViewState } from "./view";

interface Field<T> {
  write(value: T): string;
  read(text: string): T | undefined;
}

const word: Field<string> = { write: (value) => value, read: (text) => text };
const flag: Field<boolean> = { write: (value) => (value ? "1" : "0"), read: (text) => text === "1" };
const count: Field<number> = { write: String, read: (text) => (/^-?\d{1,6}$/.test(text) ? Number(text) : undefined) };
const words: Field<readonly string[]> = { write: (value) => JSON.stringify(value), read: (text) => texts(parse(text)) };
const pair: Field<readonly string[]> = {
  write: words.write,
  read: (text) => {
    const both = words.read(text);
    return both?.length === 2 ? both : undefined;
  },
};

function oneOf<T extends string>(choices: readonly T[]): Field<T> {
  return { write: (value) => value, read: (text) => choices.find((choice) => choice === text) };
}

const moment = oneOf(VIEW_OPTIONS.diff.choices);
const OF_KIND = { flag, switch: flag, integer: count, text: word, texts: words, pair };

/** How a view option is written; an undecided one is empty. */
function option(name: AddressOption): readonly [string, Field<unknown>] {
  const row = VIEW_OPTIONS[name];
  const field = (row.kind === "choice" ? oneOf<string>(row.choices) : OF_KIND[row.kind]) as Field<unknown>;
  return [
    row.url,
    { write: (value) => (value === undefined ? "" : field.write(value)), read: (text) => (text ? field.read(text) : undefined) },
  ];
}

const places: Field<ViewState["panes"]> = {
  write: (value) => JSON.stringify(value.map((pane) => [pane.source, pane.pass, pane.passMode, ...(pane.linked ? ["linked"] : [])])),
  read: (text) => {
    const listed = parse(text);
    return Array.isArray(listed) ? listed.flatMap(place) : undefined;
  },
};

function place(listed: unknown): ViewState["panes"] {
  const [source, pass, mode, linked] = Array.isArray(listed) ? (listed as unknown[]) : [];
  const passMode = moment.read(String(mode));
  const [at, number] = [count.read(String(source)), count.read(String(pass))];
  return at === undefined || number === undefined || !passMode ? [] : [{ source: at, pass: number, passMode, linked: linked === "linked" }];
}

/** The middle of the screen and the scale. */
const lookedAt: Field<ViewState["camera"]> = {
  write: (value) => (value ? `${value.x}_${value.y}_${value.scale}` : ""),
  read: (text) => {
    const [x, y, scale, ...more] = text.split("_").map((part) => (part.trim() ? Number(part) : Number.NaN));
    return more.length === 0 && Number.isFinite(x) && Number.isFinite(y) && scale > 0 && Number.isFinite(scale)
      ? { x, y, scale }
      : undefined;
  },
};

const panels: Field<ViewState["panels"]> = {
  write: (value) => (value ? value.join("_") || "none" : ""),
  read: (text) => {
    const names = PANELS.filter((name) => text.split("_").includes(name));
    return names.length || text === "none" ? names : undefined;
  },
};

/** State that is not a view option. */
const PAGE: { readonly [K in Exclude<keyof ViewState, AddressOption>]: readonly [string, Field<ViewState[K]>] } = {
  source: ["s", count],
  trail: ["via", words],
  open: ["o", words],
  closed: ["c", words],
  unfolded: ["u", words],
  columns: ["cols", count],
  query: ["q", word],
  matchesOnly: ["only", count],
  also: ["also", words],
  selection: ["sel", words],
  upstream: ["up", count],
  downstream: ["down", count],
  related: ["rel", flag],
  pass: ["pass", count],
  passColours: ["changes", flag],
  camera: ["at", lookedAt],
  panes: ["panes", places],
  panels: ["panels", panels],
  step: ["step", count],
};

const FIELDS = {
  ...Object.fromEntries(ADDRESS_OPTIONS.map((name) => [name, option(name)])),
  ...PAGE,
} as unknown as { readonly [K in keyof ViewState]: readonly [string, Field<ViewState[K]>] };

export function toHash(view: ViewState): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(FIELDS) as (keyof ViewState)[]) put(parameters, view, name);
  return parameters.toString();
}

function put<K extends keyof ViewState>(parameters: URLSearchParams, view: ViewState, name: K): void {
  const [short, field] = FIELDS[name];
  const text = field.write(view[name]);
  if (text !== field.write(START[name])) parameters.set(short, text);
}

export function fromHash(hash: string): ViewState {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const view: Record<string, unknown> = { ...START };
  for (const [name, [short, field]] of Object.entries(FIELDS)) {
    const text = parameters.get(short);
    const value = text === null ? undefined : (field as Field<unknown>).read(text);
    if (value !== undefined) view[name] = value;
  }
  return view as unknown as ViewState;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function texts(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
}
