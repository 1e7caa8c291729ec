/** What Python says of the operations that sketched programs are made of (`src/opscope/ops`); of others: nothing. */
import { Control, Forwards, type OpTable, TitledBy } from "../../src/core/program/ops";

interface Facts {
  /** The name, if absent. */
  readonly title?: string;
  readonly sign?: string;
  readonly forwards?: Forwards;
  readonly control?: Control;
  readonly titledBy?: TitledBy;
  readonly spreads?: boolean;
  readonly free?: boolean;
  readonly view?: boolean;
  readonly unnumbered?: boolean;
}

const FACTS: Readonly<Record<string, Facts>> = {
  tuple: { forwards: Forwards.Tuple, unnumbered: true, free: true },
  "get-tuple-element": { forwards: Forwards.Value, free: true },
  bitcast: { forwards: Forwards.Value, spreads: true, free: true },
  broadcast: { spreads: true },
  copy: { spreads: true },
  reshape: { spreads: true },
  add: { sign: "+", unnumbered: true },
  subtract: { sign: "−" },
  multiply: { sign: "×", unnumbered: true },
  mul: { sign: "×", unnumbered: true },
  output: { unnumbered: true },
  while: { control: Control.While },
  scan: { control: Control.Scan },
  conditional: { control: Control.Cond },
  call: { control: Control.Call, titledBy: TitledBy.Called, unnumbered: true },
  "aten.linear.default": { title: "linear" },
  "aten.t.default": { title: "t", view: true },
  "aten.detach.default": { title: "detach", view: true },
  "aten.relu.default": { title: "relu" },
  fusion: { control: Control.Fusion, titledBy: TitledBy.Id, unnumbered: true },
};

/** The table of the operations of that name. */
export function makeOps(names: readonly string[], intern: (text: string) => number): OpTable {
  const facts = names.map((name): Facts => FACTS[name] ?? {});
  return {
    name: Int32Array.from(names, intern),
    title: Int32Array.from(names, (name) => intern(FACTS[name]?.title ?? name)),
    sign: Int32Array.from(facts, ({ sign = "" }) => intern(sign)),
    forwards: Uint8Array.from(facts, ({ forwards = Forwards.Nothing }) => forwards),
    control: Uint8Array.from(facts, ({ control = Control.Nothing }) => control),
    titledBy: Uint8Array.from(facts, ({ titledBy = TitledBy.Op }) => titledBy),
    spreads: Uint8Array.from(facts, ({ spreads = false }) => Number(spreads)),
    free: Uint8Array.from(facts, ({ free = false }) => Number(free)),
    view: Uint8Array.from(facts, ({ view = false }) => Number(view)),
    unnumbered: Uint8Array.from(facts, ({ unnumbered = false }) => Number(unnumbered)),
  };
}
