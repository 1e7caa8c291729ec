/** Answers the page's questions about one program. Everything that takes time happens here, away from the page. */
import { LayoutCache } from "../../core/layout";
import {
  type Colours,
  compose,
  draw,
  FILE,
  matchKeys,
  numbersOf,
  type Picture,
  SCREEN,
  type Stayed,
  stayedBoxes,
} from "../../core/picture";
import { THEMES } from "../../core/scene";
import { overlayRows } from "../../core/highlight/fileStyles";
import { markPaints } from "../../core/program/recording/marks";
import { compileQuery, search } from "../../core/search/search";
import { sceneToSvg } from "../../core/writers/svg";
import type { Grouping, NodeDetails, ProgramData, ViewSpec, Visible } from "../../core/program/types";
import { groupingOf } from "../../core/view/groups/grouping";
import { decodeWire } from "../../core/program/wire";
import { ScenePainter } from "../canvas/scenePainter";
import { fontCss, loadFonts } from "../fonts";
import { bytesOf } from "./bytes";
import { colourBy } from "./colours";
import { RemoteDetails } from "./details";
import { edgeFacts } from "./edgeFacts";
import { groupFacts, nodeFacts, operationsInside, programFacts, scopeOf } from "./facts";
import { markdownOf } from "./markdown";
import { Overlays } from "./highlights";
import { Lookup } from "./nodeLookup";
import { matchElsewhere } from "./elsewhere";
import { historyOf, namesIn, passFacts } from "./passAnswers";
import { type Passes, type PassShown, passesOf } from "./passes";
import type { PassRequest } from "./passProtocol";
import { boxMarks, changeLegend, changeMarks } from "./passView";
import { buffersOf, incidence, indexBoxes, indexEdges, outlineOf, packScene } from "./pack";
import { picture, png } from "./pictures";
import type { Answer, Method, Params, ProgramSummary, SearchResult, TableResult, ViewRequest, ViewResult, WireAt } from "./protocol";
import { Table } from "./table";
import { chainRule, gradientFacts, keptOverall } from "./gradient";
import { trace } from "./trace";

type Progress = (part: number, stage: string) => void;

const MOST_SEARCH_ROWS = 200;
const SAMPLE = 1500;

interface Drawn extends Picture {
  readonly grouping: Grouping;
  /** Of each box. */
  readonly operations: Int32Array;
  readonly painter: ScenePainter;
}

/** Another program of the recording is shown: says what of the picture stays. */
type Turned = (visible: Visible) => Stayed | undefined;

export class Engine {
  private lookup: Lookup | undefined;
  private remote: RemoteDetails | undefined;
  private drawn: Drawn | undefined;
  private table: Table | undefined;
  private overlays: Overlays | undefined;
  private origin: WireAt | undefined;
  private passes: Passes | undefined;
  private passShown: PassShown | undefined;
  private cache = new LayoutCache();
  private fonts: Promise<void> | undefined;

  async answer(method: Method, params: unknown, progress: Progress, transfer: Transferable[]): Promise<Answer<Method>> {
    switch (method) {
      case "load":
        return this.load(params as Params<"load">, progress);
      case "nodeData":
        return this.nodeData(params as Params<"nodeData">);
      case "view": {
        if (Overlays.needsDetails((params as ViewRequest).styles)) await this.remote?.need(0, this.names.program.nodeCount);
        const result = await this.view(params as ViewRequest, progress);
        transfer.push(...buffersOf(result));
        return result;
      }
      case "search":
        return this.search(params as Params<"search">);
      case "node":
        return this.node((params as Params<"node">).node);
      case "find": {
        const { graph, id } = params as Params<"find">;
        return this.names.find(graph ? this.names.graphNumber(graph) : this.names.program.entry, id);
      }
      case "group": {
        const { visible } = this.shown;
        const box = visible.key.indexOf((params as Params<"group">).key);
        return box < 0 ? undefined : groupFacts(this.names, visible, box, this.shown.operations[box]);
      }
      case "edge":
        return edgeFacts(this.names, this.shown.visible, this.shown.scene, (params as Params<"edge">).edge);
      case "attributes":
        return this.attributes((params as Params<"attributes">).graph);
      case "gradient":
        return gradientFacts(this.names, (params as Params<"gradient">).node);
      case "kept":
        return keptOverall(this.names);
      case "chain": {
        const { from, to } = params as Params<"chain">;
        const steps = chainRule(this.names, from, to);
        return steps.length ? steps : chainRule(this.names, to, from);
      }
      case "trace": {
        const { nodes, up, down } = params as Params<"trace">;
        return trace(this.names, nodes, up, down);
      }
      case "table":
        return this.tabulate(params as Params<"table">);
      case "tableRows": {
        const { from, to } = params as Params<"tableRows">;
        return this.table?.cells(from, to) ?? [];
      }
      case "modulePlace":
        return this.table?.modules?.place((params as Params<"modulePlace">).row, this.shown.grouping);
      case "moduleRow": {
        const { visible, grouping } = this.shown;
        return this.table?.modules?.rowOf(visible, visible.key.indexOf((params as Params<"moduleRow">).key), grouping) ?? -1;
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
      case "svg":
        return this.svg(params as Params<"svg">);
      case "passes":
        return (await this.passes?.refresh()) ?? [];
      case "passFacts":
        return this.passes && passFacts(this.passes, (params as Params<"passFacts">).pass);
      case "history":
        return this.passes && this.passShown ? historyOf(this.passes, this.passShown, (params as Params<"history">).node) : [];
      case "match":
        return matchElsewhere(this.names, this.origin, this.passShown, params as Params<"match">);
      case "follow": {
        const { node, to } = params as Params<"follow">;
        return this.passes && this.passShown ? namesIn(this.passes, this.passShown, node, to) : [];
      }
      case "markdown":
        return markdownOf(this.names, this.shown.visible, (params as Params<"markdown">).nodes);
    }
  }

  private get names(): Lookup {
    if (!this.lookup) throw new Error("no program is loaded");
    return this.lookup;
  }

  private get over(): Overlays {
    if (!this.overlays) throw new Error("no program is loaded");
    return this.overlays;
  }

  private get shown(): Drawn {
    if (!this.drawn) throw new Error("nothing is shown yet");
    return this.drawn;
  }

  private async load({ at }: Params<"load">, progress: Progress): Promise<ProgramSummary> {
    const start = performance.now();
    this.origin = at;
    this.passShown = undefined;
    this.passes = await passesOf(at, (part) => progress(part * 0.8, "Loading"));
    this.drawn = undefined;
    this.cache = new LayoutCache();
    if (this.passes) await this.turnTo({ index: 0, mode: "after", colours: false });
    else await this.loadProgram(at, progress);
    return this.summary(performance.now() - start);
  }

  private async loadProgram(at: WireAt, progress: Progress): Promise<void> {
    const bytes = await bytesOf(at, (part) => progress(part * 0.8, "Loading"));
    this.remote = at.kind === "url" && at.detailsUrl ? new RemoteDetails(at.detailsUrl) : undefined;
    const remote = this.remote;
    this.use(decodeWire(bytes, remote ? (node) => remote.get(node) : undefined));
  }

  private use(program: ProgramData): void {
    if (this.lookup?.program === program) return;
    this.lookup = new Lookup(program);
    this.overlays = new Overlays(program);
    this.table = undefined;
  }

  private summary(decodeMs: number): ProgramSummary {
    const { program } = this.names;
    return {
      name: program.name,
      nodes: program.nodeCount,
      entry: this.names.graphName(program.entry),
      graphs: Array.from({ length: program.graphCount }, (_, g) => this.names.graph(g)),
      groupings: program.groupings.map((grouping) => grouping.name),
      ...programFacts(this.names),
      overlays: (program.looks?.overlays.length ?? 0) > 0,
      decodeMs,
      ...(this.passes ? { passes: this.passes.rows } : {}),
    };
  }

  /** Make another program of the recording the one that is shown; says what of the picture stays. */
  private async turnTo({ index, mode }: PassRequest): Promise<Turned | undefined> {
    const { passes, passShown: was } = this;
    if (!passes || (was && was.pass === passes.valid(index) && was.mode === mode)) return undefined;
    const shown = await passes.show(index, mode);
    const mates = was && this.drawn ? await passes.mates(was, shown) : undefined;
    const before = this.drawn?.visible;
    this.passShown = shown;
    this.use(shown.program);
    this.remote = shown.remote;
    return (visible) => (before && mates ? stayedBoxes(before, visible, mates) : undefined);
  }

  private async view(asked: ViewRequest, progress: Progress): Promise<ViewResult> {
    const start = performance.now();
    const turned = asked.pass ? await this.turnTo(asked.pass) : undefined;
    const program = this.names.program;
    const request = this.inThisProgram(asked);
    const grouping = request.spec.grouping ?? "";
    const before = this.drawn;
    const picture = draw(
      program,
      {
        ...SCREEN,
        spec: this.withNear(request),
        direction: request.direction,
        reveal: request.reveal === undefined ? undefined : { node: request.reveal, level: request.revealLevel },
        room: request.room,
        colours: (visible) => this.colours(request, visible),
      },
      { now: () => performance.now(), progress, cache: this.cache, before, stayed: turned },
    );
    const { visible, scene, stayed, layoutMs } = picture;
    const marks = request.pass?.colours && this.passShown ? changeMarks(this.passShown) : undefined;
    const boxIndex = indexBoxes(scene),
      edgeIndex = indexEdges(scene);
    const operations = operationsInside(this.names, visible, request.spec.grouping);
    this.drawn = {
      ...picture,
      grouping: groupingOf(program, grouping),
      operations,
      painter: new ScenePainter({ scene, boxIndex, edgeIndex }),
    };
    const at = numbersOf(visible.key);
    const outline = outlineOf(visible, scene);
    const { start: incidentStart, edge: incidentEdge } = incidence(scene);
    return {
      scene: packScene(scene),
      kind: visible.kind.slice(),
      node: visible.node.slice(),
      open: visible.open.slice(),
      operationsInside: operations.slice(),
      boxOfNode: visible.boxOfNode.slice(),
      outline: outline.order,
      outlineDepth: outline.depth,
      boxIndex: structuredClone(boxIndex),
      edgeIndex: structuredClone(edgeIndex),
      incidentStart,
      incidentEdge,
      before: stayed?.box ?? (before ? matchKeys(before.visible.key, visible.key) : new Int32Array(visible.boxCount).fill(-1)),
      located: request.locate.map((key) => at.get(key) ?? stayed?.locate(key) ?? -1),
      ...(turned ? { program: this.summary(0) } : {}),
      ...(marks ? { marks: boxMarks(visible, marks) } : {}),
      opened: picture.opened,
      revealed: picture.revealed,
      closed: picture.closed,
      legend: marks && !this.over.run(request.colour) ? [...changeLegend(marks), ...overlayRows(program, visible)] : scene.legendRows,
      rules: this.over.report(request.styles, grouping),
      remarks: visible.remarks,
      viewMs: picture.viewMs,
      layoutMs,
      totalMs: performance.now() - start,
    };
  }

  /** What a pass did goes before what the person chose, and data before everything. */
  private colours({ pass, colour, styles, spec }: ViewRequest, visible: Visible): Colours {
    const grouping = spec.grouping ?? "";
    const { highlights, data } = this.over.colours(visible, styles, grouping, colour);
    if (data) return { highlights, paints: data.paints, legendRows: data.legend };
    const marks = pass?.colours && this.passShown ? changeMarks(this.passShown) : undefined;
    if (marks) return { highlights, paints: markPaints(visible, marks) };
    const chosen = colourBy(
      colour,
      this.names,
      visible,
      (node) => scopeOf(this.names, node, grouping).at(-1) ?? "",
      this.names.program.details,
    );
    return { highlights, ...(chosen ? { paints: chosen.paints, legendRows: chosen.legend } : {}) };
  }

  /** Names of tensors are among the details, which may still be with the host. */
  private async nodeData({ name, text }: Params<"nodeData">): Promise<Answer<"nodeData">> {
    let file: unknown;
    try {
      file = JSON.parse(text);
    } catch {
      throw new Error(`${name}: is no JSON`);
    }
    await this.remote?.need(0, this.names.program.nodeCount);
    return this.over.add(file, name);
  }

  /** A graph that was walked into may not be there after another pass. */
  private inThisProgram(request: ViewRequest): ViewRequest {
    const { graph, ...rest } = request.spec;
    return this.passes && graph !== undefined && this.names.graphNumber(graph) < 0 ? { ...request, spec: rest } : request;
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
      nodes,
      total: found.nodes.length,
      rows: Array.from(nodes.subarray(0, MOST_SEARCH_ROWS), (node) => this.names.name(node)),
      milliseconds: performance.now() - start,
      ...(found.problem ? { problem: found.problem } : {}),
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
    if (compileQuery(query).terms.some(({ field }) => field === "attr" || field === "source"))
      await this.remote?.need(0, this.names.program.nodeCount);
  }

  private async node(node: number): Promise<Answer<"node">> {
    await this.remote?.need(node, node + 1);
    return { ...nodeFacts(this.names, node, this.details(node), scopeOf(this.names, node, "")), data: this.over.of(node) };
  }

  private details(node: number): NodeDetails | undefined {
    return this.names.program.details(node);
  }

  private async tabulate(request: Params<"table">): Promise<TableResult> {
    const { program } = this.names;
    const graph = request.graph === undefined ? program.entry : this.names.graphNumber(request.graph);
    const first = program.graphStart[graph],
      last = program.graphStart[graph + 1];
    if (request.attributes.length) await this.remote?.need(first, last);
    const grouping = groupingOf(program, request.grouping);
    if (request.rows === "nodes") await this.needFor(request.filter);
    const matches = request.filter && request.rows === "nodes" ? search(program, request.filter, {}).nodes : undefined;
    this.table = new Table(this.names, request, grouping, matches, (node) => this.details(node), this.over.runs);
    return this.table.result;
  }

  /** Names of attributes in a graph, from a sample of its nodes where it is large. */
  private async attributes(name: string): Promise<string[]> {
    const { program } = this.names;
    const graph = Math.max(0, this.names.graphNumber(name));
    const first = program.graphStart[graph],
      last = program.graphStart[graph + 1];
    await this.remote?.need(first, Math.min(last, first + 1));
    const found = new Set<string>();
    const step = Math.max(1, Math.floor((last - first) / SAMPLE));
    for (let n = first; n < last; n += step) for (const key of Object.keys(this.details(n)?.attrs ?? {})) found.add(key);
    return [...found].sort();
  }

  /** The picture as it is seen, with its legend; or as `opscope export` draws what is seen. */
  private svg({ theme, as }: Params<"svg">): string {
    const { program, request, spec } = this.shown;
    const picture =
      as === "file"
        ? draw(program, { ...request, spec, reveal: undefined, room: undefined, ...FILE })
        : compose(this.shown, { ...request, legend: true });
    return sceneToSvg(picture.scene, THEMES[theme], { fontCss: fontCss(), title: program.name });
  }

  private font(): Promise<void> {
    const { fonts } = globalThis as unknown as { fonts?: FontFaceSet };
    this.fonts ??= fonts ? loadFonts(fonts) : Promise.resolve();
    return this.fonts;
  }
}
