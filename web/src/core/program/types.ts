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
 * A Program as decoded from the wire: columns over all nodes of all graphs. Node numbers are global. No field is optional, so that
 * the compiler reports every producer that lacks a new one.
 */
export interface ProgramData {
  readonly name: string;
  /** Whether nodes are in it that a pass removed: what used them uses others now. */
  readonly hasGhosts?: boolean;
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
  /** String numbers of the names of outputs, where tensors have names: as many as a node has outputs, or none. */
  readonly outputNames: Csr;
  /** Inputs: (node, output index); output index -1 means the whole value (a tuple passed on as one). */
  readonly inputs: Csr2;
  readonly calls: Csr;
  readonly control: Csr;
  /** Links: (string number of the kind, node). */
  readonly links: Csr2;
  readonly types: TypeTable;
  readonly ops: OpTable;
  /** Notes for the person: why the program is not what they asked for, what is missing. */
  readonly notes: readonly string[];
  /** The names of what the entry returns ("[0].params.w"), where the source states them and no node has them; empty otherwise. */
  readonly results: readonly string[];
  readonly groupings: readonly Grouping[];
  /** The table of modules; undefined for programs without modules. */
  readonly summary: SummaryData | undefined;
  /** Colours and edge overlays of the program's file; undefined if it has none. */
  readonly looks: Looks | undefined;
  /** Derivative rules of the ops that have one, by the op's name. */
  readonly derivatives: Readonly<Record<string, DerivativeRule>>;
  /** Short text of a constant or scalar parameter value, or -1. */
  readonly nodeText: Int32Array;
  /** The operand of the call that a parameter receives; -1: as they are listed, -2: none. For a loop, the operand that becomes its first result; see `forwardedOperand` for calls. */
  readonly nodePlace: Int32Array;
  /** Numbers about nodes that came with the program. */
  readonly metrics: readonly MetricData[];
  /** The device that times are estimated for. */
  readonly device: DeviceData | undefined;
  readonly lane: LaneData | undefined;
  /** Attributes, scope and source frames of a node, decoded when asked. May be fetched from the host. */
  readonly details: (node: number) => NodeDetails | undefined;
  /** A node's line of the text that the program was read from; undefined if there is none. Apart from the other details: a search reads all. */
  readonly ownLine: (node: number) => string | undefined;
  /**
   * Marks (1) the nodes with an attribute of that name (lower case; the end of a dotted name will do) whose value passes the test,
   * or with such a source frame ("file:line function"). Undefined if not all details are here.
   */
  readonly findAttribute: (key: string, test: (value: string) => boolean) => Uint8Array | undefined;
  /** Marks (1) the nodes with any attribute that passes the test; the value is text, JSON if it is not a string. */
  readonly findAttributes: (test: (key: string, value: string) => boolean) => Uint8Array | undefined;
  readonly findSource: (test: (frame: string) => boolean) => Uint8Array | undefined;
}

/** What a device can do at best, per second: bytes, FLOPs of products by the type of their operands, and all other FLOPs. */
export interface DeviceData {
  readonly title: string;
  readonly bandwidth: number;
  readonly products: Readonly<Record<string, number>>;
  readonly vector?: number;
}

/** What the device did in one step, in the order of time. Times are in nanoseconds. */
export interface LaneData {
  readonly start: readonly number[];
  readonly duration: readonly number[];
  /** Which of `kernels`, on which of `streams`, for which node (-1: for none of this program). */
  readonly kernel: readonly number[];
  readonly stream: readonly number[];
  readonly node: readonly number[];
  readonly kernels: readonly string[];
  readonly streams: readonly string[];
  /** How many short ones are not listed. */
  readonly leftOut: number;
}

/** CSS colours of a box, from the file. */
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
  /** null: unknown. */
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** The group of the grouping "module" that each row describes, or -1: nothing of it is drawn, or it is the whole model. */
  readonly scopes: readonly number[];
  readonly totals: readonly (readonly [string, string])[];
}

/** For y = f(x): what backpropagation does with dy, in textbook notation. */
export interface DerivativeRule {
  readonly y: string;
  /** The gradient of each operand that has one. Empty, like `y`, if no gradient flows: the note says why. */
  readonly vjp: Readonly<Record<string, string>>;
  readonly note: string;
  /** Letters of the operands in order, and in the order of the operation if it has that many. */
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
  /** String number of the layout ("{1,0}"), of a tuple's whole text with its layouts, or of an empty string if there is none. */
  readonly layout: Int32Array;
  /** How many dimensions, and what kind of number an element is (a DtypeKind). */
  readonly rank: Int32Array;
  readonly kind: Uint8Array;
  /** Bytes and elements, or -1 if a dimension is not a number. */
  readonly bytes: Float64Array;
  readonly elements: Float64Array;
}

/** A hierarchy over the nodes. Groups are numbered so that a parent comes before its children. */
export interface Grouping {
  readonly name: string;
  /** Does it assign every node exactly? Otherwise nodes without a group (a constant, a reshape) are put where they belong. */
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
  "result",
] as const;
export type Category = (typeof CATEGORIES)[number];

/** What to show of a Program. Plain JSON, so that it fits into a URL and can come from Python. */
export interface ViewSpec extends Partial<Pick<ViewOptions, SpecOption>> {
  /** Keys of boxes that are open or closed whatever the depth; of repeats that are shown one by one, and of nodes with a box whatever the rules. */
  readonly open?: readonly string[];
  readonly closed?: readonly string[];
  readonly unfolded?: readonly string[];
  /** Nodes whose direct neighbours are shown in addition to those of `around`. */
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
  /** A group of one operation, opened by depth, is drawn as that operation under the group's name, without a frame. */
  readonly liftSingles: boolean;
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
/** Carried: from the body of a loop to its next iteration. */
export const enum EdgeKind {
  Data = 0,
  Control = 1,
  Link = 2,
  Carried = 3,
  /** Drawn over the graph; its output is the number of the overlay. */ Overlay = 4,
}

/** An attribute or a metric on a box: its name and its value. */
export type LabelRow = readonly [name: string, value: string];

/** Boxes and edges to show, without coordinates. */
export interface Visible {
  /** The graph that is shown (others are inside it, where calls are open). */
  readonly graph: number;
  /** The number of the grouping that the groups belong to. */
  readonly grouping: number;
  readonly boxCount: number;
  readonly kind: Uint8Array;
  readonly parent: Int32Array;
  /** 1: an open container. */
  readonly open: Uint8Array;
  /** 1: can be expanded (collapsed group, call with a body, stack). */
  readonly expandable: Uint8Array;
  /** Global node number (Node, Call, Stub, Value) or -1. */
  readonly node: Int32Array;
  /** Group number of the grouping (Group, Stack) or -1; graph number for a called graph's frame. */
  readonly group: Int32Array;
  readonly category: Uint8Array;
  /** Stable identity across views of one program: what `open`, `closed` and `unfolded` name. */
  readonly key: readonly string[];
  readonly title: readonly string[];
  /** Second line: the type of a node; class and counts of a group. A collapsed group has a third, what goes in and out, after a line break. */
  readonly subtitle: readonly string[];
  /** Inlined operands: "+ 1.0", "axis 2", shown as small lines or pills. */
  readonly notes: readonly (readonly string[] | undefined)[];
  /** What the option `label` writes on boxes; undefined without it. */
  readonly rows?: readonly (readonly LabelRow[] | undefined)[];
  /** How much larger than usual boxes are (1: not larger); undefined without the option `size by`. */
  readonly growth?: Float64Array;
  /** How many repeats a stack has (1 otherwise); how many nodes are inside. */
  readonly repeat: Int32Array;
  readonly nodesInside: Int32Array;

  readonly edgeCount: number;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  readonly edgeKind: Uint8Array;
  /** The value carried: node and output index (of the first, if several merged). */
  readonly edgeNode: Int32Array;
  readonly edgeOutput: Int32Array;
  /** How many edges of the program this one represents. */
  readonly edgeCountMerged: Int32Array;
  /** How many different values it carries (three uses of one value are one). */
  readonly edgeDistinct: Int32Array;
  /** Total bytes of these values; NaN if a size is unknown. */
  readonly edgeBytes: Float64Array;
  /** These values as positions in the table of outputs; only with forward beside backward, which needs them. */
  readonly edgeValues?: readonly (readonly number[])[];
  /** The text on an edge instead of its count. */
  readonly edgeText?: readonly (string | undefined)[];
  /** Where an edge leaves and enters, as a fraction along the border (see CompoundGraph.sourcePort). */
  readonly sourcePort: Float32Array;
  readonly targetPort: Float32Array;
  /** Which operand of its target an edge is (from 0), if their order matters; -1: it does not, or there is only one. */
  readonly edgeOperand?: Int32Array;
  /** Same number: same value leaving the same box (see CompoundGraph.edgeValue). */
  readonly edgeValue: Int32Array;
  /** The box that shows each program node, or -1 if hidden. First occurrence. */
  readonly boxOfNode: Int32Array;
  /** 1: the node has no box in a graph that is shown: it is text in its user, or part of an edge. */
  readonly folded: Uint8Array;
  /** For each graph that is shown, what precedes "n:" in the keys of its nodes (where it is shown first). */
  readonly keyPrefix: readonly (string | undefined)[];
  /** Sentences for the person: "37 neighbours are not shown", "depth reduced to 2 …". */
  readonly remarks: readonly string[];
}
