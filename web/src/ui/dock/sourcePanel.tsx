/** The lines of the user's program that the selection comes from, and how many nodes come from each line. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { countText } from "../../core/text/quantities";
import { plural } from "../../core/view/boxes/texts";
import { clipped } from "../panels/outline";
import { shortFile } from "../panels/pretty";
import { VirtualRows } from "../panels/virtual";
import type { Session } from "../session";
import { useAnswer } from "./asked";
import type { Docked } from "./docked";

const ROW = 20;
const LONGEST = 2000;

export function SourcePanel({ session, bar }: Docked): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const selected = session.view.selection.length ? session.about.node : undefined;
  const [wanted, setWanted] = useState<string>();
  const [last, setLast] = useState<number>();
  useEffect(() => setLast(undefined), [session.program]);
  useEffect(() => {
    if (selected) setLast(selected.node);
  }, [selected]);
  const node = selected?.node ?? last;
  const shown = useAnswer(session, "source", node === undefined ? undefined : { node, ...(wanted === undefined ? {} : { file: wanted }) }, [
    node,
    wanted,
    session.program,
  ]);
  const lines = useMemo(() => shown?.text?.split("\n") ?? [], [shown?.text]);
  const longest = useMemo(() => lines.reduce((most, line) => Math.max(most, Math.min(LONGEST, line.length)), 0), [lines]);
  const at = new Set(shown?.at);
  const isOfSelection = node !== undefined && shown !== undefined;
  return (
    <section class="sheet source" aria-label="Source">
      {bar(
        <>
          {isOfSelection && shown.files.length > 1 ? (
            <select class="filter" aria-label="File" value={shown.file} onChange={(event) => setWanted(event.currentTarget.value)}>
              {shown.files.map((file) => (
                <option key={file} value={file}>
                  {clipped(shortFile(file), 120)}
                </option>
              ))}
            </select>
          ) : (
            <span>{isOfSelection && clipped(shown.file, 200)}</span>
          )}
          <span class="quiet" role="status" aria-label="About the file">
            {told(session, node, shown)}
          </span>
          <span class="grow" />
        </>,
      )}
      <div class="lines" ref={scroller} role="table" aria-label="Lines of the program" aria-rowcount={lines.length} tabIndex={0}>
        <div class="width" style={{ width: `${longest + 20}ch` }}>
          <VirtualRows
            key={shown?.file}
            count={isOfSelection ? lines.length : 0}
            height={ROW}
            focus={(shown?.at[0] ?? 0) - 1}
            scroller={scroller}
            render={(i, style) => (
              <Line
                key={i}
                number={i + 1}
                text={lines[i]}
                count={shown?.counts[i + 1] ?? 0}
                selected={at.has(i + 1)}
                style={style}
                onClick={() => void session.finder.search(queryOf(shown!.file, i + 1)).then(() => session.finder.step(1))}
              />
            )}
          />
        </div>
      </div>
    </section>
  );
}

function Line({
  number,
  text,
  count,
  selected,
  style,
  onClick,
}: {
  readonly number: number;
  readonly text: string;
  readonly count: number;
  readonly selected: boolean;
  readonly style: { readonly top: string };
  readonly onClick: () => void;
}): JSX.Element {
  return (
    <div
      class="code"
      role="row"
      aria-rowindex={number}
      aria-selected={selected}
      style={style}
      {...(count > 0 ? { "data-nodes": count, "data-hint": `Find the ${plural(count, "node")} of this line`, onClick } : {})}
    >
      <span class="number" role="rowheader">
        {number}
      </span>
      <span class="count" role="cell">
        {count > 0 ? `${countText(count)} ×` : ""}
      </span>
      <span role="cell">{clipped(text, LONGEST)}</span>
    </div>
  );
}

function told(
  session: Session,
  node: number | undefined,
  shown: { readonly problem?: string; readonly note?: string } | undefined,
): string {
  if (node === undefined) return "Select a node to see the lines that it comes from.";
  if (shown) return shown.problem ?? shown.note ?? "";
  return session.about.node?.node === node ? "This node has no source lines." : "";
}

/** A search for the nodes of a line. */
function queryOf(file: string, line: number): string {
  const name = file.split("/").at(-1) ?? file;
  return `source:/${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}:${line}\\b/`;
}
