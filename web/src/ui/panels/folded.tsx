/** Operands of the selected node that have no box: which they are, and buttons that give them one or take it away. */
import type { JSX } from "preact";
import { escapeName } from "../../core/view/choose/keys";
import { plural } from "../../core/view/boxes/texts";
import type { NodeFacts, NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { actions } from "./actions";
import { NodeList } from "./sections";

/** More than this are not listed. */
const MOST_LISTED = 12;

export interface Folding {
  readonly text: string;
  readonly run: () => void;
}

/** What can be unfolded and folded at the selected box, as buttons and menu entries. */
export function foldings(session: Session, { folded, foldable, node }: NodeFacts): Folding[] {
  const item = session.selectedItems.at(-1);
  const box = item === undefined ? undefined : session.shown?.keyOf(item);
  if (box === undefined) return [];
  const calls = box.slice(0, box.lastIndexOf(">") + 1);
  const keyOf = ({ id }: NodeName) => `${calls}n:${escapeName(id)}`;
  const unfolded = foldable.filter((operand) => session.view.unfolded.includes(keyOf(operand)));
  const itself = unfolded.find((operand) => operand.node === node);
  const operands = unfolded.filter((operand) => operand !== itself);
  return [
    ...(folded.length
      ? [{ text: `Unfold ${plural(folded.length, "operand")}`, run: () => actions.unfold(session, folded.map(keyOf), box) }]
      : []),
    ...(operands.length
      ? [{ text: `Fold ${plural(operands.length, "operand")}`, run: () => actions.fold(session, operands.map(keyOf), box) }]
      : []),
    ...(itself ? [{ text: "Fold into its user", run: () => actions.fold(session, [keyOf(itself)], box) }] : []),
  ];
}

export function FoldedIn({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element {
  const { folded } = facts;
  return <NodeList session={session} title="Folded in" nodes={folded.slice(0, MOST_LISTED)} total={folded.length} />;
}
