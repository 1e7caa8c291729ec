/** What the details panel shows about a value that is drawn as a box: one output of a node, with its own users and attributes. */
import type { ProgramIndex } from "../../core/program/programIndex";
import { valueName } from "../../core/view/boxes/texts";
import { nodeName } from "./names";
import type { NodeFacts } from "./protocol";

/** `facts` are those of the node that the value comes from; its numbers (FLOPs, the bytes that it moves) are not those of one value. */
export function valueFacts(index: ProgramIndex, facts: NodeFacts, output: number): NodeFacts {
  const prefix = `outputs.${output}.`;
  const users = usersOf(index, facts.node, output);
  return {
    ...facts,
    id: valueName(index.program, facts.node, output),
    op: "value",
    outputs: facts.outputs.slice(output, output + 1),
    origin: nodeName(index, facts.node),
    inputs: [],
    inputCount: 0,
    folded: [],
    foldable: [],
    users: users.map((user) => nodeName(index, user)),
    userCount: users.length,
    control: [],
    links: [],
    calls: [],
    metrics: [],
    attrs: facts.attrs.filter(([name]) => name.startsWith(prefix)).map(([name, value]) => [name.slice(prefix.length), value]),
  };
}

/** The nodes that take this output, or the whole value that it is a part of. */
function usersOf({ program, users }: ProgramIndex, node: number, output: number): number[] {
  const { inputs } = program;
  return Array.from(users.value.subarray(users.start[node], users.start[node + 1])).filter((user) => {
    for (let i = inputs.start[user]; i < inputs.start[user + 1]; i++)
      if (inputs.value[i] === node && (inputs.extra[i] === output || inputs.extra[i] < 0)) return true;
    return false;
  });
}
