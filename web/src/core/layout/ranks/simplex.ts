import { type Csr, bucketBy } from "../../base/csr";
import { balance } from "../coordinates/balance";

/**
 * Least total stretch under distances: places x so that the sum of weight · (x[head] − x[tail]) is least while
 * x[head] − x[tail] ≥ length for every arc. Ranks are such a problem (edges are arcs of length 1), and so are x coordinates
 * (neighbours keep their distance, edges should be vertical).
 *
 * A network simplex that starts from any valid places and only ever improves them, so it may be stopped at
 * any time. Nodes that move together form trees of tight arcs; `pull` of a node is the net weight that draws its subtree
 * towards smaller x. A subtree that is drawn away from the arc it hangs on moves until another arc becomes tight, and hangs on
 * that one from then on.
 */
export interface Problem {
  readonly count: number;
  readonly tail: Int32Array;
  readonly head: Int32Array;
  readonly length: Float64Array;
  readonly weight: Float64Array;
}

/**
 * Improves x in place; `work` bounds the steps (nodes and arcs visited). Returns what is left of it. With `joined`, nodes
 * hang together along arcs that are tight already, which helps if the places are nearly right and moves are few.
 */
export function improve(problem: Problem, x: Float64Array, work: number, joined: boolean): number {
  const simplex = new Simplex(problem, x);
  if (joined) simplex.join();
  return simplex.run(work);
}

/** The same, and of several equally good places takes the middle (if the work suffices to find the best). */
export function improveEvenly(problem: Problem, x: Float64Array, work: number): void {
  const simplex = new Simplex(problem, x);
  if (simplex.run(work) > 0) simplex.even();
}

class Simplex {
  private readonly out: Csr;
  private readonly into: Csr;
  private readonly parent: Int32Array;
  /** The arc that a node hangs on, or -1 if it hangs on nothing and may move freely. */
  private readonly hold: Int32Array;
  private readonly firstChild: Int32Array;
  private readonly nextSibling: Int32Array;
  private readonly previousSibling: Int32Array;
  private readonly pull: Float64Array;
  private readonly stamp: Int32Array;
  private readonly subtree: Int32Array;
  private stamps = 0;
  private work = 0;

  constructor(
    private readonly problem: Problem,
    private readonly x: Float64Array,
  ) {
    const { count, tail, head, weight } = problem;
    this.out = bucketBy(tail, count);
    this.into = bucketBy(head, count);
    this.parent = new Int32Array(count).fill(-1);
    this.hold = new Int32Array(count).fill(-1);
    this.firstChild = new Int32Array(count).fill(-1);
    this.nextSibling = new Int32Array(count).fill(-1);
    this.previousSibling = new Int32Array(count).fill(-1);
    this.pull = new Float64Array(count);
    this.stamp = new Int32Array(count);
    this.subtree = new Int32Array(count);
    for (let a = 0; a < tail.length; a++) {
      this.pull[head[a]] += weight[a];
      this.pull[tail[a]] -= weight[a];
    }
  }

  /** Hangs nodes on each other along arcs that are tight from the start. */
  join(): void {
    const { parent, subtree, pull, stamp } = this;
    const { count, tail, head } = this.problem;
    this.stamps++;
    let size = 0;
    for (let root = 0; root < count; root++) {
      if (stamp[root] === this.stamps) continue;
      stamp[root] = this.stamps;
      let next = size;
      subtree[size++] = root;
      for (; next < size; next++) {
        size = this.joinAlong(this.out, head, subtree[next], size);
        size = this.joinAlong(this.into, tail, subtree[next], size);
      }
    }
    for (let i = size - 1; i >= 0; i--) {
      const v = subtree[i];
      if (parent[v] >= 0) pull[parent[v]] += pull[v];
    }
  }

  private joinAlong(arcs: Csr, end: Int32Array, v: number, size: number): number {
    const { x, stamp, subtree } = this;
    const { tail, head, length } = this.problem;
    let grown = size;
    for (let k = arcs.start[v]; k < arcs.start[v + 1]; k++) {
      const arc = arcs.value[k];
      const u = end[arc];
      if (stamp[u] === this.stamps || x[head[arc]] - x[tail[arc]] - length[arc] > 1e-9) continue;
      stamp[u] = this.stamps;
      subtree[grown++] = u;
      this.link(u, v);
      this.hold[u] = arc;
    }
    return grown;
  }

  run(work: number): number {
    const { count } = this.problem;
    this.work = work;
    let calm = 0;
    for (let v = 0; calm < count && this.work > 0; v = v + 1 === count ? 0 : v + 1) {
      this.work--;
      if (!this.canImprove(v)) calm++;
      else {
        this.release(v);
        calm = 0;
      }
    }
    return this.work;
  }

  /** Arcs that carry weight are tight in every optimum: what they join moves as one, and all else is free. */
  even(): void {
    const { count } = this.problem;
    const { parent, subtree } = this;
    const partOf = new Int32Array(count).fill(-1);
    for (let root = 0; root < count; root++) {
      if (parent[root] >= 0) continue;
      const size = this.collectSubtree(root);
      for (let i = 0; i < size; i++) {
        const v = subtree[i];
        partOf[v] = v !== root && Math.abs(this.pull[v]) > 1e-7 ? partOf[parent[v]] : v;
      }
    }
    balance(this.problem, this.out, this.into, partOf, this.x);
  }

  private canImprove(v: number): boolean {
    const pull = this.pull[v];
    if (pull > -1e-7 && pull < 1e-7) return false;
    const arc = this.hold[v];
    if (arc < 0) return true;
    return this.problem.head[arc] === v ? pull < 0 : pull > 0;
  }

  /** Moves a node's subtree where it is pulled, up to the first arc that stops it. */
  private release(v: number): void {
    const { x, subtree, stamp } = this;
    const { tail, head, length } = this.problem;
    const pull = this.pull[v];
    const upwards = pull < 0;
    const size = this.collectSubtree(v);
    const inside = this.stamps;
    const arcs = upwards ? this.out : this.into;
    const far = upwards ? head : tail;
    let slack = Number.POSITIVE_INFINITY;
    let stop = -1;
    for (let i = 0; i < size; i++) {
      const u = subtree[i];
      for (let k = arcs.start[u]; k < arcs.start[u + 1]; k++) {
        const arc = arcs.value[k];
        if (stamp[far[arc]] === inside) continue;
        const room = x[head[arc]] - x[tail[arc]] - length[arc];
        if (room < slack) {
          slack = room;
          stop = arc;
        }
      }
      this.work -= 1 + arcs.start[u + 1] - arcs.start[u];
    }
    if (stop < 0) {
      this.pull[v] = 0; // Rounding error: what nothing holds is not pulled either.
      return;
    }
    if (slack > 0) {
      const step = upwards ? slack : -slack;
      for (let i = 0; i < size; i++) x[subtree[i]] += step;
    }
    this.unhang(v, pull);
    const near = upwards ? tail[stop] : head[stop];
    this.reroot(near, v, pull);
    this.hang(near, far[stop], stop, pull);
  }

  private collectSubtree(v: number): number {
    const { subtree, stamp, firstChild, nextSibling } = this;
    const mark = ++this.stamps;
    let size = 0;
    subtree[size++] = v;
    stamp[v] = mark;
    for (let i = 0; i < size; i++) {
      for (let c = firstChild[subtree[i]]; c >= 0; c = nextSibling[c]) {
        stamp[c] = mark;
        subtree[size++] = c;
      }
    }
    return size;
  }

  private unhang(v: number, pull: number): void {
    const { parent } = this;
    if (parent[v] < 0) return;
    for (let p = parent[v]; p >= 0; p = parent[p]) {
      this.pull[p] -= pull;
      this.work--;
    }
    this.unlink(v);
  }

  /** Reverses the path from a subtree's root down to `fresh`, so that `fresh` becomes the root. */
  private reroot(fresh: number, top: number, total: number): void {
    const { parent, hold } = this;
    if (fresh === top) return;
    let v = fresh;
    let newParent = -1;
    let newHold = -1;
    let below = 0;
    for (;;) {
      const oldParent = parent[v];
      const oldHold = hold[v];
      const oldPull = this.pull[v];
      if (v !== top) this.unlink(v);
      this.pull[v] = total - below;
      if (newParent >= 0) {
        this.link(v, newParent);
        hold[v] = newHold;
      }
      if (v === top) return;
      below = oldPull;
      newParent = v;
      newHold = oldHold;
      v = oldParent;
    }
  }

  private hang(v: number, on: number, arc: number, pull: number): void {
    this.link(v, on);
    this.hold[v] = arc;
    for (let p = on; p >= 0; p = this.parent[p]) {
      this.pull[p] += pull;
      this.work--;
    }
  }

  private link(v: number, parent: number): void {
    const next = this.firstChild[parent];
    this.parent[v] = parent;
    this.nextSibling[v] = next;
    this.previousSibling[v] = -1;
    if (next >= 0) this.previousSibling[next] = v;
    this.firstChild[parent] = v;
  }

  private unlink(v: number): void {
    const { nextSibling, previousSibling, parent, firstChild } = this;
    const next = nextSibling[v];
    const previous = previousSibling[v];
    if (previous >= 0) nextSibling[previous] = next;
    else firstChild[parent[v]] = next;
    if (next >= 0) previousSibling[next] = previous;
    parent[v] = -1;
  }
}
