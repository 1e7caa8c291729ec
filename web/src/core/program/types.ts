/**
 * The contract between the core's parts: program → view → (layout) → scene → painter.
 * Nothing here or below knows the DOM.
 */
import type { Csr, Csr2 } from "../base/csr";

export type { Csr, Csr2 };

import type { MetricData } from "./metrics";
import type { OpTable } from "./ops";
import type { SpecOption } from "./options";
import type { ViewOptions } from "./viewOptions";

/**
 * A Program as it comes off the wire: columns over all nodes of all graphs. Node numbers are global. No field is optional, so that
 * the compiler names every producer that a new one was forgotten in.
 */
export interface ProgramData {
  readonly name: string;
  readonly entry: number;
  readonly strings: StringTable;
  readonly graphCount: number;
  /** Graph g owns nodes graphStart[g] … graphStart[g+1]-1. */
  readonly graphStart: Int32Array;
  readonly graphName: Int32Array;
  readonly graphOutputs: Csr2;
  readonly nodeCount: number;
  readonly nodeId: Int32Array;
  /** Numbers of operations in `ops`. */
  readonly nodeOp: Int32Array;
  readonly nodeRole: Uint8Array;
  readonly nodeCategory: Uint8Array;
  /** Outputs: index into the type table. */
  readonly outputs: Csr;
  /** Inputs: (node, output index); output index -1 means the whole value (a tuple passed on as one). */
  readonly inputs: Csr2;
  readonly calls: Csr;
  readonly control: Csr;
  /** Links: (string number of the kind, node). */
  readonly links: Csr2;
  readonly types: TypeTable;
  readonly ops: OpTable;
  /** What a person should know about the program: why it is not what they asked for, what is missing in it. */
  readonly notes: readonly string[];
  readonly groupings: readonly Grouping[];
  /** The table of modules; undefined for programs without modules. */
  readonly summary: SummaryData | undefined;
  /** Colours and edges that the program's own file asks for; undefined where it asks for none. */
  readonly looks: Looks | undefined;
  /** Derivative rules of the ops that have one, by the op's name. */
  readonly derivatives: Readonly<Record<string, DerivativeRule>>;
  /** Short text of a constant or scalar parameter value, or -1. */
  readonly nodeText: Int32Array;
  /** Which operand of a call a parameter stands for; -1: as they are listed, -2: for none. Of a loop, the operand that becomes its first result. */
  readonly nodePlace: Int32Array;
  /** Numbers about nodes that came with the program. */
  readonly metrics: readonly MetricData[];
  /** Attributes, scope and source frames of a node, decoded when asked. May be fetched from the host. */
  readonly details: (node: number) => NodeDetails | undefined;
  /**
   * Marks (1) the nodes with an attribute of that name (lower case; the end of a dotted name will do) whose value passes the test,
   * or with such a source frame ("file:line function"). Undefined where details are not all here.
   */
  readonly findAttribute: (key: string, test: (value: string) => boolean) => Uint8Array | undefined;
  /** Marks (1) the nodes with any attribute that passes the test; the value is text, JSON where it is no string. */
  readonly findAttributes: (test: (key: string, value: string) => boolean) => Uint8Array | undefined;
  readonly findSource: (test: (frame: string) => boolean) => Uint8Array | undefined;
}

/** CSS colours of a box, where its file gives some. */
export interface Look {
  readonly fill?: string;
  readonly stroke?: string;
  readonly text?: string;
}

export interface Looks {
  readonly nodes: readonly (readonly [number, Look])[];
  /** Groups whose names, joined by "/", match the pattern; the first pattern wins. */
  readonly groups: readonly { readonly graph: number; readonly pattern: string; readonly look: Look }[];
  /** Edges over the graph that carry nothing: from node, to node, words. */
  readonly overlays: readonly {
    readonly name: string;
    readonly colour: string;
    readonly width: number;
    readonly edges: readonly (readonly [number, number, string])[];
  }[];
}

/** A model's summary, as Python computed it: one row per call of a module, callers first. */
export interface SummaryData {
  readonly columns: readonly { readonly name: string; readonly unit: "" | "count" | "share" | "bytes" }[];
  /** null: not known. */
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** The group of the grouping "module" that each row stands for, or -1: nothing of it is drawn, or it is the whole. */
  readonly scopes: readonly number[];
  readonly totals: readonly (readonly [string, string])[];
}

/** For y = f(x): what backpropagation does with dy, in the notation of a textbook. */
export interface DerivativeRule {
  readonly y: string;
  /** The gradient of each operand that has one. Empty, and `y` too, where none flows: the note says why. */
  readonly vjp: Readonly<Record<string, string>>;
  readonly note: string;
  /** Letters of the operands in order; and in the operation's own order, where it takes so many. */
  readonly operands: readonly string[];
  readonly order?: readonly string[];
}

export interface StringTable {
  readonly length: number;
  at(index: number): string;
}

/** The same names in the same order as `DTYPE_KINDS` of Python; a test compares them. */
export const enum DtypeKind {
  Other = 0,
  Float = 1,
  Complex = 2,
  Integer = 3,
  Boolean = 4,
  Key = 5,
}

export interface TypeTable {
  /** String numbers: the whole text ("f32[2, 3]"), the dtype. */
  readonly text: Int32Array;
  readonly dtype: Int32Array;
  /** String number of the layout ("{1,0}"), of an empty string where there is none. */
  readonly layout: Int32Array;
  /** How many dimensions, and what kind of number an element is (a DtypeKind). */
  readonly rank: Int32Array;
  readonly kind: Uint8Array;
  /** Bytes and elements, or -1 where a dimension is not a number. */
  readonly bytes: Float64Array;
  readonly elements: Float64Array;
}

/** A hierarchy over the nodes. Groups are numbered so that a parent comes before its children. */
export interface Grouping {
  readonly name: string;
  /** Does it say exactly who is in a group? Otherwise what has said nothing (a constant, a reshape) is put where it belongs. */
  readonly exact: boolean;
  readonly groupCount: number;
  readonly groupName: Int32Array;
  readonly groupParent: Int32Array;
  readonly groupGraph: Int32Array;
  /** Innermost group of each node, or -1. */
  readonly nodeGroup: Int32Array;
}

export interface NodeDetails {
  readonly attrs: Record<string, unknown>;
  readonly source: readonly { file: string; line: number; function?: string }[];
}

export const ROLES = ["op", "parameter", "constant", "output", "gradient", "saved", "input", "buffer"] as const;
export const CATEGORIES = [
  "other",
  "elementwise",
  "matmul",
  "reduce",
  "shape",
  "communication",
  "control",
  "data",
  "parameter",
  "constant",
  "custom",
  "output",
  "random",
  "function",
  "leaf",
  "saved",
  "base",
  "cut",
] as const;
export type Category = (typeof CATEGORIES)[number];

/** What of a Program is to be seen. Plain JSON, so that it fits into a URL and over the Python border. */
export interface ViewSpec extends Partial<Pick<ViewOptions, SpecOption>> {
  /** Keys of boxes that are open or closed whatever the depth, and of repeats that are shown one by one. */
  readonly open?: readonly string[];
  readonly closed?: readonly string[];
  readonly unfolded?: readonly string[];
  /** Nodes whose direct neighbours are shown too, beside what is `around`. */
  readonly also?: readonly string[];
  /** Nothing but these nodes. */
  readonly only?: readonly string[];
  readonly hideRoles?: readonly (typeof ROLES)[number][];
  readonly rules?: Partial<DrawingRules>;
}

export interface DrawingRules {
  /** Scalars, constants and small parameters with one use become text inside their user. */
  readonly inlineSmall: boolean;
  /** `to_apply=add` becomes text. */
  readonly inlineReducers: boolean;
  /** Sources with very many users become stubs at each use. */
  readonly stubs: boolean;
  /** get-tuple-element, tuple plumbing and bitcast disappear into edges. */
  readonly plumbing: boolean;
  readonly foldRepeats: boolean;
  /** A group of one operation, opened by depth, is drawn as that operation under the group's name, without a frame. */
  readonly liftSingles: boolean;
  /** Edges that the program's file lays over the graph are drawn. */
  readonly overlays: boolean;
}

export const enum BoxKind {
  Node = 0,
  Group = 1,
  Call = 2,
  Stack = 3,
  Stub = 4,
  Value = 5,
  Omitted = 6,
}
/** Carried: what a loop's body hands to its next round. */
export const enum EdgeKind {
  Data = 0,
  Control = 1,
  Link = 2,
  Carried = 3,
  /** Drawn over the graph; its output is the number of the overlay. */ Overlay = 4,
}

/** Boxes and edges to be seen, before they have places. */
export interface Visible {
  /** The graph that is shown (others are seen inside of it, where calls are open). */
  readonly graph: number;
  /** Which of the program's groupings the groups are of. */
  readonly grouping: number;
  readonly boxCount: number;
  readonly kind: Uint8Array;
  readonly parent: Int32Array;
  /** 1: an open container. */
  readonly open: Uint8Array;
  /** 1: can be opened (closed group, call with a body, stack). */
  readonly expandable: Uint8Array;
  /** Global node number (Node, Call, Stub, Value) or -1. */
  readonly node: Int32Array;
  /** Group number of the grouping (Group, Stack) or -1; graph number for a called graph's frame. */
  readonly group: Int32Array;
  readonly category: Uint8Array;
  /** Stable identity across views of one program: what `open`, `closed` and `unfolded` name. */
  readonly key: readonly string[];
  readonly title: readonly string[];
  /** Second line: the type that a node yields; class and counts of a group. */
  readonly subtitle: readonly string[];
  /** Inlined operands: "+ 1.0", "axis 2", shown as small lines or pills. */
  readonly notes: readonly (readonly string[] | undefined)[];
  /** How many repeats a stack stands for (1 otherwise); how many nodes are inside. */
  readonly repeat: Int32Array;
  readonly nodesInside: Int32Array;

  readonly edgeCount: number;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  readonly edgeKind: Uint8Array;
  /** The value carried: node and output index (of the first, where several merged). */
  readonly edgeNode: Int32Array;
  readonly edgeOutput: Int32Array;
  /** How many edges of the program this one stands for. */
  readonly edgeCountMerged: Int32Array;
  /** How many different values it carries (three uses of one value are one). */
  readonly edgeDistinct: Int32Array;
  /** Bytes of these values together; NaN where a size is not known. */
  readonly edgeBytes: Float64Array;
  /** What is written on an edge instead of its count. */
  readonly edgeText?: readonly (string | undefined)[];
  readonly sourceSlot: Float32Array;
  readonly targetSlot: Float32Array;
  /** Which operand of its target an edge is (from 0), where their order matters; -1: it does not, or there is only one. */
  readonly edgeOperand?: Int32Array;
  /** Same number: same value leaving the same box (see CompoundGraph.edgeValue). */
  readonly edgeValue: Int32Array;
  /** Where each program node is seen: box number, or -1 if hidden. First occurrence. */
  readonly boxOfNode: Int32Array;
  /** Sentences for the person: "37 neighbours are not shown", "depth reduced to 2 …". */
  readonly remarks: readonly string[];
}
