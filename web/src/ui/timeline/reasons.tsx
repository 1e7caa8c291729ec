/** Why the compiler fused the selected node, or did not. */
import type { JSX } from "preact";
import type { NodeFacts } from "../engine/protocol";
import { clipped } from "../panels/outline";
import { Section } from "../panels/sections";
import type { Session } from "../session";

/** As many as a person reads. */
const MOST = 12;

export function NodeReasons({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element | null {
  const { history } = session.timeline;
  if (history?.node !== facts || history.reasons.length === 0) return null;
  const { reasons } = history;
  return (
    <Section title="Why fused, or not">
      <ul>
        {reasons.slice(0, MOST).map((reason) => (
          <li key={reason}>{clipped(reason, 600)}</li>
        ))}
        {reasons.length > MOST && <li class="more">and {(reasons.length - MOST).toLocaleString("en-US")} more</li>}
      </ul>
    </Section>
  );
}
