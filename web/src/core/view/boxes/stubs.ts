/**
 * Sources that fan out to very many users (a mask, a table, a shared constant) are drawn as small named stubs where they are used,
 * not as edges across the page. The source itself stays where it is, with the users nearest to it.
 */

import { BoxKind, CATEGORIES, EdgeKind } from "../../program/types";
import type { Boxes } from "./boxes";
import { bucketBy } from "../../base/csr";
import type { Edges } from "../edges/edges";
import type { Placement } from "./placement";
import { isArgument, Role } from "../../program/roles";
import { plural } from "./texts";

const SHAPE = CATEGORIES.indexOf("shape");

/** The number of users from which on a source gets stubs: one that only holds a value; one that many groups use; any. */
const HOLDS = 6;
const SPREAD = 9;
const GROUPS = 5;
const ANY = 24;
/** Users of one container that share one stub; more of them get one each. */
const SHARED = 3;
/** More stubs than this at one box become one. */
const MOST_AT_BOX = 4;

export function addStubs(placement: Placement, edges: Edges): void {
  const { boxes } = placement;
  const boxCount = boxes.count;
  const leaving = bucketBy(
    edges.source.subarray(0, edges.count).map((box, e) => (edges.kind[e] === EdgeKind.Data ? box : -1)),
    boxCount,
  );
  /** Edges that become stubs at their target. */
  const atTarget: number[] = [];
  for (let source = 0; source < boxCount; source++) {
    const from = leaving.start[source];
    const to = leaving.start[source + 1];
    if (to - from < HOLDS || !boxes.isLeaf(source) || boxes.node[source] < 0) continue;
    const containers = new Map<number, number[]>();
    for (let i = from; i < to; i++) {
      const container = boxes.parent[edges.target[leaving.value[i]]];
      const list = containers.get(container);
      if (list) list.push(leaving.value[i]);
      else containers.set(container, [leaving.value[i]]);
    }
    const wide = to - from >= SPREAD && containers.size >= GROUPS;
    if (to - from >= ANY || wide || onlyHolds(placement, boxes.node[source])) cut(boxes, edges, source, containers, atTarget);
  }
  stubAtTargets(boxes, edges, atTarget);
}

/** A parameter, a constant, or one of them reshaped. */
function onlyHolds(placement: Placement, node: number): boolean {
  const { nodeRole, nodeCategory, inputs } = placement.traits.program;
  const holds = (n: number): boolean => isArgument(nodeRole[n]) || nodeRole[n] === Role.Constant;
  if (holds(node)) return true;
  if (nodeCategory[node] !== SHAPE) return false;
  for (let i = inputs.start[node]; i < inputs.start[node + 1]; i++) if (!holds(inputs.value[i])) return false;
  return true;
}

/** Cuts a source's edges: users of one container share a stub if they are few, otherwise each gets its own (later). */
function cut(boxes: Boxes, edges: Edges, source: number, containers: Map<number, number[]>, atTarget: number[]): void {
  const home = containers.has(boxes.parent[source]) ? boxes.parent[source] : (containers.keys().next().value as number);
  for (const [container, list] of containers) {
    const few = new Set(list.map((e) => edges.target[e])).size <= SHARED;
    if (few && container === home) continue;
    if (few) {
      const stub = addStub(boxes, source, container, container);
      for (const e of list) edges.source[e] = stub;
    } else {
      const nearest = container === home ? edges.target[list[0]] : -1;
      for (const e of list) if (edges.target[e] !== nearest) atTarget.push(e);
    }
  }
}

/** One stub per source at each target; where many would crowd around one box, a single one for all of them. */
function stubAtTargets(boxes: Boxes, edges: Edges, cutEdges: readonly number[]): void {
  const byTarget = new Map<number, number[]>();
  for (const e of cutEdges) {
    const list = byTarget.get(edges.target[e]);
    if (list) list.push(e);
    else byTarget.set(edges.target[e], [e]);
  }
  const gone = new Uint8Array(edges.count);
  for (const [target, list] of byTarget) {
    const sources = new Set(list.map((e) => edges.source[e]));
    if (sources.size > MOST_AT_BOX) {
      const first = list[0];
      const stub = addStub(boxes, edges.source[first], target, boxes.parent[target]);
      boxes.key[stub] = `s:*@${boxes.key[target]}`;
      boxes.title[stub] = plural(sources.size, "value");
      boxes.subtitle[stub] = "";
      boxes.node[stub] = -1;
      edges.source[first] = stub;
      for (let i = 1; i < list.length; i++) {
        edges.merged[first] += edges.merged[list[i]];
        gone[list[i]] = 1;
      }
      continue;
    }
    const stubs = new Map<number, number>();
    for (const e of list) {
      const source = edges.source[e];
      let stub = stubs.get(source);
      if (stub === undefined) {
        stub = addStub(boxes, source, target, boxes.parent[target]);
        stubs.set(source, stub);
      }
      edges.source[e] = stub;
    }
  }
  edges.remove(gone);
}

function addStub(boxes: Boxes, source: number, at: number, container: number): number {
  const stub = boxes.add(BoxKind.Stub, container, `s:${boxes.key[source]}@${at < 0 ? "" : boxes.key[at]}`, boxes.node[source], -1);
  boxes.title[stub] = boxes.title[source];
  boxes.subtitle[stub] = boxes.subtitle[source];
  boxes.category[stub] = boxes.category[source];
  return stub;
}
