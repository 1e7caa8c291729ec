/** From a view to the input of the layout: every box with the size of its text. */
import type { CompoundGraph, PreviousPlaces } from "../layout/types";
import { BoxKind, CATEGORIES, EdgeKind, type Visible } from "../program/types";
import { type BoxContent, type BoxSize, isGroup, planBox } from "./boxText";
import { Shape } from "./types";

const ARROW_ROOM = 10;
/** With more edges, heads may overlap: a box as wide as the page would be worse. */
const MOST_ARROWS = 64;

const PARAMETER = CATEGORIES.indexOf("parameter");
const CONSTANT = CATEGORIES.indexOf("constant");
const LEAF = CATEGORIES.indexOf("leaf");

export function shapeOf(visible: Visible, box: number): Shape {
  if (visible.open[box]) return Shape.Frame;
  const kind = visible.kind[box];
  if (visible.repeat[box] > 1) return Shape.Stack;
  if (visible.rows?.[box]?.length) return Shape.Card;
  if (kind === BoxKind.Stub || kind === BoxKind.Value || kind === BoxKind.Omitted) return Shape.Pill;
  const category = visible.category[box];
  const small = category === PARAMETER || category === CONSTANT || category === LEAF;
  return kind === BoxKind.Node && small && !visible.notes[box]?.length ? Shape.Pill : Shape.Card;
}

/** The compound graph of a view: sizes from measured text, edges from the view. */
export function measure(visible: Visible, previous?: PreviousPlaces): CompoundGraph {
  const count = visible.boxCount;
  const width = new Float64Array(count);
  const height = new Float64Array(count);
  const sizes = new Sizes(visible);
  for (let box = 0; box < count; box++) {
    const size = sizes.of(box);
    width[box] = size.width;
    height[box] = size.height;
  }
  makeRoomForArrows(visible, width);
  return {
    boxCount: count,
    parent: visible.parent,
    container: visible.open,
    width,
    height,
    edgeSource: visible.edgeSource,
    edgeTarget: visible.edgeTarget,
    sourcePort: visible.sourcePort,
    targetPort: visible.targetPort,
    edgeLoose: isNumbered(visible),
    edgeValue: visible.edgeValue,
    edgeWeight: visible.edgeCountMerged,
    ...(visible.edgeKind.includes(EdgeKind.Carried)
      ? { edgeCloses: visible.edgeKind.map((kind) => (kind === EdgeKind.Carried ? 1 : 0)) }
      : {}),
    previous,
  };
}

/** Most boxes of a large program have the texts of others, and so their size. Of more texts than this, further ones are not remembered. */
const MOST_REMEMBERED = 50_000;

class Sizes {
  /** By title, subtitle, and what else there is to a box without notes and labels. */
  private readonly remembered = new Map<string, Map<string, (BoxSize | undefined)[]>>();
  private count = 0;

  constructor(private readonly visible: Visible) {}

  of(box: number): BoxSize {
    const { visible } = this;
    if (visible.notes[box]?.length || visible.rows?.[box] || visible.growth || visible.repeat[box] !== 1) return this.planned(box);
    const title = visible.title[box],
      subtitle = visible.subtitle[box];
    const look =
      shapeOf(visible, box) * 8 + visible.expandable[box] * 4 + (isGroup(visible, box) ? 2 : 0) + (isValue(visible, box) ? 1 : 0);
    const looks = this.looksOf(title, subtitle);
    const size = looks?.[look] ?? this.planned(box);
    if (looks) looks[look] = size;
    return size;
  }

  private looksOf(title: string, subtitle: string): (BoxSize | undefined)[] | undefined {
    let subtitles = this.remembered.get(title);
    let looks = subtitles?.get(subtitle);
    if (looks || this.count === MOST_REMEMBERED) return looks;
    this.count++;
    if (!subtitles) {
      subtitles = new Map();
      this.remembered.set(title, subtitles);
    }
    looks = [];
    subtitles.set(subtitle, looks);
    return looks;
  }

  private planned(box: number): BoxSize {
    const size: BoxSize = { width: 0, height: 0 };
    planBox(contentOf(this.visible, box), size);
    return size;
  }
}

const isValue = (visible: Visible, box: number): boolean => visible.kind[box] === BoxKind.Value;

/** Which edges have a number at their head. */
function isNumbered({ edgeCount, edgeOperand }: Visible): Uint8Array | undefined {
  if (!edgeOperand) return undefined;
  const numbered = new Uint8Array(edgeCount);
  for (let e = 0; e < edgeCount; e++) if (edgeOperand[e] >= 0) numbered[e] = 1;
  return numbered;
}

/** Edges that enter side by side need room for their heads. */
function makeRoomForArrows(visible: Visible, width: Float64Array): void {
  const entering = new Int32Array(visible.boxCount);
  for (let e = 0; e < visible.edgeCount; e++) if (!Number.isNaN(visible.targetPort[e])) entering[visible.edgeTarget[e]]++;
  for (let box = 0; box < visible.boxCount; box++) {
    if (visible.open[box] === 0) width[box] = Math.max(width[box], Math.min(entering[box] + 1, MOST_ARROWS) * ARROW_ROOM);
  }
}

function contentOf(visible: Visible, box: number): BoxContent {
  return {
    shape: shapeOf(visible, box),
    title: visible.title[box],
    subtitle: visible.subtitle[box],
    notes: visible.notes[box],
    rows: visible.rows?.[box],
    growth: visible.growth?.[box],
    expandable: visible.expandable[box] === 1,
    group: isGroup(visible, box),
    repeat: visible.repeat[box],
    value: isValue(visible, box),
  };
}
