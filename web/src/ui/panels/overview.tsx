/** What the program is made of and what costs most in it, while nothing is selected. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { countText, percentText } from "../../core/text/quantities";
import type { Overview } from "../engine/protocol";
import type { Session } from "../session";
import { Breakable } from "./breakable";
import { clipped } from "./outline";
import { Metrics, Section } from "./sections";

/** Asked for once the first picture is there, because it looks at every node of the entry. */
export function ProgramOverview({ session }: { readonly session: Session }): JSX.Element | null {
  const [overview, setOverview] = useState<Overview | undefined>(undefined);
  const { program, shown } = session;
  useEffect(() => {
    let current = true;
    if (program && shown)
      session
        .ask("overview", {})
        .then((answer) => current && setOverview(answer))
        .catch(() => {});
    return () => {
      current = false;
    };
  }, [program, shown !== undefined]);
  if (!overview) return null;
  return (
    <>
      <Metrics facts={overview.totals} />
      <Section title="Entry">
        <ul class="bars">
          <li>
            <span>operations</span>
            <span class="n">{countText(overview.operations)}</span>
          </li>
          {overview.kernels > 0 ? (
            <li>
              <span>kernels (fusions and library calls)</span>
              <span class="n">{countText(overview.kernels)}</span>
            </li>
          ) : null}
          {overview.dtypes.length > 0 ? (
            <li>
              <span>dtypes</span>
              <span class="n">{overview.dtypes.map(({ dtype, share }) => `${clipped(dtype, 40)} ${percentText(share)}`).join(", ")}</span>
            </li>
          ) : null}
        </ul>
      </Section>
      {overview.heaviest.length > 0 && (
        <Section title={`Heaviest modules by ${weightText(overview)}`}>
          <ul class="bars">
            {overview.heaviest.map(({ name, repeats, node, level, text, share }) => (
              <li key={name}>
                <button type="button" class="link" onClick={() => void session.goToGroup({ node, level })}>
                  <Breakable text={clipped(name, 200)} />
                  {repeats > 1 && ` ×${repeats}`}
                </button>
                <span class="n">
                  {text} · {percentText(share)}
                </span>
              </li>
            ))}
          </ul>
          {overview.hasTimes ? (
            <div class="actions">
              <button type="button" class="tool" onClick={() => session.openPanels.set("roofline", true)}>
                What to fix first
              </button>
            </div>
          ) : null}
        </Section>
      )}
    </>
  );
}

/** What modules are ranked by. */
function weightText({ heaviestBy, isPartial }: Overview): string {
  return `${isPartial ? "known " : ""}${heaviestBy === "flops" ? "FLOPs" : heaviestBy}`;
}
