/** Answers the page's questions about one program. Everything that takes time happens here, away from the page. */
import { LayoutCache } from "../../core/layout";
import { buildScene, inOnePiece, layoutView, type Scene, THEMES } from "../../core/scene";
import { overlayRows } from "../../core/highlight/fileStyles";
import { categoryRows } from "../../core/scene/legend";
import type { Highlights, LegendRow } from "../../core/scene/types";
import { compileQuery, search } from "../../core/search/search";
import { sceneToSvg } from "../../core/writers/svg";
import type { CompoundLayout } from "../../core/layout/types";
import type { Grouping, NodeDetails, ProgramData, ViewSpec, Visible } from "../../core/program/types";
import { buildView } from "../../core/view";
import { decodeWire } from "../../core/program/wire";
import { ScenePainter } from "../canvas/scenePainter";
import { fontCss, loadFonts } from "../fonts";
import { bytesOf } from "./bytes";
import { colourBy } from "./colours";
import { RemoteDetails } from "./details";
import { edgeFacts } from "./edgeFacts";
import { groupFacts, nodeFacts, operationsInside, programFacts, scopeOf } from "./facts";
import { markdownOf } from "./markdown";
import { fitToScreen } from "../../core/view/initial/fitToScreen";
import { Overlays } from "./highlights";
import { Lookup } from "./nodeLookup";
import { levelOf } from "./modules";
import { matchElsewhere } from "./elsewhere";
import { historyOf, namesIn, passFacts } from "./passAnswers";
import { type Passes, type PassShown, passesOf } from "./passes";
import type { PassRequest } from "./passProtocol";
import { changeColours, keptFrom, type Kept, placesAcross } from "./passView";
import { buffersOf, incidence, indexBoxes, indexEdges, outlineOf, packScene } from "./pack";
import { picture, png } from "./pictures";
import type { Answer, Method, Params, ProgramSummary, SearchResult, TableResult, ViewRequest, ViewResult, WireAt } from "./protocol";
import { Table } from "./table";
import { chainRule, gradientFacts, keptOverall } from "./gradient";
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
  readonly asked: ViewSpec;
  readonly visible: Visible;
  readonly grouping: Grouping | undefined;
  readonly layout: CompoundLayout;
  readonly scene: Scene;
  /** Of each box. */
  readonly operations: Int32Array;
  readonly highlights: Highlights | undefined;
  /** Where colours come from data: what the legend of a file says. */
  readonly legendRows: readonly LegendRow[] | undefined;
  readonly painter: ScenePainter;
}

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
        return sceneToSvg(this.withLegend(), THEMES[(params as Params<"svg">).theme], {
          fontCss: fontCss(),
          title: this.names.program.name,
        });
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
  private async turnTo({ index, mode }: PassRequest): Promise<Kept | undefined> {
    const { passes, passShown: was } = this;
    if (!passes || (was && was.pass === passes.valid(index) && was.mode === mode)) return undefined;
    const shown = await passes.show(index, mode);
    const kept = was && this.drawn ? keptFrom(this.drawn, await passes.mates(was, shown)) : undefined;
    this.passShown = shown;
    this.use(shown.program);
    this.remote = shown.remote;
    return kept ?? { boxes: () => undefined };
  }

  private async view(asked: ViewRequest, progress: Progress): Promise<ViewResult> {
    const start = performance.now();
    const turned = asked.pass ? await this.turnTo(asked.pass) : undefined;
    const program = this.names.program;
    const request = this.inThisProgram(asked);
    progress(0.05, "Choosing what to show");
    const before = this.drawn;
    const see = (closed: readonly string[]) =>
      this.see(program, closed.length ? { ...request, spec: { ...request.spec, closed } } : request, turned, progress);
    const { visible, opened, revealed, stayed, spec, layout, layoutMs, closed } = request.room
      ? fitToScreen(request.room, see)
      : { ...see([]), closed: [] };
    const laidOut = performance.now();
    progress(0.85, "Drawing");
    const grouping = request.spec.grouping ?? "";
    const changes = request.pass?.colours && this.passShown ? changeColours(visible, this.passShown) : undefined;
    const colouring =
      changes ?? colourBy(request.colour, this.names, visible, (node) => scopeOf(this.names, node, grouping).at(-1) ?? "", program.details);
    const over = this.over.colours(visible, request.styles, grouping, request.colour);
    const scene = buildScene(program, visible, inOnePiece(visible, layout), {
      direction: request.direction,
      operands: request.spec.operands,
      highlights: over.highlights,
      ...((over.data ?? colouring) ? { paints: (over.data ?? colouring)!.paints } : {}),
    });
    const legend =
      over.data?.legend ?? colouring?.legend ?? categoryRows(scene.paint, scene.shape, scene.custom, scene.customs, scene.mixShares);
    const said = [...legend, ...overlayRows(program, visible)];
    const boxIndex = indexBoxes(scene),
      edgeIndex = indexEdges(scene);
    const operations = operationsInside(this.names, visible, request.spec.grouping);
    this.drawn = {
      spec,
      asked: request.spec,
      visible,
      grouping: this.groupingOf(grouping),
      layout,
      scene,
      operations,
      highlights: over.highlights,
      legendRows: over.data?.legend,
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
      before: stayed?.box ?? (before ? matchKeys(before.scene.key, visible.key) : new Int32Array(visible.boxCount).fill(-1)),
      located: request.locate.map((key) => at.get(key) ?? stayed?.locate(key) ?? -1),
      ...(turned ? { program: this.summary(0) } : {}),
      ...(changes ? { marks: changes.marks } : {}),
      opened,
      revealed,
      closed,
      legend: said,
      rules: this.over.report(request.styles, grouping),
      remarks: visible.remarks,
      viewMs: laidOut - start - layoutMs,
      layoutMs,
      totalMs: performance.now() - start,
    };
  }

  /** The boxes of a view and their places. */
  private see(program: ProgramData, request: ViewRequest, turned: Kept | undefined, progress: Progress) {
    const { visible, opened, revealed } = this.revealed(program, request);
    const stayed = turned?.boxes(visible);
    const spec = JSON.stringify([
      request.spec,
      [...(request.near?.nodes ?? [])],
      request.near?.hops,
      opened,
      request.direction,
      this.passShown?.pass,
      this.passShown?.mode,
    ]);
    const start = performance.now();
    const before = this.drawn;
    const goesOn = before && request.direction === before.scene.direction && (stayed || isNextStep(before, request.spec, visible));
    const layout =
      before?.spec === spec
        ? before.layout
        : layoutView(
            program,
            visible,
            request.spec.beside === true,
            {
              direction: request.direction,
              budget: LAYOUT_BUDGET_MS,
              now: () => performance.now(),
              progress: (part) => progress(0.1 + part * 0.7, "Laying out"),
            },
            this.cache,
            goesOn ? placesAcross(before, stayed?.box ?? matchKeys(before.scene.key, visible.key)) : undefined,
          );
    return { visible, opened, revealed, stayed, spec, layout, layoutMs: performance.now() - start };
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

  /** The view asked for, with as many groups opened as it takes to see a node. */
  private revealed(program: ProgramData, request: ViewRequest): { visible: Visible; opened: string[]; revealed: number } {
    const opened: string[] = [];
    const grouping = this.groupingOf(request.spec.grouping),
      level = request.revealLevel ?? Number.POSITIVE_INFINITY;
    const wanted = this.withNear(request);
    let spec = wanted;
    let visible = buildView(program, spec);
    const node = request.reveal;
    if (node === undefined) return { visible, opened, revealed: -1 };
    for (let step = 0; step < MOST_REVEAL_STEPS; step++) {
      const box: number = visible.boxOfNode[node];
      if (box < 0 || !visible.expandable[box] || visible.node[box] === node || levelOf(visible, box, grouping) >= level) break;
      opened.push(visible.key[box]);
      const open = new Set(opened);
      spec = { ...wanted, open: [...(wanted.open ?? []), ...opened], closed: (wanted.closed ?? []).filter((key) => !open.has(key)) };
      visible = buildView(program, spec);
    }
    let revealed = visible.boxOfNode[node];
    for (
      let around = visible.parent[revealed] ?? -1;
      around >= 0 && levelOf(visible, around, grouping) >= level;
      around = visible.parent[around]
    )
      revealed = around;
    return { visible, opened, revealed };
  }

  private groupingOf(name: string | undefined): Grouping | undefined {
    const { groupings } = this.names.program;
    return groupings.find((each) => each.name === name) ?? groupings[0];
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
    const grouping = this.groupingOf(request.grouping);
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

  private withLegend(): Scene {
    const { visible, layout, scene, highlights, legendRows } = this.shown;
    return buildScene(this.names.program, visible, inOnePiece(visible, layout), {
      direction: scene.direction,
      legend: true,
      paints: scene.paint,
      highlights,
      legendRows,
    });
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
/** In a drawing of this many boxes people would lose their way if opening a group moved the others, and wait for it besides. */
const KEPT_BOXES = 3000;

/** Whether a large view is the one before with a group opened or closed. */
function isNextStep(before: Drawn, now: ViewSpec, visible: Visible): boolean {
  if (Math.min(visible.boxCount, before.visible.boxCount) < KEPT_BOXES) return false;
  const rest = (spec: ViewSpec) => JSON.stringify({ ...spec, open: 0, closed: 0 });
  if (rest(before.asked) !== rest(now)) return false;
  const all = (spec: ViewSpec) => [...(spec.open ?? []), ...(spec.closed ?? [])];
  const were = new Set(all(before.asked));
  const changed = all(now).filter((key) => !were.delete(key)).length + were.size;
  return changed === 1;
}

function matchKeys(before: readonly string[], now: readonly string[]): Int32Array {
  const numbers = numbersOf(before);
  return Int32Array.from(now, (key) => numbers.get(key) ?? -1);
}
