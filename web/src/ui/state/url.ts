/** The state as the part of a URL after "#", and back. Short names, only what differs from the start, and never an error for a strange one. */
import { START, type ViewState } from "./view";

interface Field<T> {
  write(value: T): string;
  read(text: string): T | undefined;
}

const word: Field<string> = { write: (value) => value, read: (text) => text };
const flag: Field<boolean> = { write: (value) => (value ? "1" : "0"), read: (text) => text === "1" };
const choice: Field<boolean | undefined> = {
  write: (value) => (value === undefined ? "" : flag.write(value)),
  read: (text) => (text ? flag.read(text) : undefined),
};
const count: Field<number> = { write: String, read: (text) => (/^-?\d{1,6}$/.test(text) ? Number(text) : undefined) };
const maybeCount: Field<number | undefined> = { write: (value) => String(value ?? ""), read: (text) => count.read(text) };
const words: Field<readonly string[]> = { write: (value) => JSON.stringify(value), read: (text) => texts(parse(text)) };
const pair: Field<readonly [string, string] | undefined> = {
  write: (value) => JSON.stringify(value ?? []),
  read: (text) => {
    const both = texts(parse(text));
    return both?.length === 2 ? [both[0], both[1]] : undefined;
  },
};
const nearby: Field<ViewState["around"]> = {
  write: (value) => JSON.stringify(value ? [value.hops, ...value.nodes, ...(value.also?.length ? [value.also] : [])] : []),
  read: (text) => {
    const [hops, ...nodes] = (parse(text) as unknown[] | undefined) ?? [];
    const also = texts(nodes.at(-1));
    const names = texts(also ? nodes.slice(0, -1) : nodes);
    return typeof hops === "number" && names?.length ? { hops, nodes: names, ...(also ? { also } : {}) } : undefined;
  },
};
const way: Field<"TB" | "LR"> = { write: (value) => value, read: (text) => (text === "LR" || text === "TB" ? text : undefined) };

const moment: Field<ViewState["passMode"]> = {
  write: (value) => value,
  read: (text) => (text === "before" || text === "after" || text === "overlay" ? text : undefined),
};

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

const FIELDS: { readonly [K in keyof ViewState]: readonly [string, Field<ViewState[K]>] } = {
  source: ["s", count],
  trail: ["g", words],
  grouping: ["by", word],
  depth: ["d", maybeCount],
  flatten: ["flat", flag],
  open: ["o", words],
  closed: ["c", words],
  fold: ["fold", flag],
  unfolded: ["u", words],
  direction: ["dir", way],
  colour: ["col", word],
  query: ["q", word],
  matchesOnly: ["only", count],
  paths: ["p", pair],
  around: ["near", nearby],
  selection: ["sel", words],
  pass: ["pass", count],
  passMode: ["show", moment],
  passColours: ["changes", flag],
  panes: ["panes", places],
  beside: ["beside", flag],
  operands: ["nth", choice],
  overlays: ["over", choice],
  names: ["names", flag],
  values: ["values", flag],
  upstream: ["up", count],
  downstream: ["down", count],
};

export function toHash(view: ViewState): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(FIELDS) as (keyof ViewState)[]) put(parameters, view, name);
  return parameters.toString();
}

function put<K extends keyof ViewState>(parameters: URLSearchParams, view: ViewState, name: K): void {
  const [short, field] = FIELDS[name] as unknown as [string, Field<ViewState[K]>];
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
