/** A node's name as a link to it. */
import type { JSX } from "preact";
import type { NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { clipped } from "./outline";

export function NodeLink({ session, node }: { readonly session: Session; readonly node: NodeName }): JSX.Element {
  return (
    <button type="button" class="link" onClick={() => void session.goTo(node.node, node.graph)}>
      {clipped(node.id, 160)}
    </button>
  );
}
