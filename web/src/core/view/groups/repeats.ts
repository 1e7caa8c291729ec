/** Expanded stacks: one repeat is drawn for all. The nodes of the others are shown by their counterparts in the one that is drawn. */

import type { Folding } from "./fold";
import type { Instance } from "../boxes/instance";

interface Shown {
  /** Counterpart of each node in the repeat that is drawn (global numbers by place in the graph), or -1. */
  readonly counterpart: Int32Array;
  /** Which repeat a node is in, or -1, and the repeats around that one. */
  readonly repeatOf: Int32Array;
  readonly repeatAround: number[];
  readonly stackOfRepeat: number[];
}

export class Repeats {
  private readonly shown = new Map<Instance, Shown>();

  /** Adds one repeat of an open stack. The first one added for a stack is the one that is drawn. */
  add(instance: Instance, folding: Folding, stack: number, group: number): void {
    let shown = this.shown.get(instance);
    if (!shown) {
      shown = {
        counterpart: new Int32Array(instance.count).fill(-1),
        repeatOf: new Int32Array(instance.count).fill(-1),
        repeatAround: [],
        stackOfRepeat: [],
      };
      this.shown.set(instance, shown);
    }
    const drawn = folding.nodes(folding.first(stack));
    const nodes = folding.nodes(group);
    const repeat = shown.stackOfRepeat.length;
    shown.stackOfRepeat.push(stack);
    shown.repeatAround.push(nodes.length > 0 ? shown.repeatOf[nodes[0] - instance.first] : -1);
    for (let i = 0; i < nodes.length; i++) {
      shown.repeatOf[nodes[i] - instance.first] = repeat;
      if (group !== folding.first(stack)) shown.counterpart[nodes[i] - instance.first] = drawn[i];
    }
  }

  /** Gives the nodes of repeats that are not drawn the boxes of their counterparts. */
  settle(instance: Instance): void {
    const shown = this.shown.get(instance);
    if (!shown) return;
    for (let i = 0; i < instance.count; i++) {
      let at = i;
      while (shown.counterpart[at] >= 0) at = shown.counterpart[at] - instance.first;
      instance.boxOf[i] = instance.boxOf[at];
    }
  }

  /** Is a node in a repeat that is not drawn? */
  isHidden(instance: Instance, node: number): boolean {
    const shown = this.shown.get(instance);
    return shown !== undefined && shown.counterpart[node - instance.first] >= 0;
  }

  /** Does an edge lead from one repeat of a stack to another? Drawn in the one that is shown, it would be a cycle. */
  crosses(instance: Instance, source: number, target: number): boolean {
    const shown = this.shown.get(instance);
    if (!shown) return false;
    let s = source - instance.first;
    let t = target - instance.first;
    for (;;) {
      for (let a = shown.repeatOf[s]; a >= 0; a = shown.repeatAround[a]) {
        for (let b = shown.repeatOf[t]; b >= 0; b = shown.repeatAround[b]) {
          if (a !== b && shown.stackOfRepeat[a] === shown.stackOfRepeat[b]) return true;
        }
      }
      const nextS = shown.counterpart[s];
      const nextT = shown.counterpart[t];
      if (nextS < 0 && nextT < 0) return false;
      if (nextS >= 0) s = nextS - instance.first;
      if (nextT >= 0) t = nextT - instance.first;
    }
  }
}
