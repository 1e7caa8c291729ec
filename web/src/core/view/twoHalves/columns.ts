/** The view with forward and backward side by side: both halves open, and repeated layers one by one. */
import { Block, blocksOf } from "../../base/halves";
import { bytesText, countText } from "../../text/quantities";
import { UPDATE } from "../../program/names";
import { EdgeKind, type ProgramData, type ViewSpec, type Visible } from "../../program/types";
import { hasWideCalls, isCalm, MOST_WITH_LOOPS, openIndexOps, wideGroups } from "../initial/expansion";
import { PAGE } from "../initial/depth";
import { hasAllLoopsOpen, openLoops } from "../initial/loops";
import { memoized } from "../../base/memoized";
import { halvesGrouping, halvesOf, isTooDeep, NO_HALVES, TOO_DEEP } from "./halves";
import { build } from "../build";
import { savedOutputs, stacksOf, storageOf } from "./saved";

/** The greatest depth that is tried by default. A greater one is a wish for everything. */
const DEEPEST_TRIED = 4;
/** On an edge whose tensors are all counted on others. */
const SAME_TENSOR = "same tensor";
/** Two halves are about this many boxes wide: a wider update would push them to the middle of a wide page. */
const WIDEST_UPDATE = 4;

export function buildTwoHalves(program: ProgramData, request: ViewSpec): Visible {
  const spec: ViewSpec = { ...request, groupBy: request.groupBy ?? halvesGrouping(program)?.name };
  const fixed = spec.flatten || (spec.depth !== undefined && spec.depth > DEEPEST_TRIED);
  const visible = fixed ? unfolded(program, spec, MOST_APART) : asItFits(program, { ...spec, calls: false });
  if (!spec.flatten && isTooDeep(visible)) return { ...visible, remarks: [...visible.remarks, TOO_DEEP] };
  const halves = halvesOf(visible);
  // A flat view has no groups, whatever the program has.
  if (!halves) return spec.flatten && halvesGrouping(program) ? visible : { ...visible, remarks: [...visible.remarks, NO_HALVES] };
  const block = blocksOf(visible, halves);
  const edgeText = savedTexts(program, visible, block);
  const updates = visible.title.some((title, box) => visible.parent[box] < 0 && title.split(" › ")[0] === UPDATE);
  const again = edgeText.some((text) => text?.startsWith(SAME_TENSOR)) ? ` ("${SAME_TENSOR}": on another edge, too)` : "";
  const outer = updates ? "; outer edges lead to the update" : "";
  const reading = `Forward ↓ left, backward ↑ right; horizontal edges are saved tensors (${savedInAll(program)}), each counted once${again}${outer}.`;
  const texts = edgeText.map((text, e) => text ?? visible.edgeText?.[e]);
  return { ...visible, edgeText: texts, remarks: [...visible.remarks, ...(edgeText.some(Boolean) ? [reading] : [])] };
}

/** More boxes are not a first sight, nor is a tangle of edges, and more nodes take too long to find out. */
const MOST_AT_FIRST = 2 * PAGE;
const MOST_NODES = 200_000;

/** Is a program best seen at first with its halves side by side? */
export function opensInHalves(program: ProgramData): boolean {
  if (program.nodeCount > MOST_NODES || !halvesGrouping(program)) return false;
  const visible = buildTwoHalves(program, { forwardBackward: true });
  return visible.boxCount <= MOST_AT_FIRST && isCalm(visible) && halvesOf(visible) !== undefined;
}

/** What each edge from the forward to the backward half saves; a value that several read is counted on the first, so that the sum is right. */
function savedTexts(program: ProgramData, visible: Visible, block: Uint8Array): (string | undefined)[] {
  const { outputs, types } = program;
  const saved = savedOutputs(program);
  const storage = storageOf(program);
  const stacks = stacksOf(program);
  const counted = new Set<number>();
  return Array.from(visible.edgeSource, (source, e) => {
    if (visible.edgeKind[e] !== EdgeKind.Data || block[source] !== Block.Forward || block[visible.edgeTarget[e]] !== Block.Backward)
      return undefined;
    const values = [...new Set((visible.edgeValues?.[e] ?? []).flatMap((at) => [storage[at], ...(stacks.get(storage[at]) ?? [])]))].filter(
      (at) => saved.has(at),
    );
    const fresh = values.filter((at) => !counted.has(at));
    for (const at of fresh) counted.add(at);
    if (fresh.length === 0) return values.length > 1 ? `${SAME_TENSOR}s` : values.length ? SAME_TENSOR : undefined;
    const bytes = fresh.reduce((sum, at) => sum + (types.bytes[outputs.value[at]] < 0 ? Number.NaN : types.bytes[outputs.value[at]]), 0);
    return savedText(fresh.length, bytes);
  });
}

/** "33, 1.4 MB": as many as `opscope info` and the panel count. */
function savedInAll(program: ProgramData): string {
  const sizes = Array.from(savedOutputs(program).values(), ({ bytes }) => bytes);
  const count = countText(sizes.length);
  return sizes.includes(-1) ? count : `${count}, ${bytesText(sizes.reduce((sum, bytes) => sum + bytes, 0))}`;
}

/** "33 saved · 1.4 MB" */
function savedText(values: number, bytes: number): string {
  return [values > 1 ? `${values} saved` : "saved", ...(Number.isNaN(bytes) ? [] : [bytesText(bytes)])].join(" · ");
}

/**
 * As deep as was asked for, or as fits on a page, so that layers are next to layers; independent of what else is open, so that expanding a group moves nothing
 * else. An update that would be wider than the halves is closed, and so is what computes positions and masks.
 */
function asItFits(program: ProgramData, spec: ViewSpec): Visible {
  const { open = [], closed = [], ...plain } = spec;
  const { depth, view, aside } = fitting(program, plain);
  const shut = [...closed, ...aside.filter((key) => !open.includes(key))];
  const fits = (tried: Visible): boolean => inHalves(tried).length <= MOST_WITH_LOOPS && !hasWideCalls(tried);
  const loops = openLoops(program, { ...plain, depth, closed: shut }, view, fits);
  if (!loops || !hasAllLoopsOpen(program, loops.view))
    return open.length + shut.length === 0 ? view : unfolded(program, { ...spec, depth, closed: shut });
  const opened = loops.open.filter((key) => !shut.includes(key));
  return unfolded(program, { ...spec, depth, open: [...open, ...opened], closed: loops.closed.filter((key) => !open.includes(key)) });
}

interface Fitting {
  readonly depth: number;
  readonly view: Visible;
  /** Groups that are closed all the same: outside the halves, wider than an update may be; anywhere, positions and masks. */
  readonly aside: readonly string[];
}

const fittings = memoized((_: ProgramData) => new Map<string, Fitting>());

/**
 * The view as deep as fits, kept for the last options: every picture with other groups open begins with it. How deep that is does not depend
 * on how things are drawn (values as boxes, all nodes), so that a display option opens and closes nothing.
 */
function fitting(program: ProgramData, plain: ViewSpec): Fitting {
  const known = fittings(program);
  const keyOf = (spec: ViewSpec): string => {
    const options = Object.entries(spec).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
    return JSON.stringify(options.sort(([x], [y]) => (x < y ? -1 : 1)));
  };
  const { graph, groupBy, depth, calls, fold, rules, hideRoles, forwardBackward, unfolded: apart } = plain;
  const isPart = plain.around?.length || plain.paths || plain.only;
  const undrawn: ViewSpec = isPart ? plain : { graph, groupBy, depth, calls, fold, rules, hideRoles, forwardBackward, unfolded: apart };
  const key = keyOf(undrawn);
  const found = known.get(key) ?? findFitting(program, undrawn);
  known.clear();
  known.set(key, found);
  return keyOf(plain) === key ? found : { ...found, view: unfolded(program, { ...plain, depth: found.depth }) };
}

function findFitting(program: ProgramData, plain: ViewSpec): Fitting {
  let depth = plain.depth ?? 1;
  let view = unfolded(program, { ...plain, depth });
  while (plain.depth === undefined && depth < DEEPEST_TRIED && inHalves(view).length <= PAGE) {
    const folded = build(program, { ...plain, depth: depth + 1 });
    // One by one they would be even more.
    if (inHalves(folded).length > PAGE) break;
    const deeper = unfolded(program, { ...plain, depth: depth + 1 }, undefined, folded);
    if (inHalves(deeper).length > PAGE) break;
    [depth, view] = [depth + 1, deeper];
  }
  const inside = new Set(inHalves(view));
  const wide = wideGroups(view, WIDEST_UPDATE).filter((box) => !inside.has(box));
  return { depth, view, aside: [...wide.map((box) => view.key[box]), ...openIndexOps(program, view)] };
}

/** More layers than this below each other are a stack, and so are layers that are all expanded and have more boxes than this. */
const MOST_LAYERS = 8;
const MOST_APART = 2000;

/** Stacks of repeated groups in the halves are shown one by one unless they are many; repeated operations (an optimizer's) stay folded. */
function unfolded(program: ProgramData, spec: ViewSpec, mostBoxes = Number.POSITIVE_INFINITY, folded = build(program, spec)): Visible {
  const repeated = inHalves(folded).filter((box) => folded.repeat[box] > 1 && folded.node[box] < 0);
  const layersIn = new Map<number, number>();
  for (const box of repeated) layersIn.set(folded.parent[box], (layersIn.get(folded.parent[box]) ?? 0) + folded.repeat[box]);
  // The same module has as many layers in both halves, but their stacks may differ.
  const many = new Set([...layersIn].filter(([, layers]) => layers > MOST_LAYERS).map(([module]) => nameInHalf(folded, module)));
  const stacks = repeated.filter((box) => !many.has(nameInHalf(folded, folded.parent[box]))).map((box) => folded.key[box]);
  if (stacks.length === 0) return folded;
  const apart = build(program, { ...spec, unfolded: [...(spec.unfolded ?? []), ...stacks] });
  return apart.boxCount > mostBoxes ? folded : apart;
}

/** The title of a group, which is that of its counterpart; "" for the halves themselves. */
function nameInHalf({ parent, title }: Visible, group: number): string {
  return group < 0 || parent[group] < 0 ? "" : title[group];
}

function inHalves(visible: Visible): number[] {
  const halves = halvesOf(visible);
  if (!halves) return [];
  const block = blocksOf(visible, halves);
  return [...block.keys()].filter((box) => block[box] === Block.Forward || block[box] === Block.Backward);
}
