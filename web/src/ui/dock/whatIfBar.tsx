/** The answer to a what-if question: the new peak, what it costs, and what to write in the program. */
import type { JSX } from "preact";
import { bytesText, quantityText } from "../../core/text/quantities";
import type { MemorySummary, WhatIfSummary } from "../engine/memoryProtocol";
import { clipped } from "../panels/outline";
import type { WhatIf } from "./whatIf";

export function WhatIfBar({ whatIf, summary }: { readonly whatIf: WhatIf; readonly summary: MemorySummary }): JSX.Element | null {
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
          <pre>{answer.advice.map((line) => clipped(line, 300)).join("\n")}</pre>
        </details>
      )}
    </div>
  );
}

function sentence({ changes, mostBytes, flops, unknownFlops, moved }: WhatIfSummary, summary: MemorySummary): string {
  const nodes = `${changes.length.toLocaleString("en-US")} ${changes.length === 1 ? "change" : "changes"}`;
  const cost = [
    flops === null ? "an unknown number of FLOP computed again" : flops > 0 ? `${quantityText(flops, "FLOP")} computed again` : "",
    flops !== null && unknownFlops > 0 ? `unknown for ${unknownFlops}` : "",
    moved > 0 ? `${bytesText(moved)} moved off the device and back` : "",
  ].filter(Boolean);
  const peak = `${bytesText(mostBytes)} in use at the peak instead of ${bytesText(summary.mostBytes)}`;
  return `Estimated, with ${nodes}: ${[peak, ...cost].join(", ")}`;
}
