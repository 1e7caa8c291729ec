import { bucketBy, type Csr } from "../../base/csr";
import { contentOf, LayoutCache, withBoundaryPortOrder, withPlaces } from "./cache";
import { isLarge } from "./previousLayouts";
import { LEAST_EFFORT } from "../elements";
import { layoutFlat, NODE_GAP, RANK_GAP } from "../flat";
import { outsideOrder } from "./boundaryPorts";
import { cutEdges, depths, type EdgeParts } from "./edgeParts";
import { MOST_BOXES } from "../order/portOrder";
import { BOUNDARY_PORT_GAP } from "../routing/routing";
import { stitch } from "./stitch";
import type { CompoundGraph, CompoundLayout, FlatGraph, FlatLayout, LayoutOptions } from "../types";

const PADDING = 16;

/** Up to this many boxes every container gets the full search for a good order; beyond, they share it. */
const FULL_EFFORT_BOXES = 4000;
/** How many boxes in total may be laid out again with regard to what is outside their frames. */
const ROUNDS_WORK = 12_000;
const MOST_ROUNDS = 4;
/** The share of flaws that a round must remove for another to follow. */
const WORTHWHILE = 0.02;
/** What operands out of order count, in crossings: no number of them is worth one. */
const OUT_OF_ORDER = 1e-6;

/** A drawing of everything, all positions absolute. */
interface Placed {
  readonly layouts: readonly FlatLayout[];
  readonly contents: readonly Float64Array[];
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly w: Float64Array;
  readonly h: Float64Array;
  readonly originX: Float64Array;
  readonly originY: Float64Array;
  /** Crossings, and a little for each box whose operands are out of order. */
  readonly flaws: number;
}

/** The space between a frame and its content. */
interface Insets {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly leastWidth: number;
  readonly leastHeight: number;
}

/**
 * Lays out nested boxes. Each open container is laid out alone, innermost first; edges that cross its frame end at boundary ports
 * on it. For its parent, a container is then one box with its boundary ports as ports. Finally, positions become absolute and the
 * parts of each edge become one line. With a cache that outlives the call, expanding a group costs only that group and its ancestors.
 */
export function layoutCompound(graph: CompoundGraph, options: LayoutOptions = {}, cache: LayoutCache = new LayoutCache()): CompoundLayout {
  const sideways = options.direction === "LR";
  const layout = new CompoundRun(sideways ? transposed(graph) : graph, options, cache, sideways).run();
  return sideways ? untransposed(layout) : layout;
}

class CompoundRun {
  private readonly nodeGap: number;
  private readonly rankGap: number;
  private readonly padding: number;
  private readonly parts: EdgeParts;
  private readonly depth: Int32Array;
  private readonly children: Csr;
  private readonly localIndex: Int32Array;
  /** Where a boundary port is along its frame, from the left. */
  private readonly boundaryPortOffset: Float64Array;
  private readonly localBoundaryPort: Int32Array;
  private readonly w: Float64Array;
  private readonly h: Float64Array;
  private readonly layouts: FlatLayout[];
  private readonly contents: Float64Array[];
  /** Where a container's content begins within its frame. */
  private readonly contentX: Float64Array;
  private readonly contentY: Float64Array;
  private readonly effort: number;
  /** How often frames are laid out again with regard to their outside. */
  private readonly rounds: number;
  private readonly boundaryPortOrder: Float64Array;
  private laidOut = 0;
  private reused = 0;

  constructor(
    private readonly graph: CompoundGraph,
    private readonly options: LayoutOptions,
    private readonly cache: LayoutCache,
    private readonly sideways: boolean,
  ) {
    const { boxCount } = graph;
    this.effort = Math.max(LEAST_EFFORT, Math.min(1, FULL_EFFORT_BOXES / Math.max(1, boxCount)));
    this.rounds = Math.min(MOST_ROUNDS, Math.floor(ROUNDS_WORK / Math.max(1, boxCount)));
    this.nodeGap = options.nodeGap ?? NODE_GAP;
    this.rankGap = options.rankGap ?? RANK_GAP;
    this.padding = options.padding ?? PADDING;
    this.depth = depths(graph);
    this.parts = cutEdges(graph, this.depth);
    const inside = new Int32Array(boxCount);
    for (let b = 0; b < boxCount; b++) inside[b] = graph.parent[b] < 0 ? boxCount : graph.parent[b];
    this.children = bucketBy(inside, boxCount + 1);
    this.localIndex = new Int32Array(boxCount);
    for (let c = 0; c <= boxCount; c++) {
      for (let k = this.children.start[c]; k < this.children.start[c + 1]; k++) {
        this.localIndex[this.children.value[k]] = k - this.children.start[c];
      }
    }
    const ports = this.parts.boundaryPortContainer.length;
    this.boundaryPortOffset = new Float64Array(ports);
    this.boundaryPortOrder = new Float64Array(ports).fill(Number.NaN);
    this.localBoundaryPort = new Int32Array(ports);
    this.w = graph.width.slice();
    this.h = graph.height.slice();
    this.layouts = new Array(boxCount + 1);
    this.contents = new Array(boxCount + 1);
    this.contentX = new Float64Array(boxCount + 1);
    this.contentY = new Float64Array(boxCount + 1);
  }

  run(): CompoundLayout {
    const byDepth = this.containersByDepth();
    let best = this.layoutInsideOut(byDepth);
    for (let round = 0; round < this.rounds && best.flaws > 0; round++) {
      outsideOrder(this.parts, best.layouts, best.originX, round % 2, this.boundaryPortOrder, this.operandPlaces(best));
      const next = this.layoutInsideOut(byDepth);
      const gain = 1 - next.flaws / best.flaws;
      if (gain > 0) best = next;
      if (gain < WORTHWHILE && best.flaws >= 1) break;
    }
    if (this.rounds > 0) this.remember(best);
    const { layouts, x, y, w, h, originX, originY } = best;
    const whole = layouts[this.graph.boxCount];
    const lines = stitch(this.parts, layouts, originX, originY, y, h);
    return { width: whole.width, height: whole.height, x, y, w, h, ...lines, laidOut: this.laidOut, reused: this.reused };
  }

  /** Every container from the innermost to the whole drawing, then absolute positions. */
  private layoutInsideOut(byDepth: Int32Array): Placed {
    const { boxCount } = this.graph;
    for (let i = byDepth.length - 1; i >= 0; i--) {
      this.layoutContainer(byDepth[i]);
      this.options.progress?.((byDepth.length - i) / (byDepth.length + 1));
    }
    const x = new Float64Array(boxCount);
    const y = new Float64Array(boxCount);
    const originX = new Float64Array(boxCount + 1);
    const originY = new Float64Array(boxCount + 1);
    let flaws = 0;
    for (const container of byDepth) {
      const layout = this.layouts[container];
      flaws += layout.crossings + OUT_OF_ORDER * layout.outOfOrder;
      originX[container] = this.contentX[container] + (container < boxCount ? x[container] : 0);
      originY[container] = this.contentY[container] + (container < boxCount ? y[container] : 0);
      const first = this.children.start[container];
      for (let k = first; k < this.children.start[container + 1]; k++) {
        const box = this.children.value[k];
        x[box] = originX[container] + layout.x[k - first] - this.w[box] / 2;
        y[box] = originY[container] + layout.y[k - first] - this.h[box] / 2;
      }
    }
    return {
      layouts: this.layouts.slice(),
      contents: this.contents.slice(),
      x,
      y,
      w: this.w.slice(),
      h: this.h.slice(),
      originX,
      originY,
      flaws,
    };
  }

  /** Where each edge would enter in the order of operands (NaN: where it is drawn). */
  private operandPlaces({ x, w }: Placed): Float64Array {
    const { edgeLoose, edgeTarget, targetPort } = this.graph;
    return Float64Array.from(edgeTarget, (box, e) => (edgeLoose?.[e] ? x[box] + targetPort[e] * w[box] : Number.NaN));
  }

  /** The whole drawing first, then open containers from the outside in. */
  private containersByDepth(): Int32Array {
    const { boxCount, container } = this.graph;
    const level = new Int32Array(boxCount + 1).fill(-1);
    let deepest = 0;
    level[boxCount] = 0;
    for (let b = 0; b < boxCount; b++) {
      if (!container[b]) continue;
      level[b] = this.depth[b] + 1;
      deepest = Math.max(deepest, level[b]);
    }
    return bucketBy(level, deepest + 1).value;
  }

  private layoutContainer(container: number): void {
    const flat = this.contentGraph(container);
    const content = contentOf(flat, this.nodeGap, this.rankGap);
    const key = flat.boundaryPortOrder ? withBoundaryPortOrder(content, flat.boundaryPortOrder) : content;
    let layout = this.unchangedLayout(container, content) ?? this.cache.find(key);
    if (layout) this.reused++;
    else {
      const large = isLarge(flat);
      const start = large && flat.previousX ? this.cache.large.placesFor(flat) : flat.start;
      layout = layoutFlat({ ...flat, start }, { ...this.options, progress: undefined }, this.effort);
      this.cache.keep(key, layout);
      if (large) this.cache.large.keep(flat, layout);
      this.laidOut++;
    }
    this.layouts[container] = layout;
    this.contents[container] = content;
    if (container === this.graph.boxCount) return;
    const insets = this.insetsOf(container);
    const width = layout.width + insets.left + insets.right;
    const height = layout.height + insets.top + insets.bottom;
    this.w[container] = Math.max(insets.leastWidth, width);
    this.h[container] = Math.max(insets.leastHeight, height);
    this.contentX[container] = insets.left + (this.w[container] - width) / 2;
    this.contentY[container] = insets.top;
    const { boundaryPortsOf } = this.parts;
    const boxes = this.children.start[container + 1] - this.children.start[container];
    for (let k = boundaryPortsOf.start[container]; k < boundaryPortsOf.start[container + 1]; k++) {
      const port = boundaryPortsOf.value[k];
      this.boundaryPortOffset[port] = this.contentX[container] + layout.x[boxes + k - boundaryPortsOf.start[container]];
    }
  }

  /** What did not change since the previous drawing stays, whatever order the outside now prefers. */
  private unchangedLayout(container: number, content: Float64Array): FlatLayout | undefined {
    const { previous } = this.graph;
    if (!previous || this.rounds === 0 || !this.hasBoundaryPorts(container)) return undefined;
    return this.cache.find(withPlaces(content, this.placesOf(container, previous.x)));
  }

  private remember({ layouts, contents, x }: Placed): void {
    for (const container of this.containersByDepth()) {
      if (this.hasBoundaryPorts(container))
        this.cache.keep(withPlaces(contents[container], this.placesOf(container, x)), layouts[container]);
    }
  }

  private hasBoundaryPorts(container: number): boolean {
    const { start } = this.parts.boundaryPortsOf;
    return start[container + 1] - start[container] > 1;
  }

  private placesOf(container: number, x: Float64Array): Float64Array {
    const { start, value } = this.children;
    return Float64Array.from(value.subarray(start[container], start[container + 1]), (box) => x[box]);
  }

  private insetsOf(container: number): Insets {
    const { width, height } = this.graph;
    const { padding, sideways } = this;
    const { boundaryPortsOf, boundaryPortOutward } = this.parts;
    const bounded = [false, false];
    for (let k = boundaryPortsOf.start[container]; k < boundaryPortsOf.start[container + 1]; k++)
      bounded[boundaryPortOutward[boundaryPortsOf.value[k]]] = true;
    // The gap next to the boundary ports is enough.
    const roomBefore = (room: number): number => (bounded[0] ? Math.max(0, room - BOUNDARY_PORT_GAP) : room);
    const bottom = bounded[1] ? Math.max(0, padding - BOUNDARY_PORT_GAP) : padding;
    if (sideways) {
      // The axes are swapped: the title's line is above the frame's content on screen, which is to its left here.
      const left = padding + width[container];
      return { left, right: padding, top: roomBefore(padding), bottom, leastWidth: 0, leastHeight: height[container] };
    }
    const top = roomBefore(padding / 2) + height[container];
    return { left: padding, right: padding, top, bottom, leastWidth: width[container], leastHeight: 0 };
  }

  /** The content of one container as a separate graph: its children, then its boundary ports, joined by the parts inside. */
  private contentGraph(container: number): FlatGraph {
    const { parts, children, graph } = this;
    const { partsOf, boundaryPortsOf } = parts;
    const first = children.start[container];
    const boxes = children.start[container + 1] - first;
    const ports = boundaryPortsOf.start[container + 1] - boundaryPortsOf.start[container];
    const count = boxes + ports;
    const width = new Float64Array(count);
    const height = new Float64Array(count);
    const pin = new Uint8Array(count);
    const previousX = new Float64Array(count).fill(Number.NaN);
    let stayed = 0;
    let boundaryPortOrder: Float64Array | undefined;
    for (let i = 0; i < boxes; i++) {
      const box = children.value[first + i];
      width[i] = this.w[box];
      height[i] = this.h[box];
      if (!graph.previous) continue;
      // Its middle: a group that is expanded grows to both sides, and its neighbours stay neighbours.
      previousX[i] = graph.previous.x[box] + graph.previous.width[box] / 2;
      if (!Number.isNaN(previousX[i])) stayed++;
    }
    for (let i = 0; i < ports; i++) {
      const port = boundaryPortsOf.value[boundaryPortsOf.start[container] + i];
      this.localBoundaryPort[port] = boxes + i;
      pin[boxes + i] = parts.boundaryPortOutward[port] ? 2 : 1;
      if (Number.isNaN(this.boundaryPortOrder[port])) continue;
      boundaryPortOrder ??= new Float64Array(count).fill(Number.NaN);
      boundaryPortOrder[boxes + i] = this.boundaryPortOrder[port];
    }
    const from = partsOf.start[container];
    const edges = partsOf.start[container + 1] - from;
    const edgeSource = new Int32Array(edges);
    const edgeTarget = new Int32Array(edges);
    const sourcePort = new Float64Array(edges);
    const targetPort = new Float64Array(edges);
    const closes = graph.edgeCloses && new Uint8Array(edges);
    const weight = graph.edgeWeight && new Int32Array(edges);
    const loosePorts = graph.edgeLoose && count <= MOST_BOXES ? new Uint8Array(edges) : undefined;
    for (let i = 0; i < edges; i++) {
      const p = partsOf.value[from + i];
      const e = parts.edge[p];
      if (closes) closes[i] = graph.edgeCloses![e];
      if (weight) weight[i] = graph.edgeWeight![e];
      const u = parts.fromBox[p];
      const v = parts.toBox[p];
      edgeSource[i] = u < 0 ? this.localBoundaryPort[parts.fromBoundaryPort[p]] : this.localIndex[u];
      edgeTarget[i] = v < 0 ? this.localBoundaryPort[parts.toBoundaryPort[p]] : this.localIndex[v];
      if (u >= 0) sourcePort[i] = this.portOf(u, parts.fromBoundaryPort[p], graph.sourcePort[e]);
      if (v >= 0) targetPort[i] = this.portOf(v, parts.toBoundaryPort[p], graph.targetPort[e]);
      if (loosePorts && v >= 0 && parts.toBoundaryPort[p] < 0) loosePorts[i] = graph.edgeLoose![e];
    }
    const earlier = this.layouts[container];
    const start = earlier && { x: earlier.x, across: earlier.across };
    return {
      nodeCount: count,
      width,
      height,
      edgeSource,
      edgeTarget,
      sourcePort,
      targetPort,
      loosePorts,
      closes,
      weight,
      pin,
      previousX: stayed > 1 ? previousX : undefined,
      boundaryPortOrder,
      start,
    };
  }

  /** Offset from the box's centre: of the boundary port of an open group, else of the given fraction (NaN: free). */
  private portOf(box: number, boundaryPort: number, fraction: number): number {
    if (boundaryPort >= 0) return this.boundaryPortOffset[boundaryPort] - this.w[box] / 2;
    return (fraction - 0.5) * this.w[box];
  }
}

function transposed(graph: CompoundGraph): CompoundGraph {
  return { ...graph, width: graph.height, height: graph.width };
}

function untransposed(layout: CompoundLayout): CompoundLayout {
  const points = layout.points.slice();
  for (let i = 0; i < points.length; i += 2) [points[i], points[i + 1]] = [points[i + 1], points[i]];
  return {
    ...layout,
    width: layout.height,
    height: layout.width,
    x: layout.y,
    y: layout.x,
    w: layout.h,
    h: layout.w,
    points,
  };
}
