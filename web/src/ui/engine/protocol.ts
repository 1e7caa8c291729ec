/**
 * What the page asks the engine, and what it answers. The engine runs in a worker: it decodes, lays out, searches and paints
 * large pictures, so that the page only draws what is on screen and reacts.
 */
import type { Size } from "../../core/base/camera";
import type { RuleReport } from "../../core/highlight/highlighter";
import type { DataStatistics } from "../../core/highlight/nodeData";
import type { StyleRule } from "../../core/highlight/rules";
import type { BoxMeasure, LegendRow, Scene } from "../../core/scene/types";
import type { DerivativeRule, ViewSpec } from "../../core/program/types";
import type { ViewOptions } from "../../core/program/viewOptions";
import type { PassRow } from "../../core/program/recording/types";
import type { Camera } from "../../core/base/camera";
import type { SpatialData } from "../canvas/spatial";
import type { CostMethods } from "./costProtocol";
import type { KernelMethods } from "./kernelProtocol";
import type { LaneMethods } from "./laneProtocol";
import type { MemoryMethods } from "./memoryProtocol";
import type { TextMethods } from "./textProtocol";
import type { HistoryRow, NodeReasons, PairReasons, PassFacts, PassRequest, TouchingPasses } from "./passProtocol";
import type { PackedLabels } from "../../core/scene/labelColumns";
import type { PackedTexts } from "../../core/text/packedTexts";

/** Where a program's bytes are. The engine gets them itself, so that the page never handles megabytes. */
export type WireAt =
  | { readonly kind: "base64"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: ArrayBuffer }
  | { readonly kind: "url"; readonly url: string; readonly detailsUrl?: string; readonly sourceUrl?: string }
  /** A recording that a server holds: its passes, programs and diffs are under this address. */
  | { readonly kind: "recording"; readonly url: string };

export interface GraphRow {
  readonly name: string;
  readonly nodes: number;
  /** How many nodes call it. */
  readonly callers: number;
}

export interface OpCount {
  readonly op: string;
  readonly count: number;
}

export interface ParameterCounts {
  /** How many tensors, their elements and their bytes. */
  readonly parameters: number;
  readonly parameterElements: number;
  readonly parameterBytes: number;
}

export interface ProgramSummary extends ParameterCounts {
  readonly name: string;
  readonly nodes: number;
  readonly entry: string;
  readonly graphs: readonly GraphRow[];
  readonly groupings: readonly string[];
  /** The one of them that has the halves of a training step. */
  readonly halves?: string;
  /** The most frequent operations, and what the entry takes besides parameters (inputs, buffers); HLO and JAX do not distinguish them. */
  readonly ops: readonly OpCount[];
  readonly others: number;
  readonly otherBytes: number;
  /** Does its file have edge overlays? Do its types have layouts? */
  readonly overlays: boolean;
  readonly layouts: boolean;
  /** Is it best seen at first with forward beside backward? Said when it is loaded, not of each pass that is turned to. */
  readonly opensInHalves?: boolean;
  /** Names of the metrics that it can be coloured by. */
  readonly metrics: readonly string[];
  readonly decodeMs: number;
  /** Of a recording: its passes. */
  readonly passes?: readonly PassRow[];
}

/** A module, or the modules of repeated layers together. */
export interface HeavyModule {
  readonly name: string;
  readonly repeats: number;
  /** A node in it, and how many groups are around that: where to go. */
  readonly node: number;
  readonly level: number;
  readonly text: string;
  readonly share: number;
}

/** The entry in a few numbers. */
export interface Overview {
  /** Of each metric, for one run of the entry. */
  readonly totals: readonly MetricFact[];
  readonly operations: number;
  /** Fusions and library calls; 0 if nothing is fused. */
  readonly kernels: number;
  readonly dtypes: readonly { readonly dtype: string; readonly share: number }[];
  /** The modules that weigh most, and by which metric. */
  readonly heaviestBy: string;
  /** Are there operations of which it is unknown? */
  readonly isPartial: boolean;
  /** Whether something has a time, measured or at best. */
  readonly hasTimes: boolean;
  readonly heaviest: readonly HeavyModule[];
}

export interface ViewRequest {
  readonly spec: ViewSpec;
  readonly rankdir: "TB" | "LR";
  readonly colour: string;
  readonly colourScale?: ViewOptions["colourScale"];
  readonly styles: readonly StyleRule[];
  /** A node that must be visible: the groups around it are expanded (answered in `opened`), and it is unfolded (`unfolded`). */
  readonly reveal?: number;
  /** Reveal not the node itself but the group around it at this depth (1: the outermost). */
  readonly revealLevel?: number;
  /** Show only these nodes and what is within this many hops of them. */
  readonly near?: { readonly nodes: Int32Array; readonly hops: number };
  readonly pass?: PassRequest;
  /** Nobody has expanded or collapsed anything yet: collapse groups (answered in `closed`) until the picture is readable in this many pixels. */
  readonly room?: Size;
  /** The picture is seen first: expand groups (answered in `opened`) as long as it is readable in this many pixels. */
  readonly fill?: Size;
  /** Columns that the picture is broken into; answered in `columns` if it fills the screen. */
  readonly columns: number;
  /** Keys of boxes whose numbers in the new view the page needs. */
  readonly locate: readonly string[];
}

type UnpackedColumns = "key" | "title" | "subtitle" | "notes" | "labels";

export interface PackedScene extends Omit<Scene, UnpackedColumns> {
  readonly keys: PackedTexts;
  readonly titles: PackedTexts;
  readonly subtitles: PackedTexts;
  /** Notes of a box, joined by NOTE_BREAK. */
  readonly noteTexts: PackedTexts;
  readonly labels: PackedLabels;
}

export const NOTE_BREAK = "\u001f";

/** A number of a node, a group or a program, as text. */
export interface MetricFact {
  readonly name: string;
  readonly text: string;
  readonly origin: string;
  /** Of the number of the whole graph; NaN where that makes no sense. */
  readonly share: number;
  /** Of a stack whose repeats differ: how. */
  readonly spread?: string;
}

/** A file of data about nodes, as text. */
export interface DataFile {
  readonly name: string;
  readonly text: string;
}

export interface ViewResult {
  readonly scene: PackedScene;
  /** Columns of the view's boxes. */
  readonly kind: Uint8Array;
  readonly node: Int32Array;
  readonly open: Uint8Array;
  readonly operationsInside: Int32Array;
  readonly boxOfNode: Int32Array;
  /** 1: a node without a box of its own (see Visible). */
  readonly folded: Uint8Array;
  /** Boxes as a tree, in reading order: box numbers and their depths. */
  readonly outline: Int32Array;
  readonly outlineDepth: Uint8Array;
  readonly boxIndex: SpatialData;
  readonly edgeIndex: SpatialData;
  /** Edges of item i: incidentEdge[incidentStart[i]] … incidentEdge[incidentStart[i + 1] - 1]. */
  readonly incidentStart: Int32Array;
  readonly incidentEdge: Int32Array;
  /** In a picture of several columns, the boxes that each edge of the view joins: an edge that is cut has only one of them in the scene. */
  readonly ends?: { readonly source: Int32Array; readonly target: Int32Array };
  /** The item of the previous scene with the same key, or -1: what moves when the view changes. */
  readonly before: Int32Array;
  readonly located: readonly number[];
  /** The box that shows what was to be revealed, or -1. */
  readonly revealed: number;
  readonly opened: readonly string[];
  readonly unfolded: readonly string[];
  readonly closed: readonly string[];
  readonly columns: number;
  readonly legend: readonly LegendRow[];
  /** One for each style rule. */
  readonly rules: readonly RuleReport[];
  readonly remarks: readonly string[];
  /** Numbers of boxes other than the one that they are coloured by. */
  readonly measures: readonly BoxMeasure[];
  /** The program that is shown, if it is not the same as before. */
  readonly program?: ProgramSummary;
  /** What the pass did to each item (see marks.ts); absent if nothing is coloured. */
  readonly marks?: Uint8Array;
  readonly viewMs: number;
  readonly layoutMs: number;
  readonly totalMs: number;
}

export interface SearchResult {
  /** Matching nodes, at most `limit`, module after module, and how many there are in total. */
  readonly nodes: Int32Array;
  readonly total: number;
  /** Where each module begins among the nodes. */
  readonly moduleStart: Int32Array;
  readonly milliseconds: number;
  readonly problem?: string;
}

/** A match as a list shows it: `title` is the text of its box, which names the target of a custom call. */
export interface MatchRow extends NodeName {
  readonly title: string;
  readonly scope: string;
}

/** A place that the palette leads to: a node (level 0), or the group around it at this level. */
export interface Destination extends ModulePlace {
  readonly name: string;
  readonly detail: string;
  readonly graph: string;
}

/** What an edge of the picture represents. */
export interface EdgeFacts {
  readonly from: { readonly key: string; readonly title: string };
  readonly to: { readonly key: string; readonly title: string };
  readonly kind: "data" | "control" | "link" | "carried" | "overlay";
  /** The nodes whose values it carries, as many as a panel lists, and how many there are. */
  readonly values: readonly NodeName[];
  readonly total: number;
  readonly bytes: number;
}

export interface NodeName {
  readonly node: number;
  readonly id: string;
  readonly op: string;
  readonly graph: string;
  readonly type: string;
}

export interface NodeFacts extends NodeName {
  readonly metrics: readonly MetricFact[];
  readonly role: string;
  readonly category: string;
  readonly scope: readonly string[];
  /** Is it a result of its graph? */
  readonly isReturned: boolean;
  /** `name`: that of the tensor, empty where tensors have none. */
  readonly outputs: readonly { readonly type: string; readonly bytes: number; readonly name: string }[];
  readonly inputs: readonly (NodeName & { readonly output: number })[];
  readonly inputCount: number;
  /** Operands without a box, and those that would have none if nobody had asked for them (see FoldedOperands). */
  readonly folded: readonly NodeName[];
  readonly foldable: readonly NodeName[];
  readonly users: readonly NodeName[];
  readonly userCount: number;
  readonly control: readonly NodeName[];
  readonly links: readonly (NodeName & { readonly kind: string })[];
  readonly calls: readonly GraphRow[];
  readonly calledBy: readonly NodeName[];
  /** Of a parameter of a graph that one node calls: where its value comes from. */
  readonly origin?: NodeName;
  readonly attrs: readonly (readonly [string, unknown])[];
  readonly source: readonly { readonly file: string; readonly line: number; readonly function?: string }[];
}

export interface SavedValue extends NodeName {
  /** -1: unknown. */
  readonly bytes: number;
}

export interface GradientFacts {
  /** It is in the backward half. */
  readonly isBackward: boolean;
  readonly rule?: DerivativeRule;
  /** The rule's letters and their nodes. */
  readonly operands?: readonly { readonly name: string; readonly node: NodeName }[];
  /** Backward nodes that differentiate this one, or forward nodes that this one differentiates. */
  readonly backward: readonly NodeName[];
  readonly backwardCount: number;
  readonly forward: readonly NodeName[];
  readonly forwardCount: number;
  readonly saved: readonly SavedValue[];
  readonly savedBytes: number;
  /** Where a value is used several times: what comes back along each use. */
  readonly sums: readonly { readonly text: string; readonly nodes: Readonly<Record<string, NodeName>> }[];
  /** What is highlighted with it, as in TraceResult. */
  readonly mark: Uint8Array;
}

export interface SavedTensors {
  readonly bytes: number;
  readonly count: number;
  readonly layers: readonly SavedLayer[];
}

export interface SavedLayer {
  /** Empty: outside all modules. */
  readonly name: string;
  readonly bytes: number;
  readonly values: readonly SavedValue[];
}

/** One factor of the chain rule: the gradient of `operand` out of that of `node`. Empty text: there is no rule. */
export interface ChainStep {
  readonly node: NodeName;
  readonly operand: NodeName;
  readonly text: string;
  /** The nodes of the letters in the text. */
  readonly nodes: Readonly<Record<string, NodeName>>;
  /** Why there is no text, if there is a reason. */
  readonly why: string;
}

export interface GroupFacts extends ParameterCounts {
  /** Parameters that only the update reads, which are not among those of the model. */
  readonly state: ParameterCounts;
  readonly key: string;
  readonly title: string;
  readonly subtitle: string;
  readonly path: readonly string[];
  /** As its title counts them: not those folded into edges and boxes, but every repeat of a stack. */
  readonly operations: number;
  readonly nodes: number;
  /** How many of the nodes are in graphs that are called, not in the graph that is shown. */
  readonly called: number;
  /** Of a stack: how many it stands for, which are counted together. */
  readonly repeat: number;
  /** In open stacks: how many equal ones there are, of which one is counted. */
  readonly around: number;
  readonly metrics: readonly MetricFact[];
  readonly ops: readonly OpCount[];
  readonly inputs: readonly NodeName[];
  readonly outputs: readonly NodeName[];
}

/** What the shown graph returns, where the program has no node for it. */
export interface OutputFacts {
  readonly graph: string;
  readonly total: number;
  /** As many as a panel lists. */
  readonly values: readonly {
    readonly name: string;
    readonly type: string;
    /** -1: unknown. */
    readonly bytes: number;
    readonly producer: NodeName;
  }[];
}

export interface TraceResult {
  /** Per node of the program: 0 not reached, 1 upstream, 2 downstream, 3 both or itself. */
  readonly mark: Uint8Array;
  readonly upstream: number;
  readonly downstream: number;
}

export interface TableRequest {
  readonly rows: "nodes" | "modules";
  readonly graph?: string;
  readonly grouping?: string;
  /** Extra columns: attribute names. */
  readonly attributes: readonly string[];
  readonly filter: string;
  readonly sort: string;
  readonly descending: boolean;
}

export interface TableColumn {
  readonly name: string;
  readonly numeric: boolean;
  /** How its numbers are written: exactly, as a share of 1, as bytes; absent: short. */
  readonly unit?: "count" | "share" | "bytes";
  /** Of a metric: the unit of its numbers, and where they come from. */
  readonly metric?: { readonly unit: string; readonly origin: string };
  /** The length of its longest text in characters, if known. */
  readonly longest?: number;
}

export interface TableResult {
  readonly columns: readonly TableColumn[];
  readonly total: number;
  /** Node number (or group number, or row of the summary) of each row, in the order asked for. */
  readonly rows: Int32Array;
  /** Sums over the whole model, as text. */
  readonly totals: readonly (readonly [string, string])[];
}

/** Where a row of modules is in the picture: the group around a node at a depth. */
export interface ModulePlace {
  readonly node: number;
  readonly level: number;
}

export interface PictureRequest {
  readonly camera: Camera;
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
  readonly theme: "light" | "dark";
  /** What stands out (see Emphasis of scenePainter.ts). */
  readonly lit?: Uint8Array;
  readonly litEdge?: Uint8Array;
}

/** What a picture is saved on. */
export interface Paper {
  readonly theme: "light" | "dark";
  readonly background: ViewOptions["background"];
}

/** Every question with its answer. */
export interface Methods extends MemoryMethods, CostMethods, LaneMethods, TextMethods, KernelMethods {
  load(params: { readonly at: WireAt }): ProgramSummary;
  /** Takes a file of node data; answers with statistics of the runs in it. */
  nodeData(params: DataFile): readonly DataStatistics[];
  view(params: ViewRequest): ViewResult;
  /** Hits in the graph named `first` come before the others. */
  search(params: { readonly query: string; readonly limit: number; readonly first: string }): SearchResult;
  matchRows(params: { readonly nodes: readonly number[] }): readonly MatchRow[];
  /** Finds where the palette can go; `destinationRows` has what was found last. */
  destinations(params: { readonly text: string }): { readonly modules: number; readonly nodes: number };
  destinationRows(params: { readonly from: number; readonly to: number }): readonly Destination[];
  /** With `output`, about that value of the node. */
  node(params: { readonly node: number; readonly output?: number | undefined }): NodeFacts;
  find(params: { readonly graph: string; readonly id: string }): number;
  group(params: { readonly key: string }): GroupFacts | undefined;
  output(params: object): OutputFacts;
  edge(params: { readonly edge: number }): EdgeFacts | undefined;
  attributes(params: { readonly graph: string }): readonly string[];
  trace(params: { readonly nodes: readonly number[]; readonly up: number; readonly down: number }): TraceResult;
  gradient(params: { readonly node: number }): GradientFacts | undefined;
  saved(params: object): SavedTensors;
  overview(params: object): Overview;
  chain(params: { readonly from: number; readonly to: number }): readonly ChainStep[];
  table(params: TableRequest): TableResult;
  tableRows(params: { readonly from: number; readonly to: number }): readonly (readonly (string | number)[])[];
  /** Where the module of a row is drawn, if it is; the row of the module that a shown box is or belongs to, or -1. */
  modulePlace(params: { readonly row: number }): ModulePlace | undefined;
  moduleRow(params: { readonly key: string }): number;
  picture(params: PictureRequest): ImageBitmap;
  png(params: Paper & { readonly part?: PictureRequest }): Blob;
  /** The picture as shown, or as `opscope export` draws it. */
  svg(params: Paper & { readonly as: "seen" | "file" }): string;
  markdown(params: { readonly nodes: readonly number[] }): string;
  /** The rows of a recording, as far as they are compared. */
  passes(params: { readonly peaks: boolean }): readonly PassRow[];
  /** Some passes at a time, from one on. */
  passesTouching(params: { readonly query: string; readonly from: number }): TouchingPasses;
  /** Passes that changed what the nodes in a shown box were before, or became. */
  passesTouchingBox(params: { readonly key: string }): readonly number[];
  passFacts(params: { readonly pass: number }): PassFacts | undefined;
  history(params: { readonly node: number }): readonly HistoryRow[];
  reasons(params: { readonly node: number }): NodeReasons;
  /** Of two nodes, in any order. */
  pairReasons(params: { readonly nodes: readonly [number, number] }): PairReasons | undefined;
  /** The shown node by the names it has after another pass. */
  follow(params: { readonly node: number; readonly to: number }): readonly NodeName[];
  /** The shown node by the names it has in another source of the same host, where the host can match them. */
  match(params: { readonly node: number; readonly with: WireAt; readonly pass: number }): readonly NodeName[];
}

export type Method = keyof Methods;
export type Params<M extends Method> = Parameters<Methods[M]>[0];
export type Answer<M extends Method> = ReturnType<Methods[M]>;

export interface Request<M extends Method = Method> {
  readonly id: number;
  readonly method: M;
  readonly params: Params<M>;
}

export type Reply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly problem: string }
  | { readonly id: number; readonly progress: number; readonly stage: string };
