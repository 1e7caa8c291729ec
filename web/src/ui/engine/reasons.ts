/** Why a node was fused, or was not: what its compiler noted about it by any name that it had, as `opscope passes --why` says. */
import type { Reason } from "../../core/program/recording/types";
import { indexOf } from "../../core/program/programIndex";
import { NO_REASONS, type NodeReasons, type PairReasons } from "./passProtocol";
import type { Passes, PassShown } from "./passes";

/** The names of a node: its own, and those of the fusions that it became part of and of their other nodes. */
interface Names {
  readonly alone: Set<string>;
  readonly together: ReadonlySet<string>;
}

/** Notes about the node; if there are none, about the other nodes of the same fusion. What autotuning chose is found likewise. */
export async function reasonsFor(passes: Passes, shown: PassShown, node: number): Promise<NodeReasons> {
  const notes = await notesOf(passes, shown);
  if (!notes.length) return NO_REASONS;
  const { alone, together } = await namesOf(passes, shown, node, partsOf(notes));
  addFromNotes(notes, alone);
  const about = (tuned: boolean): readonly string[] => {
    const of = (names: ReadonlySet<string>): readonly Reason[] =>
      notes.filter((note) => (note.autotuned ?? false) === tuned && note.names.some((name) => names.has(name)));
    const aboutNode = of(alone);
    return (aboutNode.length ? aboutNode : of(together)).map(({ text }) => text);
  };
  return { fusion: about(false), autotuning: about(true), noted: true };
}

/** Whether two nodes were fused with each other, and what was noted about the one as a producer for the other. */
export async function pairReasonsFor(passes: Passes, shown: PassShown, nodes: readonly [number, number]): Promise<PairReasons | undefined> {
  const notes = (await notesOf(passes, shown)).filter((note) => !note.autotuned);
  if (!notes.length) return undefined;
  const [a, b] = nodes;
  for (const [producer, consumer] of [
    [a, b],
    [b, a],
  ]) {
    const [first, second] = await Promise.all([producer, consumer].map((each) => namesOf(passes, shown, each, partsOf(notes))));
    const answer = pairIn(notes, first.alone, second.alone);
    if (answer.sentences.length)
      return { producer: await idOf(passes, shown, producer), consumer: await idOf(passes, shown, consumer), ...answer };
  }
  return undefined;
}

/** The notes about a module, with names that are those of one node. */
async function notesOf(passes: Passes, shown: PassShown): Promise<readonly Reason[]> {
  const { module } = passes.rows[shown.pass];
  return (await passes.reasons())
    .filter((note) => note.module === module)
    .map((note) => {
      const named = (name: string): string => nameIn(note.part ?? "", name);
      return { ...note, names: note.names.map(named), fusion: note.fusion && named(note.fusion) };
    });
}

function partsOf(notes: readonly Reason[]): ReadonlySet<string> {
  return new Set(notes.flatMap(({ part }) => part ?? []));
}

/** A name of a node, which another part of the module may have too. */
function nameIn(part: string, name: string): string {
  return part ? `${part}\n${name}` : name;
}

/** The names of nodes after a pass. The graph `forward` is that of the forward, `forward.op3_op4` that of a kernel in it. */
async function namesAfter(passes: Passes, pass: number, nodes: readonly number[], parts: ReadonlySet<string>): Promise<string[]> {
  const index = indexOf((await passes.program(pass)).program);
  return nodes.map((each) => {
    const [part] = index.graphName(index.graphOf[each]).split(".");
    return nameIn(parts.has(part) ? part : "", index.id(each));
  });
}

async function idOf(passes: Passes, shown: PassShown, node: number): Promise<string> {
  const place = passes.placeOf(shown, node);
  return indexOf((await passes.program(place.pass)).program).id(place.node);
}

async function namesOf(passes: Passes, shown: PassShown, node: number, parts: ReadonlySet<string>): Promise<Names> {
  const place = passes.placeOf(shown, node);
  const alone = new Set(await namesAfter(passes, place.pass, [place.node], parts)),
    together = new Set<string>();
  for (const { pass, step } of await passes.history(place.pass, place.node)) {
    const names = step.kind === "fused" ? together : alone;
    for (const name of await namesAfter(passes, passes.rows[pass].before, step.old, parts)) names.add(name);
    for (const name of await namesAfter(passes, pass, step.new, parts)) names.add(name);
  }
  return { alone, together };
}

/** Adds the names that a node had while fusions were chosen: the only consumer becomes the fusion with its producer. */
function addFromNotes(notes: readonly Reason[], names: Set<string>): void {
  const fused = notes.filter(({ fusion, names: about }) => fusion && about.length === 2);
  const before = new Set(names);
  for (const note of [...fused].reverse()) if (before.has(note.fusion!)) before.add(note.names[1]);
  for (const note of fused) if (names.has(note.names[1])) names.add(note.fusion!);
  for (const name of before) names.add(name);
}

/** What was noted about a producer and a consumer, also as parts of the fusions that they were in by then. */
export function pairIn(
  notes: readonly Reason[],
  ofProducer: ReadonlySet<string>,
  ofConsumer: ReadonlySet<string>,
): Pick<PairReasons, "fused" | "sentences"> {
  const producer = new Set(ofProducer),
    consumer = new Set(ofConsumer);
  const texts: string[] = [];
  let fused = false;
  for (const { names, fusion, text } of notes) {
    const [made, ...consumers] = names;
    const first = producer.has(made),
      second = consumers.some((name) => consumer.has(name));
    if (first && (second || consumers.length === 0)) texts.push(text);
    if (!fusion) continue;
    fused ||= first && second;
    if (first || consumers.some((name) => producer.has(name))) producer.add(fusion);
    if (second || consumer.has(made)) consumer.add(fusion);
  }
  return { fused, sentences: texts };
}
