/**
 * Facts about operations, once for each name, from Python's table of operations (`src/opscope/ops`): nothing here knows an operation
 * by its name. The members of each enum have the same names in the same order there; a test compares them.
 */
import type { Sections } from "./sections";
import type { ProgramData } from "./types";

/** Does it compute nothing? It forwards one value of its first operand, or all its operands, so that output i is operand i. */
export const enum Forwards {
  Nothing = 0,
  Value = 1,
  Tuple = 2,
  /** It forwards one of several outputs; if its operand has only one, it computes something (it indexes a tensor). */
  Element = 3,
}

/** What an operation does with the graphs that it calls. */
export const enum Control {
  Nothing = 0,
  /** Runs a graph as it is. */
  Call = 1,
  /** One step that combines several. */
  Fusion = 2,
  /** Runs one of its graphs; the first operand says which. */
  Cond = 3,
  While = 4,
  For = 5,
  Scan = 6,
}

/** The title of an operation's box. */
export const enum TitledBy {
  Op = 0,
  /** The graph that it calls. */
  Called = 1,
  Id = 2,
  /** The node's text: the routine of a custom call. */
  Text = 3,
}

/** Columns over the operations of a program, by the numbers in `nodeOp`. */
export interface OpTable {
  /** String numbers: the name, the title, and the sign between two operands (an empty string: none). */
  readonly name: Int32Array;
  readonly title: Int32Array;
  readonly sign: Int32Array;
  readonly forwards: Uint8Array;
  readonly control: Uint8Array;
  readonly titledBy: Uint8Array;
  /** 1: it only copies, converts or broadcasts its operand. */
  readonly spreads: Uint8Array;
  /** 1: it costs nothing. */
  readonly free: Uint8Array;
  /** 1: its results are (parts of) its first operand, in the same memory. */
  readonly view: Uint8Array;
  /** 1: operand numbers have no meaning. */
  readonly unnumbered: Uint8Array;
}

const TEXTS = ["name", "title", "sign"] as const;
const FACTS = ["forwards", "control", "titledBy", "spreads", "free", "view", "unnumbered"] as const;

function table(text: (name: (typeof TEXTS)[number]) => Int32Array, fact: (name: (typeof FACTS)[number]) => Uint8Array): OpTable {
  return Object.fromEntries([...TEXTS.map((name) => [name, text(name)]), ...FACTS.map((name) => [name, fact(name)])]) as OpTable;
}

export function decodeOps(sections: Sections): OpTable {
  return table(
    (name) => sections.integers(`ops.${name}`),
    (name) => sections.octets(`ops.${name}`),
  );
}

/** The operations of two programs; string numbers of the second grow by `stringShift`, its operation numbers by the length of the first. */
export function joinedOps(first: OpTable, second: OpTable, stringShift: number): OpTable {
  return table(
    (name) => Int32Array.from([...first[name], ...second[name].map((text) => text + stringShift)]),
    (name) => Uint8Array.from([...first[name], ...second[name]]),
  );
}

/** The name of a node's operation. */
export function opName({ ops, nodeOp, strings }: ProgramData, node: number): string {
  return strings.at(ops.name[nodeOp[node]]);
}
