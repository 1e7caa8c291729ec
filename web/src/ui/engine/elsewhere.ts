/** Which node of another source a node is: a question for the server, which has both programs and the matching. */
import type { Lookup } from "./nodeLookup";
import type { PassShown } from "./passes";
import type { NodeName, Params, WireAt } from "./protocol";

/** Empty where there is no server to ask: a page from a file goes by names alone. */
export async function matchElsewhere(
  names: Lookup,
  from: WireAt | undefined,
  shown: PassShown | undefined,
  asked: Params<"match">,
): Promise<NodeName[]> {
  const own = placeOf(from),
    other = placeOf(asked.with);
  if (!own || !other) return [];
  const { id, graph } = names.name(asked.node);
  const question = new URLSearchParams({
    a: own.number,
    b: other.number,
    passA: String(shown?.pass ?? 0),
    passB: String(asked.pass),
    graph,
    id,
  });
  const response = await fetch(`${own.root}match?${question}`);
  return response.ok ? ((await response.json()) as NodeName[]) : [];
}

/** The server's address and the source's number in it. */
function placeOf(at: WireAt | undefined): { root: string; number: string } | undefined {
  if (!at || (at.kind !== "url" && at.kind !== "recording")) return undefined;
  const found = /^(.*\/)(?:wire|recording)\/(\d+)$/.exec(at.url);
  return found ? { root: found[1], number: found[2] } : undefined;
}
