/**
 * Graphviz itself (as WebAssembly) for tests in other languages: each line of the input is a JSON array of a DOT text and a format
 * ("plain", "svg"), and each line of the output is the JSON of what Graphviz wrote and said about it.
 */
import { createInterface } from "node:readline";
import { instance } from "@viz-js/viz";

for await (const line of createInterface({ input: process.stdin })) {
  const [text, format] = JSON.parse(line);
  const graphviz = await instance(); // a new one each time: after warnings, Graphviz may fail on its next text
  const { output = "", errors } = graphviz.render(text, { format });
  process.stdout.write(`${JSON.stringify({ output, errors: errors.map(({ message }) => message) })}\n`);
}
