/** The answer to a what-if question: the new peak, what it costs, and what to write in the program. */
import type { JSX } from "preact";
import { bytesText, countText, quantityText } from "../../core/text/quantities";
import type { MemorySummary, WhatIfSummary } from "../engine/memoryProtocol";
import { copy } from "../panels/actions";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import type { WhatIf } from "./whatIf";

/** Of the changes that the advice does not make, how many are named. */
const MOST_NAMED = 8;

export function WhatIfBar({
  session,
  whatIf,
  summary,
}: {
  readonly session: Session;
  readonly whatIf: WhatIf;
  readonly summary: MemorySummary;
}): JSX.Element | null {
  const { answer, problem, busy } = whatIf;
  if (!answer && !problem && !busy) return null;
  return (
    <div class="what-if">
      <span role="status" aria-label="What if">
        {busy ? "Computing…" : (problem && clipped(problem, 300)) || (answer && sentence(answer, summary))}
      </span>
      {answer && (
        <button type="button" class="tool" onClick={() => void whatIf.clear()}>
          Clear what-if
        </button>
      )}
      {answer && answer.advice.length > 0 && (
        <details>
          <summary>What to write</summary>
          <button type="button" class="tool" onClick={() => void copy(session, answer.advice.join("\n"), "Code copied")}>
            Copy
          </button>
          <pre>{answer.advice.map((line) => clipped(line, 300)).join("\n")}</pre>
          {aboutAdvice(answer).map((text) => (
            <p key={text}>{text}</p>
          ))}
        </details>
      )}
    </div>
  );
}

/** What the code does not do, why the peak may not fall by what is estimated, and how far estimates are off. */
function aboutAdvice({ byHand, adviceBytes, note, error }: WhatIfSummary): string[] {
  const more = byHand.length - MOST_NAMED;
  const named = byHand.slice(0, MOST_NAMED).map((change) => clipped(change, 80));
  const names = [...named, ...(more > 0 ? [`${countText(more)} more`] : [])].join(", ");
  return [
    ...(byHand.length > 0
      ? [
          `This code alone: ${bytesText(adviceBytes)} in use at the peak. It does not do what you chose for ${counted(byHand.length, "value")}: ${names}.`,
        ]
      : []),
    ...(note ? [`${note}.`] : []),
    ...(error ? [`The estimate: ${error}.`] : []),
  ];
}

function counted(count: number, what: string): string {
  return `${countText(count)} ${count === 1 ? what : `${what}s`}`;
}

function sentence({ functions, values, mostBytes, flops, unknownFlops, moved, note }: WhatIfSummary, summary: MemorySummary): string {
  const changes = [
    ...(functions > 0 ? [`${counted(functions, "checkpoint")}`] : []),
    ...(values > 0 ? [`${counted(values, "value")} changed`] : []),
  ].join(" and ");
  const cost = [
    flops === null ? "an unknown number of FLOP computed again" : flops > 0 ? `${quantityText(flops, "FLOP")} computed again` : "",
    flops !== null && unknownFlops > 0 ? `unknown for ${unknownFlops}` : "",
    moved > 0 ? `${bytesText(moved)} moved off the device and back` : "",
  ].filter(Boolean);
  const peak = `${bytesText(mostBytes)} in use at the peak instead of ${bytesText(summary.mostBytes)}`;
  const how = note ? ", compiled as it says below" : "";
  return `Estimated, with ${changes}${how}: ${[peak, ...cost].join(", ")}`;
}
