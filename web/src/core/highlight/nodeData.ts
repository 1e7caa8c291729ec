/**
 * Numbers and texts about nodes from elsewhere (a profiler, an accuracy check), in Model Explorer's node-data format: by node id
 * or by the name of an output tensor, for one graph or for several by name. Matched with a program once; the numbers become a metric.
 */
import { between, readColour } from "../base/colour";
import type { MetricData } from "../program/metrics";
import type { ProgramData } from "../program/types";

export interface Result {
  readonly value: unknown;
  readonly bgColor?: string;
  readonly textColor?: string;
}

interface Threshold {
  readonly value: number;
  readonly bgColor: string;
  readonly textColor?: string;
}

interface Stop {
  readonly stop: number;
  readonly bgColor?: string;
  readonly textColor?: string;
}

export interface GraphNodeData {
  readonly results: Readonly<Record<string, Result>>;
  readonly name?: string;
  readonly thresholds?: readonly Threshold[];
  readonly gradient?: readonly Stop[];
}

export interface DataStatistics {
  readonly name: string;
  /** Nodes that have a value, and entries of the file that match no node. */
  readonly nodes: number;
  readonly unmatched: number;
  /** Statistics of the values that are numbers. */
  readonly numbers: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly mean: number;
  /** Distinct texts of values that are not numbers, the most frequent first. */
  readonly words: readonly (readonly [string, number])[];
}

/** One run, matched with a program: a metric, and what the file has in addition to its numbers. */
export class DataRun {
  /** A group has the largest number inside it, as in Model Explorer. */
  readonly metric: MetricData;
  readonly statistics: DataStatistics;

  constructor(
    readonly name: string,
    readonly data: GraphNodeData,
    values: Float64Array,
    /** The text of the file about each node. */
    readonly text: ReadonlyMap<number, string>,
    /** Entries that define colours. */
    readonly coloured: ReadonlyMap<number, Result>,
    unmatched: number,
  ) {
    this.metric = { name, unit: "1", combine: "max", origin: "given", values, ratio: undefined };
    this.statistics = statisticsOf(name, values, text, unmatched);
  }

  has(node: number): boolean {
    return this.text.has(node);
  }

  /** Fill and text colour of one number; undefined: the file defines none. */
  coloursOf(value: number): { readonly fill: string; readonly ink?: string } | undefined {
    const { gradient, thresholds } = this.data;
    const { min, max } = this.statistics;
    if (gradient?.length) return alongGradient(gradient, max > min ? (value - min) / (max - min) : 0);
    const threshold = thresholds?.find((each) => value <= each.value);
    const fill = threshold && readColour(threshold.bgColor);
    return fill ? { fill, ...(threshold.textColor ? { ink: readColour(threshold.textColor) ?? fill } : {}) } : undefined;
  }
}

/** Runs of a file. Throws an error with a message for the person. */
export function readNodeData(
  file: unknown,
  fileName: string,
): { readonly name: string; readonly graph?: string; readonly data: GraphNodeData }[] {
  const stem = fileName.replace(/^.*[\\/]/, "").replace(/\.json$/i, "");
  if (isRun(file)) return [{ name: file.name ?? stem, data: checked(file) }];
  if (!isNodeData(file)) throw new Error(`${fileName}: no node data; it looks like {"results": {"node id": {"value": 1}}}`);
  return Object.entries(file as Record<string, unknown>).map(([graph, run]) => ({
    name: (run as GraphNodeData).name ?? stem,
    graph,
    data: checked(run as GraphNodeData),
  }));
}

/** Does it look like a file of node data: one run, or one for each graph? */
export function isNodeData(file: unknown): boolean {
  if (file === null || typeof file !== "object" || Array.isArray(file)) return false;
  const graphs = Object.values(file as Record<string, unknown>);
  return isRun(file) || (graphs.length > 0 && graphs.every(isRun));
}

function isRun(value: unknown): value is GraphNodeData {
  const results = (value as { results?: unknown } | null)?.results;
  return results !== null && typeof results === "object" && !Array.isArray(results);
}

function checked(run: GraphNodeData): GraphNodeData {
  for (const each of [...(run.thresholds ?? []), ...(run.gradient ?? [])]) {
    if (each.bgColor !== undefined && readColour(each.bgColor) === undefined)
      throw new Error(`node data "${run.name ?? ""}": ${JSON.stringify(each.bgColor)} is not a colour`);
  }
  return { ...run, ...(run.gradient ? { gradient: [...run.gradient].sort((a, b) => a.stop - b.stop) } : {}) };
}

/** Matches the runs of a file with a program; runs of several graphs under one name become one. */
export function matchNodeData(program: ProgramData, file: unknown, fileName: string): DataRun[] {
  const byName = new Map<string, { data: GraphNodeData; matcher: Matcher }>();
  const runs = readNodeData(file, fileName);
  for (const { name, graph, data } of runs) {
    let run = byName.get(name);
    if (!run) {
      run = { data, matcher: new Matcher(program) };
      byName.set(name, run);
    }
    run.matcher.take(data.results, graphNumber(program, graph, runs.length === 1));
  }
  return [...byName].map(([name, { data, matcher }]) => matcher.run(name, data));
}

/** Graphs of the file by name; a single one with another name (Model Explorer calls every graph "graph") is the entry. */
function graphNumber(program: ProgramData, name: string | undefined, alone: boolean): number | undefined {
  if (name === undefined) return undefined;
  for (let g = 0; g < program.graphCount; g++) if (program.strings.at(program.graphName[g]) === name) return g;
  return alone ? program.entry : -1;
}

class Matcher {
  private readonly value: Float64Array;
  private readonly text = new Map<number, string>();
  private readonly coloured = new Map<number, Result>();
  private unmatched = 0;

  constructor(private readonly program: ProgramData) {
    this.value = new Float64Array(program.nodeCount).fill(Number.NaN);
  }

  take(results: GraphNodeData["results"], graph: number | undefined): void {
    const { graphStart, nodeCount, nodeId, strings } = this.program;
    const left = new Set(Object.keys(results));
    const first = graph === undefined ? 0 : graph < 0 ? 0 : graphStart[graph];
    const last = graph === undefined ? nodeCount : graph < 0 ? 0 : graphStart[graph + 1];
    for (let n = first; n < last; n++) {
      const id = strings.at(nodeId[n]);
      if (!Object.hasOwn(results, id)) continue;
      this.put(n, results[id]);
      left.delete(id);
    }
    if (left.size) this.takeByTensor(results, left, first, last);
    this.unmatched += left.size;
  }

  /** Values by the name of a tensor belong to the node that produces it. */
  private takeByTensor(results: GraphNodeData["results"], left: Set<string>, first: number, last: number): void {
    for (let n = first; n < last; n++) {
      const names = this.program.details(n)?.attrs.tensor_names;
      if (!Array.isArray(names)) continue;
      for (const name of names as unknown[]) {
        if (typeof name !== "string" || !left.has(name)) continue;
        this.put(n, results[name]);
        left.delete(name);
      }
    }
  }

  private put(node: number, result: Result): void {
    const text = typeof result.value === "string" ? result.value : JSON.stringify(result.value);
    const before = this.text.get(node);
    this.text.set(node, before === undefined ? text : `${before}, ${text}`);
    const number = typeof result.value === "string" && result.value.trim() === "" ? Number.NaN : Number(result.value);
    if (Number.isNaN(this.value[node]) && typeof result.value !== "boolean" && Number.isFinite(number)) this.value[node] = number;
    if (result.bgColor !== undefined || result.textColor !== undefined) this.coloured.set(node, result);
  }

  run(name: string, data: GraphNodeData): DataRun {
    return new DataRun(name, data, this.value, this.text, this.coloured, this.unmatched);
  }
}

function statisticsOf(name: string, value: Float64Array, text: ReadonlyMap<number, string>, unmatched: number): DataStatistics {
  let numbers = 0,
    min = Infinity,
    max = -Infinity,
    sum = 0;
  const words = new Map<string, number>();
  for (const [node, word] of text) {
    const number = value[node];
    if (Number.isFinite(number)) {
      numbers++;
      sum += number;
      min = Math.min(min, number);
      max = Math.max(max, number);
    } else words.set(word, (words.get(word) ?? 0) + 1);
  }
  const none = numbers === 0;
  return {
    name,
    nodes: text.size,
    unmatched,
    numbers,
    min: none ? Number.NaN : min,
    max: none ? Number.NaN : max,
    sum,
    mean: none ? Number.NaN : sum / numbers,
    words: [...words].sort((a, b) => b[1] - a[1]),
  };
}

function alongGradient(stops: readonly Stop[], part: number): { fill: string; ink?: string } | undefined {
  const fills = stops.filter((stop) => stop.bgColor !== undefined);
  if (!fills.length) return undefined;
  const after = fills.find((stop) => stop.stop >= part) ?? fills[fills.length - 1];
  const before = [...fills].reverse().find((stop) => stop.stop <= part) ?? fills[0];
  const share = after.stop > before.stop ? (part - before.stop) / (after.stop - before.stop) : 0;
  const nearest = share < 0.5 ? before : after;
  const ink = nearest.textColor === undefined ? undefined : readColour(nearest.textColor);
  return {
    fill: between(readColour(before.bgColor ?? "") ?? "#ffffff", readColour(after.bgColor ?? "") ?? "#ffffff", share),
    ...(ink ? { ink } : {}),
  };
}
