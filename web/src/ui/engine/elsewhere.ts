/** Which node of another source corresponds to a node: a question for the server, which has both programs and matches them. */
import type { ProgramIndex } from "../../core/program/programIndex";
import type { PassShown } from "./passes";
import type { NodeName, Params, WireAt } from "./protocol";
import { nodeName } from "./names";

/** Empty where there is no server to ask: a page from a file matches by name alone. */
export async function matchElsewhere(
  index: ProgramIndex,
  from: WireAt | undefined,
  shown: PassShown | undefined,
  question: Params<"match">,
): Promise<NodeName[]> {
  const here = placeOf(from),
    there = placeOf(question.with);
  if (!here || !there) return [];
  const { id, graph } = nodeName(index, question.node);
  const parameters = new URLSearchParams({
    a: here.number,
    b: there.number,
    passA: String(shown?.pass ?? 0),
    passB: String(question.pass),
    graph,
    id,
  });
  const response = await fetch(`${here.root}match?${parameters}`);
  return response.ok ? ((await response.json()) as NodeName[]) : [];
}

/** The server's address and the source's number in it. */
function placeOf(at: WireAt | undefined): { root: string; number: string } | undefined {
  if (!at || (at.kind !== "url" && at.kind !== "recording")) return undefined;
  const match = /^(.*\/)(?:wire|recording)\/(\d+)$/.exec(at.url);
  return match ? { root: match[1], number: match[2] } : undefined;
}
