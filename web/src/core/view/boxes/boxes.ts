/** The boxes of a view under construction: columns that grow. */

import { BoxKind } from "../../program/types";

export class Boxes {
  readonly kind: number[] = [];
  readonly parent: number[] = [];
  readonly open: number[] = [];
  readonly expandable: number[] = [];
  readonly node: number[] = [];
  readonly group: number[] = [];
  readonly category: number[] = [];
  readonly key: string[] = [];
  readonly title: string[] = [];
  readonly subtitle: string[] = [];
  readonly notes: (string[] | undefined)[] = [];
  readonly repeat: number[] = [];
  readonly nodesInside: number[] = [];

  get count(): number {
    return this.kind.length;
  }

  add(kind: BoxKind, parent: number, key: string, node: number, group: number): number {
    this.kind.push(kind);
    this.parent.push(parent);
    this.open.push(0);
    this.expandable.push(0);
    this.node.push(node);
    this.group.push(group);
    this.category.push(0);
    this.key.push(key);
    this.title.push("");
    this.subtitle.push("");
    this.notes.push(undefined);
    this.repeat.push(1);
    this.nodesInside.push(0);
    return this.kind.length - 1;
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
