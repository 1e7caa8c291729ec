/** Answers the page's questions about one program. Everything that takes time happens here, away from the page. */
import { LayoutCache, layoutCompound } from "../../core/layout/index";
import { buildScene, inOnePiece, measure, type Scene, THEMES } from "../../core/scene/index";
import { legendOf } from "../../core/scene/legend";
import { compileQuery, search } from "../../core/search";
import { sceneToSvg } from "../../core/svg";
import type { CompoundLayout } from "../../core/layout/types";
import type { NodeDetails, ProgramData, ViewSpec, Visible } from "../../core/types";
import { buildView } from "../../core/view/index";
import { decodeWire } from "../../core/wire";
import { ScenePainter } from "../canvas/paint";
import { fontCss, loadFonts } from "../fonts";
import { bytesOf } from "./bytes";
import { colourBy } from "./colours";
import { RemoteDetails } from "./details";
import { groupFacts, nodeFacts, scopeOf } from "./facts";
import { markdownOf } from "./markdown";
import { Lookup } from "./names";
import { buffersOf, incidence, indexBoxes, indexEdges, outlineOf, packScene } from "./pack";
import { picture, png } from "./pictures";
import type { Answer, Method, Params, ProgramSummary, SearchResult, TableResult, ViewRequest, ViewResult } from "./protocol";
import { Table } from "./table";
import { trace } from "./trace";

type Progress = (part: number, stage: string) => void;

/** Layout may go on improving for this long; a picture that is a little better but late is worse. */
const LAYOUT_BUDGET_MS = 2500;
/** A chain of groups around a node is never longer than this. */
const MOST_REVEAL_STEPS = 64;
const MOST_SEARCH_ROWS = 200;
const SAMPLE = 1500;

interface Drawn {
  readonly spec: string;
  readonly visible: Visible;
  readonly layout: CompoundLayout;
  readonly scene: Scene;
  readonly painter: ScenePainter;
}

export class Engine {
  private lookup: Lookup | undefined;
  private remote: RemoteDetails | undefined;
  private drawn: Drawn | undefined;
  private table: Table | undefined;
  private cache = new LayoutCache();
  private fonts: Promise<void> | undefined;

  async answer(method: Method, params: unknown, progress: Progress, transfer: Transferable[]): Promise<Answer<Method>> {
    switch (method) {
      case "load": return this.load(params as Params<"load">, progress);
      case "view": {
        const result = this.view(params as ViewRequest, progress);
        transfer.push(...buffersOf(result));
        return result;
      }
      case "search": return this.search(params as Params<"search">);
      case "node": return this.node((params as Params<"node">).node);
      case "find": {
        const { graph, id } = params as Params<"find">;
        return this.names.find(graph ? this.names.graphNumber(graph) : this.names.program.entry, id);
      }
      case "group": {
        const { visible } = this.shown;
        const box = visible.key.indexOf((params as Params<"group">).key);
        return box < 0 ? undefined : groupFacts(this.names, visible, box);
      }
      case "attributes": return this.attributes((params as Params<"attributes">).graph);
      case "trace": {
        const { nodes, up, down } = params as Params<"trace">;
        return trace(this.names, nodes, up, down);
      }
      case "table": return this.tabulate(params as Params<"table">);
      case "tableRows": {
        const { from, to } = params as Params<"tableRows">;
        return this.table?.cells(from, to) ?? [];
      }
      case "picture": {
        await this.font();
        const bitmap = picture(this.shown.painter, params as Params<"picture">);
        transfer.push(bitmap);
        return bitmap;
      }
      case "png": {
        await this.font();
        const { theme, part } = params as Params<"png">;
        return png(this.shown.painter, theme, part);
      }
      case "svg": return sceneToSvg(this.withLegend(), THEMES[(params as Params<"svg">).theme], { fontCss: fontCss(), title: this.names.program.name });
      case "markdown": return markdownOf(this.names, this.shown.visible, (params as Params<"markdown">).nodes);
    }
  }

  private get names(): Lookup {
    if (!this.lookup) throw new Error("no program is loaded");
    return this.lookup;
  }

  private get shown(): Drawn {
    if (!this.drawn) throw new Error("nothing is shown yet");
    return this.drawn;
  }

  private async load({ at }: Params<"load">, progress: Progress): Promise<ProgramSummary> {
    const start = performance.now();
    const bytes = await bytesOf(at, (part) => progress(part * 0.8, "Loading"));
    this.remote = at.kind === "url" && at.detailsUrl ? new RemoteDetails(at.detailsUrl) : undefined;
    const remote = this.remote;
    const program = decodeWire(bytes, remote ? (node) => remote.get(node) : undefined);
    this.lookup = new Lookup(program);
    this.drawn = undefined;
    this.cache = new LayoutCache();
    return {
      name: program.name, nodes: program.nodeCount, entry: this.lookup.graphName(program.entry),
      graphs: Array.from({ length: program.graphCount }, (_, g) => this.names.graph(g)),
      groupings: program.groupings.map((grouping) => grouping.name),
      decodeMs: performance.now() - start,
    };
  }

  private view(request: ViewRequest, progress: Progress): ViewResult {
    const start = performance.now();
    const program = this.names.program;
    progress(0.05, "Choosing what to show");
    const { visible, opened } = this.revealed(program, request);
    const chosen = performance.now();
    const spec = JSON.stringify([request.spec, [...(request.near?.nodes ?? [])], request.near?.hops, opened, request.direction]);
    const before = this.drawn;
    const layout = before?.spec === spec ? before.layout : layoutCompound(
      measure(visible),
      { direction: request.direction, budget: LAYOUT_BUDGET_MS, now: () => performance.now(), progress: (part) => progress(0.1 + part * 0.7, "Laying out") },
      this.cache,
    );
    const laidOut = performance.now();
    progress(0.85, "Drawing");
    const grouping = request.spec.grouping ?? "";
    const colouring = colourBy(request.colour, this.names, visible, (node) => scopeOf(this.names, node, grouping).at(-1) ?? "", program.details);
    const scene = buildScene(program, visible, inOnePiece(visible, layout), { direction: request.direction, ...(colouring ? { paints: colouring.paints } : {}) });
    const boxIndex = indexBoxes(scene), edgeIndex = indexEdges(scene);
    this.drawn = { spec, visible, layout, scene, painter: new ScenePainter({ scene, boxIndex, edgeIndex }) };
    const at = numbersOf(visible.key);
    const outline = outlineOf(visible, scene);
    const { start: incidentStart, edge: incidentEdge } = incidence(scene);
    return {
      scene: packScene(scene),
      kind: visible.kind.slice(), node: visible.node.slice(), open: visible.open.slice(), nodesInside: visible.nodesInside.slice(), boxOfNode: visible.boxOfNode.slice(),
      outline: outline.order, outlineDepth: outline.depth,
      boxIndex: structuredClone(boxIndex), edgeIndex: structuredClone(edgeIndex), incidentStart, incidentEdge,
      before: before ? matchKeys(before.scene.key, visible.key) : new Int32Array(visible.boxCount).fill(-1),
      located: request.locate.map((key) => at.get(key) ?? -1),
      opened,
      legend: colouring?.legend ?? legendOf(scene.paint, scene.shape, Infinity, [], scene.mixShares).entries.map(({ text, paint }) => ({ text, paint })),
      remarks: visible.remarks,
      viewMs: chosen - start, layoutMs: laidOut - chosen, totalMs: performance.now() - start,
    };
  }

  /** The view asked for, with as many groups opened as it takes to see a node. */
  private revealed(program: ProgramData, request: ViewRequest): { visible: Visible; opened: string[] } {
    const opened: string[] = [];
    const wanted = this.withNear(request);
    let spec = wanted;
    let visible = buildView(program, spec);
    const node = request.reveal;
    if (node === undefined) return { visible, opened };
    for (let step = 0; step < MOST_REVEAL_STEPS; step++) {
      const box: number = visible.boxOfNode[node];
      if (box < 0 || !visible.expandable[box] || visible.node[box] === node) break;
      opened.push(visible.key[box]);
      const open = new Set(opened);
      spec = { ...wanted, open: [...(wanted.open ?? []), ...opened], closed: (wanted.closed ?? []).filter((key) => !open.has(key)) };
      visible = buildView(program, spec);
    }
    return { visible, opened };
  }

  /** Matches by number become names of the shown graph. */
  private withNear({ spec, near }: ViewRequest): ViewSpec {
    if (!near) return spec;
    const { program } = this.names;
    const graph = spec.graph === undefined ? program.entry : this.names.graphNumber(spec.graph);
    const inGraph = near.nodes.filter((node) => node >= program.graphStart[graph] && node < program.graphStart[graph + 1]);
    return { ...spec, around: { nodes: Array.from(inGraph, (node) => this.names.id(node)), hops: near.hops } };
  }

  private async search({ query, limit, first }: Params<"search">): Promise<SearchResult> {
    await this.needFor(query);
    const start = performance.now();
    const found = search(this.names.program, query);
    const nodes = this.graphFirst(found.nodes, first).slice(0, limit);
    return {
      nodes, total: found.nodes.length, rows: Array.from(nodes.subarray(0, MOST_SEARCH_ROWS), (node) => this.names.name(node)),
      milliseconds: performance.now() - start, ...(found.problem ? { problem: found.problem } : {}),
    };
  }

  private graphFirst(nodes: Int32Array, name: string): Int32Array {
    const { graphStart } = this.names.program;
    const graph = Math.max(0, this.names.graphNumber(name));
    const from = nodes.findIndex((node) => node >= graphStart[graph]);
    const after = nodes.findIndex((node) => node >= graphStart[graph + 1]);
    if (from < 0) return nodes;
    const to = after < 0 ? nodes.length : after;
    return Int32Array.from([...nodes.subarray(from, to), ...nodes.subarray(0, from), ...nodes.subarray(to)]);
  }

  /** Attributes that a query asks for may still be with the host. */
  private async needFor(query: string): Promise<void> {
    if (compileQuery(query).terms.some(({ field }) => field === "attr" || field === "source")) await this.remote?.need(0, this.names.program.nodeCount);
  }

  private async node(node: number): Promise<Answer<"node">> {
    await this.remote?.need(node, node + 1);
    return nodeFacts(this.names, node, this.details(node), scopeOf(this.names, node, ""));
  }

  private details(node: number): NodeDetails | undefined {
    return this.names.program.details(node);
  }

  private async tabulate(request: Params<"table">): Promise<TableResult> {
    const { program } = this.names;
    const graph = request.graph === undefined ? program.entry : this.names.graphNumber(request.graph);
    const first = program.graphStart[graph], last = program.graphStart[graph + 1];
    if (request.attributes.length) await this.remote?.need(first, last);
    const grouping = program.groupings.find((each) => each.name === request.grouping) ?? program.groupings[0];
    if (request.rows === "nodes") await this.needFor(request.filter);
    const matches = request.filter && request.rows === "nodes" ? search(program, request.filter, {}).nodes : undefined;
    this.table = new Table(this.names, request, grouping, matches, (node) => this.details(node));
    return this.table.result;
  }

  /** Names of attributes in a graph, from a sample of its nodes where it is large. */
  private async attributes(name: string): Promise<string[]> {
    const { program } = this.names;
    const graph = Math.max(0, this.names.graphNumber(name));
    const first = program.graphStart[graph], last = program.graphStart[graph + 1];
    await this.remote?.need(first, Math.min(last, first + 1));
    const found = new Set<string>();
    const step = Math.max(1, Math.floor((last - first) / SAMPLE));
    for (let n = first; n < last; n += step) for (const key of Object.keys(this.details(n)?.attrs ?? {})) found.add(key);
    return [...found].sort();
  }

  private withLegend(): Scene {
    const { visible, layout, scene } = this.shown;
    return buildScene(this.names.program, visible, inOnePiece(visible, layout), { direction: scene.direction, legend: true, paints: scene.paint });
  }

  private font(): Promise<void> {
    const { fonts } = globalThis as unknown as { fonts?: FontFaceSet };
    this.fonts ??= fonts ? loadFonts(fonts) : Promise.resolve();
    return this.fonts;
  }
}

function numbersOf(keys: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (let i = keys.length - 1; i >= 0; i--) numbers.set(keys[i], i);
  return numbers;
}

/** For each new key the place of the same key before, or -1. */
function matchKeys(before: readonly string[], now: readonly string[]): Int32Array {
  const numbers = numbersOf(before);
  return Int32Array.from(now, (key) => numbers.get(key) ?? -1);
}
