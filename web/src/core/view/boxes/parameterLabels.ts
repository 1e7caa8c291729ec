/** The labels of parameters: short where the frames around a box show the rest, and as long as it takes in a flat picture. */

import { memoized } from "../../base/memoized";
import { groupingNamed, MODULE } from "../../program/names";
import { indexOf } from "../../program/programIndex";
import { CATEGORIES, type ProgramData } from "../../program/types";

const LEAF = CATEGORIES.indexOf("leaf");

/** A label that needs more keys than this is written whole. */
const MOST_KEYS = 12;

/** "params['layers'][0]['attention']['q']" → "attention.q": its surroundings show the rest. A flat picture has none. */
export function parameterLabel(program: ProgramData, node: number, flat: boolean): string {
  const distinct = flat ? distinctLabels(program)(indexOf(program).graphOf[node]).get(node) : undefined;
  return distinct ?? labels(program, node)[0];
}

/**
 * The labels that a parameter can have, the shortest first: "attention.q", "layers.0.attention.q", and all of it. "state[2][1]" has no other:
 * "2.1" is a number. Neither has a leaf behind a tensor without a module: nothing else shows whose "weight" it is.
 */
function labels(program: ProgramData, node: number): string[] {
  const { strings, nodeId, nodeText } = program;
  const whole = strings.at(nodeText[node] >= 0 ? nodeText[node] : nodeId[node]);
  const modules = groupingNamed(program, MODULE);
  if (program.nodeCategory[node] === LEAF && (modules?.nodeGroup[node] ?? -1) < 0) return [whole];
  const keys = whole.match(/\['[^']*'\]|\[\d+\]|\.\w+/g);
  if (!keys || keys.length < 2 || !whole.endsWith(keys[keys.length - 1])) return [whole];
  const names = keys.slice(-MOST_KEYS).map((key) => key.replace(/^\.|^\['?|'?\]$/g, ""));
  const isNumber = (at: number): boolean => /^\d/.test(names[at]);
  const last = names.length - 1;
  if (isNumber(last - 1) && isNumber(last)) return [whole];
  const texts = isNumber(last - 1) ? [names[last]] : [];
  for (let from = last - 1; from >= 0; from--) if (!isNumber(from)) texts.push(names.slice(from).join("."));
  return [...texts, whole];
}

/** For a graph, the shortest label of each parameter that no other parameter of the graph has, where that is not its first. */
const distinctLabels = memoized((program: ProgramData) => {
  const byGraph = new Map<number, ReadonlyMap<number, string>>();
  return (graph: number): ReadonlyMap<number, string> => {
    let distinct = byGraph.get(graph);
    if (!distinct) {
      const { start, value } = indexOf(program).parameters;
      const choices: { readonly node: number; readonly labels: readonly string[]; at: number }[] = [];
      for (let i = start[graph]; i < start[graph + 1]; i++) choices.push({ node: value[i], labels: labels(program, value[i]), at: 0 });
      const hasChoice = choices.some((choice) => choice.labels.length > 1);
      while (hasChoice && lengthen(choices));
      distinct = new Map(choices.filter(({ at }) => at > 0).map((choice) => [choice.node, choice.labels[choice.at]]));
      byGraph.set(graph, distinct);
    }
    return distinct;
  };
});

/** Takes the next label of each parameter whose label another has too; false if nothing changed. */
function lengthen(choices: readonly { readonly labels: readonly string[]; at: number }[]): boolean {
  const counts = new Map<string, number>();
  for (const { labels, at } of choices) counts.set(labels[at], (counts.get(labels[at]) ?? 0) + 1);
  let changed = false;
  for (const choice of choices) {
    const { labels, at } = choice;
    if (counts.get(labels[at]) === 1 || at === labels.length - 1) continue;
    choice.at++;
    changed = true;
  }
  return changed;
}
