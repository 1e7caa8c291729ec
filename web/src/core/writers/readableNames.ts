/** A name for each box of a view that other tools can show: that of its instruction or group, and unique. */
import type { Visible } from "../program/types";
import { unescapeName } from "../view/choose/keys";

/**
 * "add.7" for an instruction, "layer_0/attention" for a group. Called graphs repeat names: the second one has its whole path
 * ("while.2 › add.7"), and if even that is taken, a number. Characters that no format can write are replaced first, so that the rest is unique.
 */
export function readableNames({ key, title }: Pick<Visible, "key" | "title">): string[] {
  const taken = new Set<string>();
  const counts = new Map<string, number>();
  return key.map((each, box) => {
    const steps = stepsOf(each);
    const path = steps.join(" › ") || title[box] || "box";
    let name = [steps.at(-1), path].find((candidate) => candidate && !taken.has(candidate));
    for (let n = counts.get(path) ?? 2; name === undefined; n++) {
      if (!taken.has(`${path} (${n})`)) name = `${path} (${n})`;
      counts.set(path, n + 1);
    }
    taken.add(name);
    return name;
  });
}

/** What a key says about the kind of box, before its name. */
const PREFIX = /^(?:[xv]:n:|o:(?:in|out):(?:n:)?|[a-z]:)/;

/** The names on the way to a box: the nodes whose calls are open, then the box itself. */
function stepsOf(key: string): string[] {
  return key
    .split(">")
    .map((step) => step.replace(PREFIX, ""))
    .filter(Boolean)
    .map((step) =>
      step
        .split("/")
        .map(unescapeName)
        .join("/")
        .replace(/\p{Cc}|\p{Cs}/gu, "\ufffd"),
    );
}
