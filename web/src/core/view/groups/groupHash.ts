/**
 * What is inside a group, as a number that does not depend on names or on the order in which the source lists the nodes.
 *
 * Every node gets two numbers: one from its label and everything upstream of it within the group, one from everything downstream.
 * A value from outside counts as a separate node with nothing but a type, so that two operands fed by the same
 * outside value differ from two fed by different ones. The sum over all nodes is the content.
 */

import { numberless } from "./assignUngrouped";
import { sortByKey, upTo } from "../../base/arrays";
import { mix } from "../../base/csr";
import { nodeLabels } from "./nodeHash";
import type { Traits } from "../traits";
import { Role } from "../../program/roles";
import type { GroupTree } from "./tree";

export interface Content {
  readonly a: number;
  readonly b: number;
  /** The group's nodes as the source lists them, and the number of each. */
  readonly nodes: Int32Array;
  readonly numbers: Int32Array;
}

export class Contents {
  /** Nodes in the order of their groups, so that a group with all groups in it is one stretch. */
  private readonly order: Int32Array;
  private readonly from: Int32Array;
  private readonly to: Int32Array;
  private readonly nameOf: Int32Array;
  private readonly up: Int32Array;
  private readonly down: Int32Array;
  private readonly inside: Int32Array;
  /** The same of values from outside, by their place among all outputs. */
  private readonly upOfValue: Int32Array;
  private readonly downOfValue: Int32Array;
  private readonly stampOfValue: Int32Array;
  private readonly labels: Int32Array;
  private stamp = 0;
  /** Contents that will be asked for again. */
  private readonly known = new Map<number, Content>();
  /** The numbers that were sorted last, and their order. */
  private sorted: { readonly numbers: Int32Array; readonly order: Int32Array } = { numbers: new Int32Array(0), order: new Int32Array(0) };

  constructor(
    private readonly traits: Traits,
    private readonly tree: GroupTree,
  ) {
    const { nodeCount, strings, outputs } = traits.program;
    this.labels = nodeLabels(traits.program);
    this.up = new Int32Array(nodeCount);
    this.down = new Int32Array(nodeCount);
    this.inside = new Int32Array(nodeCount);
    this.upOfValue = new Int32Array(outputs.start[nodeCount] + 1);
    this.downOfValue = new Int32Array(outputs.start[nodeCount] + 1);
    this.stampOfValue = new Int32Array(outputs.start[nodeCount] + 1);
    const numbers = new Map<string, number>();
    const ofName = new Map<number, number>();
    this.nameOf = Int32Array.from(tree.groupName, (name) => {
      let number = ofName.get(name);
      if (number === undefined) {
        const pattern = numberless(strings.at(name));
        number = numbers.get(pattern) ?? numbers.size;
        numbers.set(pattern, number);
        ofName.set(name, number);
      }
      return number;
    });
    ({ order: this.order, from: this.from, to: this.to } = stretches(tree));
  }

  /** How many nodes are in a group and all groups in it. */
  size(group: number): number {
    return this.to[group] - this.from[group];
  }

  /** The group's name without its numbers, as a number. */
  pattern(group: number): number {
    return this.nameOf[group];
  }

  /** A cheap first guess: groups with the same content have the same sum of labels. */
  labelSums(): Int32Array {
    const sums = new Int32Array(this.tree.groupCount);
    for (let n = 0; n < this.tree.nodeGroup.length; n++) {
      const g = this.tree.nodeGroup[n];
      if (g >= 0) sums[g] += mix(this.labels[n], 1);
    }
    for (let g = sums.length - 1; g >= 0; g--) if (this.tree.parent[g] >= 0) sums[this.tree.parent[g]] += mix(sums[g], this.nameOf[g]);
    return sums;
  }

  of(group: number): Content {
    const content = this.compute(group);
    this.known.set(group, content);
    return content;
  }

  private compute(group: number): Content {
    const { inputs, outputs, types, nodeText, nodeRole } = this.traits.program;
    const { up, down, inside, labels, upOfValue, downOfValue, stampOfValue } = this;
    const nodes = this.order.slice(this.from[group], this.to[group]).sort();
    const stamp = ++this.stamp;
    for (const n of nodes) inside[n] = stamp;
    const outside: number[] = [];

    for (const n of nodes) {
      let h = mix(labels[n], this.place(n, group));
      for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) {
        const source = inputs.value[i];
        const output = inputs.extra[i];
        if (inside[source] === stamp) {
          h = mix(h, mix(source < n ? up[source] : labels[source], output));
          continue;
        }
        const value = this.valueOf(source, output);
        if (stampOfValue[value] !== stamp) {
          stampOfValue[value] = stamp;
          downOfValue[value] = 0;
          const constant = this.traits.small.root[source];
          upOfValue[value] = mix(nodeRole[constant] === Role.Constant ? nodeText[constant] : 0, types.text[outputs.value[value]]);
          outside.push(value);
        }
        h = mix(h, upOfValue[value]);
      }
      up[n] = h;
      down[n] = 0;
    }
    const combined = new Int32Array(nodes.length);
    let a = 0;
    let b = 0;
    for (let k = nodes.length - 1; k >= 0; k--) {
      const n = nodes[k];
      const h = mix(up[n], down[n]);
      combined[k] = h;
      a += mix(h, 1);
      b += mix(h, 2);
      for (let i = inputs.start[n], place = 0; i < inputs.start[n + 1]; i++, place++) {
        const source = inputs.value[i];
        if (inside[source] === stamp) down[source] += mix(h, mix(place, inputs.extra[i]));
        else downOfValue[this.valueOf(source, inputs.extra[i])] += mix(h, place);
      }
    }
    for (const value of outside) {
      const h = mix(upOfValue[value], downOfValue[value]);
      a += mix(h, 3);
      b += mix(h, 4);
    }
    return { a: a | 0, b: b | 0, nodes, numbers: combined };
  }

  /** The place of an output among all outputs; the last place for one that its node does not list. */
  private valueOf(source: number, output: number): number {
    const { outputs, nodeCount } = this.traits.program;
    const value = outputs.start[source] + output;
    return value < outputs.start[source + 1] ? value : outputs.start[nodeCount];
  }

  /** The group's nodes in an order that groups of the same content share. Repeats are mostly listed in the same order. */
  aligned(group: number): Int32Array {
    const { nodes, numbers } = this.known.get(group) ?? this.compute(group);
    this.known.delete(group);
    if (!isEqual(numbers, this.sorted.numbers)) this.sorted = { numbers, order: orderOf(numbers) };
    return this.sorted.order.map((i) => nodes[i]);
  }

  /** Where a node sits below `group`: the names on the way, without their numbers. */
  private place(node: number, group: number): number {
    let h = 0;
    for (let g = this.tree.nodeGroup[node]; g !== group; g = this.tree.parent[g]) h = mix(h, this.nameOf[g] + 1);
    return h;
  }
}

function isEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function orderOf(keys: Int32Array): Int32Array {
  const order = upTo(keys.length);
  sortByKey(order, 0, order.length, keys, new Int32Array(order.length));
  return order;
}

/** Lists nodes so that every group's nodes, with those of the groups inside, are adjacent. */
function stretches(tree: GroupTree): { order: Int32Array; from: Int32Array; to: Int32Array } {
  const { groupCount, parent, nodeGroup } = tree;
  const size = new Int32Array(groupCount);
  const direct = new Int32Array(groupCount);
  for (const g of nodeGroup) if (g >= 0) direct[g]++;
  for (let g = groupCount - 1; g >= 0; g--) {
    size[g] += direct[g];
    if (parent[g] >= 0) size[parent[g]] += size[g];
  }
  const from = new Int32Array(groupCount);
  const to = new Int32Array(groupCount);
  const fill = new Int32Array(groupCount);
  let top = 0;
  for (let g = 0; g < groupCount; g++) {
    if (parent[g] < 0) {
      from[g] = top;
      top += size[g];
    } else {
      from[g] = fill[parent[g]];
      fill[parent[g]] += size[g];
    }
    to[g] = from[g] + size[g];
    // A group's own nodes come first, then the groups in it.
    fill[g] = from[g] + direct[g];
  }
  const order = new Int32Array(top);
  const next = from.slice();
  for (let n = 0; n < nodeGroup.length; n++) if (nodeGroup[n] >= 0) order[next[nodeGroup[n]]++] = n;
  return { order, from, to };
}
