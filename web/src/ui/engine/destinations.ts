/**
 * Where the palette can go: modules of a grouping, and nodes, best matches first. The page asks for the rows on screen, so a program of
 * 100,000 nodes costs it nothing.
 */
import { nameAndClass } from "../../core/program/names";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping } from "../../core/program/types";
import { search } from "../../core/search/search";
import { nodeTitle } from "../../core/view/boxes/texts";
import { depthOf } from "../../core/view/groups/grouping";
import { scopePath } from "./facts";
import type { Destination } from "./protocol";

export class Destinations {
  /** The path of each group ("layers/3/mlp"), its class, and its first node, or -1. */
  private readonly path: readonly string[];
  private readonly kind: readonly string[];
  private readonly firstNode: Int32Array;
  private modules: Int32Array = new Int32Array(0);
  private nodes: Int32Array = new Int32Array(0);

  constructor(
    readonly index: ProgramIndex,
    readonly grouping: Grouping,
  ) {
    const { groupCount, groupName, groupParent, nodeGroup } = grouping;
    const path: string[] = [];
    const kinds: string[] = [];
    for (let g = 0; g < groupCount; g++) {
      const [name, kind] = nameAndClass(index.text(groupName[g]));
      path.push(groupParent[g] < 0 ? name : `${path[groupParent[g]]}/${name}`);
      kinds.push(kind);
    }
    this.path = path;
    this.kind = kinds;
    this.firstNode = new Int32Array(groupCount).fill(-1);
    for (let n = 0; n < index.program.nodeCount; n++)
      for (let g = nodeGroup[n]; g >= 0 && this.firstNode[g] < 0; g = groupParent[g]) this.firstNode[g] = n;
  }

  /** Takes what was typed (nothing: everything); answers how many rows there are. */
  find(text: string): { readonly modules: number; readonly nodes: number } {
    const { index, path } = this;
    const query = text.trim().toLowerCase();
    // A module is called by its own name or by its whole path; boxes and frameworks write layers.3.mlp for layers/3/mlp.
    const dotted = query.replaceAll("/", ".");
    const nameOf = (group: number) => {
      const whole = path[group].replaceAll("/", ".");
      return whole.toLowerCase().endsWith(dotted)
        ? dotted
        : whole.startsWith(dotted)
          ? whole
          : path[group].slice(path[group].lastIndexOf("/") + 1);
    };
    this.modules = byName(this.modulesWith(dotted.split(/\s+/)), nameOf, dotted);
    const nodes = query ? search(index.program, text).nodes : Int32Array.from({ length: index.program.nodeCount }, (_, node) => node);
    this.nodes = byName(nodes, (node) => index.id(node), query);
    return { modules: this.modules.length, nodes: this.nodes.length };
  }

  /** Modules come before nodes. */
  rows(from: number, to: number): Destination[] {
    const { modules, nodes } = this;
    const rows: Destination[] = [];
    for (let i = Math.max(0, from); i < Math.min(to, modules.length + nodes.length); i++)
      rows.push(i < modules.length ? this.module(modules[i]) : this.node(nodes[i - modules.length]));
    return rows;
  }

  private modulesWith(words: readonly string[]): Int32Array {
    const groups: number[] = [];
    this.path.forEach((path, group) => {
      const lower = `${path.replaceAll("/", ".")} ${this.kind[group]}`.toLowerCase();
      if (this.firstNode[group] >= 0 && words.every((word) => lower.includes(word))) groups.push(group);
    });
    return Int32Array.from(groups);
  }

  private module(group: number): Destination {
    const { index, grouping } = this;
    const node = this.firstNode[group];
    const graph = index.graphName(index.graphOf[node]);
    const detail = [this.kind[group], grouping.name].filter(Boolean).join(" · ");
    return { name: this.path[group], detail, node, graph, level: depthOf(grouping, group) };
  }

  private node(node: number): Destination {
    const { index, grouping } = this;
    const detail = [nodeTitle(index.program, node, false), index.typeText(node), scopePath(index, node, grouping.name)];
    return {
      name: index.id(node),
      detail: detail.filter(Boolean).join(" · "),
      node,
      graph: index.graphName(index.graphOf[node]),
      level: 0,
    };
  }
}

/** Those that are called so, those whose name begins so, those whose name contains it, and the others; each in order. */
function byName(items: Int32Array, nameOf: (item: number) => string, query: string): Int32Array {
  if (!query) return items;
  const ranks: number[][] = [[], [], [], []];
  for (const item of items) {
    const name = nameOf(item).toLowerCase();
    ranks[name === query ? 0 : name.startsWith(query) ? 1 : name.includes(query) ? 2 : 3].push(item);
  }
  return Int32Array.from(ranks.flat());
}
