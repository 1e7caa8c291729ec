/** The boxes of a view under construction: columns that grow. */

import { withRoom } from "../../base/arrays";
import { BoxKind } from "../../program/types";

const FIRST_ROOM = 64;

export class Boxes {
  count = 0;
  /** These have room for further boxes behind the last, and are replaced by longer ones: never keep one while boxes are added. */
  kind = new Uint8Array(FIRST_ROOM);
  open = new Uint8Array(FIRST_ROOM);
  expandable = new Uint8Array(FIRST_ROOM);
  category = new Uint8Array(FIRST_ROOM);
  parent = new Int32Array(FIRST_ROOM);
  node = new Int32Array(FIRST_ROOM);
  group = new Int32Array(FIRST_ROOM);
  repeat = new Int32Array(FIRST_ROOM);
  nodesInside = new Int32Array(FIRST_ROOM);
  readonly key: string[] = [];
  readonly title: string[] = [];
  readonly subtitle: string[] = [];
  readonly notes: (string[] | undefined)[] = [];

  add(kind: BoxKind, parent: number, key: string, node: number, group: number): number {
    if (this.count === this.kind.length) this.grow();
    const box = this.count++;
    this.kind[box] = kind;
    this.parent[box] = parent;
    this.node[box] = node;
    this.group[box] = group;
    this.repeat[box] = 1;
    this.key.push(key);
    this.title.push("");
    this.subtitle.push("");
    this.notes.push(undefined);
    return box;
  }

  private grow(): void {
    const room = 2 * this.count;
    this.kind = withRoom(this.kind, room);
    this.open = withRoom(this.open, room);
    this.expandable = withRoom(this.expandable, room);
    this.category = withRoom(this.category, room);
    this.parent = withRoom(this.parent, room);
    this.node = withRoom(this.node, room);
    this.group = withRoom(this.group, room);
    this.repeat = withRoom(this.repeat, room);
    this.nodesInside = withRoom(this.nodesInside, room);
  }

  /** Is it drawn as one operation, not as a container? */
  isLeaf(box: number): boolean {
    const kind = this.kind[box];
    return kind === BoxKind.Node || (kind === BoxKind.Call && this.open[box] === 0);
  }

  note(box: number, text: string): void {
    let notes = this.notes[box];
    if (!notes) {
      notes = [];
      this.notes[box] = notes;
    }
    if (!notes.includes(text)) notes.push(text);
  }

  /** Is one of two boxes inside the other? Only open boxes have something inside. */
  areNested(a: number, b: number): boolean {
    return (this.open[b] === 1 && this.isWithin(a, b)) || (this.open[a] === 1 && this.isWithin(b, a));
  }

  private isWithin(inner: number, outer: number): boolean {
    for (let box = inner; box >= 0; box = this.parent[box]) if (box === outer) return true;
    return false;
  }
}
