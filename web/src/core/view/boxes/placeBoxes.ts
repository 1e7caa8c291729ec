/** From groups and nodes to boxes: which are shown, which are open, and the box of every node of an instance. */

import { nameAndClass } from "../../program/names";
import { BoxKind, CATEGORIES } from "../../program/types";
import { recomputedIn } from "../groups/recomputed";
import { onlyUser } from "../groups/stackParameters";
import { findTied } from "../groups/tiedWeights";
import { decideFates, Fate } from "./fates";
import { bindOperands, chooses, INLINED, Instance, NOWHERE, PASSED_ON, yieldsForCaller } from "./instance";
import { escapeName } from "../choose/keys";
import { isClosedRoot, outsideRoot, placeRoot } from "./root";
import { isOpenCall } from "./sinkParameters";
import { mayBeAside, placeUnconnected } from "./unconnected";
import { isOpen } from "../choose/options";
import { Control, Forwards } from "../../program/ops";
import type { Traits } from "../traits";
import type { Placement } from "./placement";
import { isArgument, isNamed, Role } from "../../program/roles";
import { countedNames, groupClass, groupSubtitle, groupTitle, loopText, nodeTitle, plural, rangeTitle, typeText } from "./texts";

const OUTPUT = CATEGORIES.indexOf("output");

/** With more boxes than this, calls stay closed whatever the depth. */
const MOST_BOXES = 400_000;

/** Places the shown graph and everything that is open inside it. */
export function placeAll(placement: Placement, graph: number): void {
  const frame = placeRoot(placement, graph);
  const root = new Instance(placement.traits, graph, frame, 0, "", undefined, -1, placement.options.flatten, placement.tree);
  placement.promised = root.count;
  placement.instances.push(root);
  for (let i = 0; i < placement.instances.length; i++) placeInstance(placement, placement.instances[i]);
}

function placeInstance(placement: Placement, instance: Instance): void {
  if (isClosedRoot(placement, instance)) {
    placeNodes(placement, instance, new Uint8Array(instance.count).fill(Fate.Shown), undefined);
    return;
  }
  const fates = decideFates(placement, instance);
  const groups = instance.flat ? undefined : placeGroups(placement, instance, fates);
  placeNodes(placement, instance, fates, groups);
}

interface GroupPlaces {
  /** Box of each group of the graph (by its place among them), or of the closed container that hides it; NOWHERE if empty. */
  readonly box: Int32Array;
  /** 1: its nodes have their own boxes. */
  readonly open: Uint8Array;
  /** The box that contains what is in an open group: its own, or that of the group around it if it has no frame. */
  readonly holder: Int32Array;
  /** 1: open, but without a frame. */
  readonly lifted: Uint8Array;
  readonly level: Int32Array;
  readonly path: string[];
}

function placeGroups(placement: Placement, instance: Instance, fates: Uint8Array): GroupPlaces {
  const { tree, boxes, folding, traits } = placement;
  const first = tree.firstGroup[instance.graph];
  const count = tree.firstGroup[instance.graph + 1] - first;
  const shown = new Int32Array(count);
  const ops = new Int32Array(count);
  /** An operation of each group; where it has only one, that. */
  const someOp = new Int32Array(count).fill(-1);
  const { nodeRole } = traits.program;
  const mayBe = mayBeAside(placement, instance, fates);
  for (let i = 0; i < fates.length; i++) {
    const g = tree.nodeGroup[instance.first + i];
    if (g < 0 || fates[i] !== Fate.Shown || mayBe?.(instance.first + i)) continue;
    shown[g - first]++;
    if (isArgument(nodeRole[instance.first + i]) || nodeRole[instance.first + i] === Role.Constant) continue;
    ops[g - first]++;
    someOp[g - first] = instance.first + i;
  }
  for (let i = count - 1; i >= 0; i--) {
    const above = tree.parent[first + i];
    if (above < 0) continue;
    shown[above - first] += shown[i];
    ops[above - first] += ops[i];
    if (someOp[i] >= 0) someOp[above - first] = someOp[i];
  }
  const places: GroupPlaces = {
    box: new Int32Array(count).fill(NOWHERE),
    open: new Uint8Array(count),
    holder: new Int32Array(count),
    lifted: new Uint8Array(count),
    level: new Int32Array(count),
    path: new Array<string>(count),
  };
  for (let i = 0; i < count; i++) {
    if (places.box[i] >= 0) continue;
    const g = first + i;
    const above = tree.parent[g] < 0 ? -1 : tree.parent[g] - first;
    if (above >= 0 && !places.open[above]) {
      places.box[i] = places.box[above];
      continue;
    }
    if (shown[i] === 0) continue;
    const stack = groupStack(placement, instance, places, above, g);
    const drawn = stack >= 0 && folding ? folding.first(stack) - first : i;
    const only = ops[drawn] === 1 && tree.opCount[first + drawn] === 1 ? someOp[drawn] : -1;
    if (places.box[drawn] < 0) placeGroup(placement, instance, places, above, first + drawn, stack, only);
    if (stack < 0 || !folding) continue;
    places.box[i] = places.box[drawn];
    if (boxes.open[places.box[i]] === 1 && drawn !== i) placement.repeats.add(instance, folding, stack, g);
  }
  return places;
}

/** The stack that a group is drawn in, or -1. */
function groupStack(placement: Placement, instance: Instance, places: GroupPlaces, above: number, group: number): number {
  const { folding, options } = placement;
  const stack = folding ? folding.stackOf[group] : -1;
  if (!folding || stack < 0 || options.unfolded.size === 0) return stack;
  return options.unfolded.has(`${instance.prefix}x:${groupPath(placement, places, above, folding.first(stack))}`) ? -1 : stack;
}

/** Adds the box of a group, or of the stack whose first member it is. `only`: the single operation in it, or -1. */
function placeGroup(
  placement: Placement,
  instance: Instance,
  places: GroupPlaces,
  above: number,
  group: number,
  stack: number,
  only: number,
): void {
  const { tree, options, boxes, traits, folding } = placement;
  const path = groupPath(placement, places, above, group);
  const key = `${instance.prefix}${stack >= 0 ? "x" : "g"}:${path}`;
  const level = above < 0 ? instance.level : places.level[above] + 1;
  const open = isOpen(options, key, level, placement.groupDepth);
  const around = above < 0 ? instance.frame : places.holder[above];
  const i = group - tree.firstGroup[instance.graph];
  places.open[i] = open ? 1 : 0;
  places.level[i] = level;
  places.path[i] = path;
  if (options.rules.liftSingles && only >= 0 && open && stack < 0 && !options.open.has(key)) {
    places.lifted[i] = 1;
    places.holder[i] = around;
    return;
  }
  const box = boxes.add(stack >= 0 ? BoxKind.Stack : BoxKind.Group, around, key, -1, group);
  places.box[i] = box;
  places.holder[i] = box;
  boxes.open[box] = open ? 1 : 0;
  boxes.expandable[box] = open ? 0 : 1;
  boxes.title[box] = groupTitle(traits.program, tree.groupName, tree.parent, group);
  const kind = groupClass(traits.program, tree.groupName, group);
  const type = only >= 0 && !open ? typeText(traits.program, only, options.layouts) : "";
  boxes.subtitle[box] = type
    ? [kind, type].filter(Boolean).join(" · ")
    : groupSubtitle(kind, tree.opCount[group], tree.parameterElements[group], open ? "" : loopText(traits.program, tree.loop[group]));
  if (stack >= 0 && folding) {
    boxes.repeat[box] = folding.size(stack);
    boxes.title[box] = rangeTitle(boxes.title[box], groupTitle(traits.program, tree.groupName, tree.parent, folding.last(stack)));
    if (open) placement.repeats.add(instance, folding, stack, group);
  }
}

function groupPath(placement: Placement, places: GroupPlaces, above: number, group: number): string {
  const name = escapeName(placement.traits.program.strings.at(placement.tree.groupName[group]));
  return above < 0 ? name : `${places.path[above]}/${name}`;
}

function placeNodes(placement: Placement, instance: Instance, fates: Uint8Array, groups: GroupPlaces | undefined): void {
  const { tree, boxes, traits, options, repeats, folding } = placement;
  const { program } = traits;
  const { strings, nodeId, nodeCategory } = program;
  const firstGroup = tree.firstGroup[instance.graph];
  const tied = findTied(traits);
  const isClosed = isClosedRoot(placement, instance);
  const isOutside = !instance.outer && instance.frame >= 0 ? outsideRoot(placement, instance.graph) : undefined;
  const isSeen = (group: number) =>
    group < 0 || !groups || groups.open[group - firstGroup] === 1 || groups.box[group - firstGroup] === NOWHERE;
  const aside = isClosed ? undefined : placeUnconnected(placement, instance, fates, isSeen);
  for (let i = 0; i < instance.count; i++) {
    const n = instance.first + i;
    const fate = fates[i];
    if (fate === Fate.Passed || fate === Fate.Inlined) {
      instance.boxOf[i] = fate === Fate.Passed ? PASSED_ON : INLINED;
      continue;
    }
    if (fate === Fate.Gone) continue;
    let parent = instance.frame;
    let level = instance.level;
    if (isOutside?.(n)) {
      parent = -1;
    } else if (isClosed) {
      instance.boxOf[i] = parent;
      boxes.nodesInside[parent]++;
      continue;
    } else if (aside?.isMember(n)) {
      if (!boxes.open[aside.box]) {
        instance.boxOf[i] = aside.box;
        boxes.nodesInside[aside.box]++;
        continue;
      }
      parent = aside.box;
    } else if (groups && tree.nodeGroup[n] >= 0) {
      const g = tree.nodeGroup[n] - firstGroup;
      if (!groups.open[g]) {
        instance.boxOf[i] = groups.box[g];
        boxes.nodesInside[groups.box[g]]++;
        continue;
      }
      parent = groups.holder[g];
      level = groups.level[g] + 1;
    }
    const step = `n:${escapeName(strings.at(nodeId[n]))}`;
    const stack = nodeStack(placement, instance, n);
    if (stack >= 0 && folding !== undefined && folding.first(stack) !== tree.groupCount + n) {
      const first = folding.first(stack) - tree.groupCount - instance.first;
      if (instance.boxOf[first] >= 0) {
        instance.boxOf[i] = instance.boxOf[first];
        boxes.nodesInside[instance.boxOf[first]]++;
        continue;
      }
    }
    const key = stack >= 0 ? `${instance.prefix}x:${step}` : instance.prefix + step;
    const callCount = program.calls.start[n + 1] - program.calls.start[n];
    const reducer = callCount > 0 ? reducerText(traits, n) : "";
    const calls = callCount > 0 && !(reducer && options.rules.inlineReducers);
    const kind = stack >= 0 ? BoxKind.Stack : calls ? BoxKind.Call : BoxKind.Node;
    const box = boxes.add(kind, parent, key, n, -1);
    boxes.category[box] = nodeCategory[n];
    const isResult = traits.index.isOutput[n] === 1 && traits.plumbing.kind[n] === Forwards.Tuple;
    if (isResult) boxes.category[box] = OUTPUT;
    const name = nodeTitle(program, instance.received.get(n) ?? n, instance.unframed && stack < 0);
    const results = isResult && !instance.outer && instance.graph === program.entry ? countedNames(program.results) : "";
    boxes.subtitle[box] = (results || typeText(program, n, options.layouts)) + (tied[n] ? " · tied" : "");
    if (calls) placeCalls(placement, instance, n, box, key, level);
    if (calls && !boxes.open[box]) boxes.subtitle[box] = [recomputedText(traits, n), boxes.subtitle[box]].filter(Boolean).join(" · ");
    boxes.title[box] = isResult ? "output" : reducer && !boxes.open[box] ? `${name}: ${reducer}` : name;
    if (options.names) {
      if (stack < 0) nameAfterId(placement, box);
    } else if (groups && tree.nodeGroup[n] >= 0 && groups.lifted[tree.nodeGroup[n] - firstGroup])
      nameAfterGroup(placement, box, tree.nodeGroup[n]);
    boxes.nodesInside[box] = 1;
    instance.boxOf[i] = box;
    if (stack >= 0 && folding !== undefined) {
      boxes.repeat[box] = folding.size(stack);
      if (isNamed(program.nodeRole[n])) {
        boxes.title[box] += " …";
        if (folding.members(stack).some((item) => typeText(program, item - tree.groupCount, options.layouts) !== boxes.subtitle[box]))
          boxes.subtitle[box] = "";
      }
    }
  }
  repeats.settle(instance);
}

/**
 * A single operation has the name of its group as title, and its op in the second line: where that only calls a graph
 * (`wrap_with_set_grad_enabled`), the class of the group. Numbers are not names: they come second.
 */
function nameAfterGroup(placement: Placement, box: number, group: number): void {
  const { boxes, traits, tree } = placement;
  if (traits.program.nodeRole[boxes.node[box]] !== Role.Op) return;
  const [name, kind] = nameAndClass(traits.program.strings.at(tree.groupName[group]));
  const op = (boxes.kind[box] === BoxKind.Call && kind) || boxes.title[box];
  if (name === op) return;
  const isNumber = /^\d+$/.test(name);
  if (!isNumber) boxes.title[box] = name;
  const second = isNumber ? groupTitle(traits.program, tree.groupName, tree.parent, group) : op;
  boxes.subtitle[box] = [second, boxes.subtitle[box]].filter(Boolean).join(" · ");
}

/** The id as the title; the op goes to the second line, unless it is part of the id ("dot.105", "gemm_0"). */
function nameAfterId({ boxes, traits }: Placement, box: number): void {
  const { strings, nodeId } = traits.program;
  const id = strings.at(nodeId[boxes.node[box]]);
  const what = boxes.title[box];
  boxes.title[box] = id;
  const isNumbered = id.startsWith(what) && /^(\.|_\d+$)/.test(id.slice(what.length));
  if (what !== id && !isNumbered) boxes.subtitle[box] = [what, boxes.subtitle[box]].filter(Boolean).join(" · ");
}

/** The stack of nodes that a node is drawn in, or -1. */
function nodeStack(placement: Placement, instance: Instance, node: number): number {
  const { folding, tree, options, traits } = placement;
  const stack = folding ? folding.stackOf[tree.groupCount + node] : -1;
  if (!folding || stack < 0 || instance.flat) return -1;
  const first = traits.program.strings.at(traits.program.nodeId[folding.first(stack) - tree.groupCount]);
  const user = isArgument(traits.program.nodeRole[node]) ? onlyUser(traits, node) : -1;
  if (user >= 0 && isOpenCall(placement, instance, user)) return -1;
  return options.unfolded.has(`${instance.prefix}x:n:${escapeName(first)}`) ? -1 : stack;
}

function placeCalls(placement: Placement, instance: Instance, node: number, box: number, key: string, level: number): void {
  const { boxes, traits, options } = placement;
  const { calls, graphStart, strings, graphName, nodeText } = traits.program;
  const from = calls.start[node];
  const callCount = calls.start[node + 1] - from;
  let inside = 0;
  for (let c = 0; c < callCount; c++) {
    const graph = calls.value[from + c];
    if (instance.shows(graph)) return;
    inside += graphStart[graph + 1] - graphStart[graph];
  }
  boxes.expandable[box] = 1;
  if (!isOpen(options, key, level, placement.callDepth)) return;
  if (placement.promised + inside > MOST_BOXES && !options.open.has(key)) {
    const remark = "Some called graphs stay closed: the picture would have too many boxes.";
    if (!placement.remarks.includes(remark)) placement.remarks.push(remark);
    return;
  }
  placement.promised += inside;
  boxes.open[box] = 1;
  boxes.expandable[box] = 0;
  if (nodeText[node] >= 0 && traits.isFusionBody[calls.value[from]])
    boxes.subtitle[box] = `${strings.at(nodeText[node])} · ${boxes.subtitle[box]}`;
  const flat = options.flatten || traits.isFusionBody[calls.value[from]] === 1;
  const bodies: Instance[] = [];
  for (let c = 0; c < callCount; c++) {
    const graph = calls.value[from + c];
    let frame = box;
    let prefix = `${key}>`;
    if (callCount > 1) {
      const frameKey = `${key}>c:${c}`;
      frame = boxes.add(BoxKind.Call, box, frameKey, node, graph);
      const open = !options.closed.has(frameKey);
      boxes.open[frame] = open ? 1 : 0;
      boxes.expandable[frame] = open ? 0 : 1;
      boxes.title[frame] = calledTitle(traits, node, c);
      boxes.subtitle[frame] = `${strings.at(graphName[graph])} · ${plural(graphStart[graph + 1] - graphStart[graph], "node")}`;
      boxes.nodesInside[frame] = graphStart[graph + 1] - graphStart[graph];
      boxes.category[frame] = boxes.category[box];
      prefix = `${frameKey}>`;
      if (!open) continue;
    }
    const body = new Instance(traits, graph, frame, level + 1, prefix, instance, node, flat, placement.tree);
    body.operandOf = bindOperands(traits, node, c);
    bodies.push(body);
    placement.instances.push(body);
  }
  if (bodies.length > 0) instance.inside.set(node, bodies);
}

/** "93 ops recomputed": what a closed call does again for the backward half. Where it is all of it, the group around the call says so. */
function recomputedText(traits: Traits, node: number): string {
  const { calls } = traits.program;
  const { ops, isRecomputed } = recomputedIn(traits);
  if (isRecomputed(node)) return "";
  let count = 0;
  for (let c = calls.start[node]; c < calls.start[node + 1]; c++) if (!traits.isFusionBody[calls.value[c]]) count += ops[calls.value[c]];
  return count > 0 ? `${plural(count, "op")} recomputed` : "";
}

/** The role of a called graph: a loop's condition or body, a branch, or otherwise its name. */
function calledTitle(traits: Traits, node: number, index: number): string {
  const { calls, strings, nodeOp, ops, graphName } = traits.program;
  const graph = calls.value[calls.start[node] + index];
  if (ops.control[nodeOp[node]] === Control.While) return yieldsForCaller(traits.program, node, graph) ? "body" : "condition";
  return chooses(traits.program, node) ? `branch ${index}` : strings.at(graphName[graph]);
}

/** "add" for a node that calls nothing but trivial reducers, otherwise nothing. */
function reducerText(traits: Traits, node: number): string {
  const { calls, strings, ops } = traits.program;
  if (chooses(traits.program, node)) return "";
  const titles = new Set<string>();
  for (let i = calls.start[node]; i < calls.start[node + 1]; i++) {
    const op = traits.reducerOp[calls.value[i]];
    if (op < 0) return "";
    titles.add(strings.at(ops.title[op]));
  }
  return [...titles].join(", ");
}
