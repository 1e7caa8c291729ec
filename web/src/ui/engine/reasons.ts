/** Why a node was fused, or was not: what its compiler noted about it by any name that it had, as `opscope passes --why` says. */
import type { Reason } from "../../core/program/recording/types";
import { indexOf } from "../../core/program/programIndex";
import type { NodeReasons } from "./passProtocol";
import type { Passes, PassShown } from "./passes";

/** Notes about the node; if there are none, about the other nodes of the same fusion. What autotuning chose is found likewise. */
export async function reasonsFor(passes: Passes, shown: PassShown, node: number): Promise<NodeReasons> {
  const { module } = passes.rows[shown.pass];
  const notes = (await passes.reasons()).filter((note) => note.module === module);
  if (!notes.length) return { fusion: [], autotuning: [] };
  const place = passes.placeOf(shown, node);
  const namesAfter = async (pass: number, nodes: readonly number[]): Promise<string[]> => {
    const index = indexOf((await passes.program(pass)).program);
    return nodes.map((each) => index.id(each));
  };
  const alone = new Set(await namesAfter(place.pass, [place.node])),
    together = new Set<string>();
  for (const { pass, step } of await passes.history(place.pass, place.node)) {
    const names = step.kind === "fused" ? together : alone;
    for (const name of await namesAfter(passes.rows[pass].before, step.old)) names.add(name);
    for (const name of await namesAfter(pass, step.new)) names.add(name);
  }
  const about = (tuned: boolean): readonly string[] => {
    const of = (names: ReadonlySet<string>): readonly Reason[] =>
      notes.filter((note) => (note.autotuned ?? false) === tuned && note.names.some((name) => names.has(name)));
    const aboutNode = of(alone);
    return (aboutNode.length ? aboutNode : of(together)).map(({ text }) => text);
  };
  return { fusion: about(false), autotuning: about(true) };
}
