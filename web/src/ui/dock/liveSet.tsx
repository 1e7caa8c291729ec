/** The buffers alive at a point: each with its size, who made it, why it is still alive, its source line and type, and who uses it last. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useRows } from "../panels/rowWindow";
import { VirtualRows } from "../panels/virtual";
import type { Session } from "../session";
import { LiveLine } from "./liveLine";
import type { MemoryLane } from "./memoryLane";

const ROW = 24;
/** What a narrow page can do without comes last. */
const COLUMNS = [
  ["bytes", "84px"],
  ["what if", "116px"],
  ["kind", "166px"],
  ["buffer", "minmax(150px, 1.3fr)"],
  ["why it is alive", "minmax(250px, 2.7fr)"],
  ["source", "minmax(132px, 0.95fr)"],
  ["type", "minmax(160px, 1.15fr)"],
  ["last use", "minmax(120px, 1fr)"],
  ["module", "minmax(150px, 1.3fr)"],
] as const;

export function LiveSet({ session, lane }: { readonly session: Session; readonly lane: MemoryLane }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const { live } = lane;
  const columns = lane.whatIf.isPossible ? COLUMNS : COLUMNS.filter(([name]) => name !== "what if");
  const template = columns.map(([, width]) => width).join(" ");
  const rowAt = useRows(live, (from, to) => lane.rows(from, to));
  return (
    <div class="grid live" ref={scroller} role="table" aria-label="Buffers alive" aria-rowcount={(live?.lines ?? 0) + 1} tabIndex={0}>
      <div class="line head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        {columns.map(([name]) => (
          <span key={name} role="columnheader" class={name === "bytes" ? "numeric" : ""}>
            {name}
          </span>
        ))}
      </div>
      <VirtualRows
        count={live?.lines ?? 0}
        height={ROW}
        focus={-1}
        scroller={scroller}
        render={(index, style) => (
          <LiveLine
            key={index}
            session={session}
            lane={lane}
            row={rowAt(index)}
            index={index}
            frame={{ top: style.top, gridTemplateColumns: template }}
          />
        )}
      />
    </div>
  );
}
