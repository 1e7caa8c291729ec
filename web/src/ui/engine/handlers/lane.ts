/** The kernel lane. */
import { nodePaints } from "../../../core/scene/categoryFill";
import type { Handler } from "./handler";

export const lane: Handler<"lane"> = ({ index }) => {
  const { lane: data } = index.program;
  const paint = nodePaints(index.program);
  return (
    data && {
      ...data,
      paint: Int8Array.from(data.node, (node) => (node < 0 ? -1 : paint(node))),
      names: data.node.map((node) => (node < 0 ? "" : index.id(node))),
    }
  );
};
