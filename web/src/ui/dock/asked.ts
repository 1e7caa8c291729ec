/** Answers of the engine for a panel. */
import { useEffect, useState } from "preact/hooks";
import type { CellPlace } from "../engine/costProtocol";
import type { Methods } from "../engine/protocol";
import type { Session } from "../session";

type Answer<M extends keyof Methods> = Awaited<ReturnType<Methods[M]>>;

/** The latest answer to a question, which is asked again whenever one of `on` changes; undefined until there is one. */
export function useAnswer<M extends keyof Methods>(
  session: Session,
  method: M,
  params: Parameters<Methods[M]>[0] | undefined,
  on: readonly unknown[],
): Answer<M> | undefined {
  const [answer, setAnswer] = useState<Answer<M>>();
  useEffect(() => {
    let isCurrent = true;
    if (params === undefined) return undefined;
    void session
      .ask(method, params)
      .then((value) => isCurrent && setAnswer(() => value as Answer<M>))
      .catch(() => undefined);
    return () => {
      isCurrent = false;
    };
  }, [...on]);
  return answer;
}

/** Keys of the cells in `view` that are the selection of the graph, or contain it: one, or one for each repeat of a stack. */
export function useSelectedCells(
  session: Session,
  of: "cost" | "roofline",
  view: { readonly cells: readonly CellPlace[] } | undefined,
): ReadonlySet<string> {
  const key = session.view.selection.at(-1) ?? "";
  // The box of a node in a stack is that of its counterpart in the first repeat.
  const node = key ? session.about.node?.node : undefined;
  const around = useAnswer(session, "cellsAt", { of, key, node }, [view, key, node]) ?? [];
  const shown = new Set(view?.cells.map((cell) => cell.key));
  return new Set(around.flatMap((keys) => keys.find((each) => shown.has(each)) ?? []));
}

/** Shows a cell on the graph and selects it. */
export function goToCell(session: Session, cell: CellPlace): void {
  if (cell.node < 0) return;
  if (cell.isGroup) void session.goToGroup(cell);
  else void session.goTo(cell.node, session.graphName);
}
