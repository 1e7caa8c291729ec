/** Why the compiler fused the selected node, or did not, and what its autotuner chose. */
import type { JSX } from "preact";
import type { NodeFacts } from "../engine/protocol";
import { clipped } from "../panels/outline";
import { Section } from "../panels/sections";
import type { Session } from "../session";

/** As many as a person reads. */
const MOST = 12;

export function NodeReasons({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element | null {
  const { history } = session.timeline;
  if (history?.node !== facts) return null;
  const { fusion, autotuning } = history.reasons;
  return (
    <>
      <Sentences title="Why fused, or not" sentences={fusion} />
      <Sentences title="Autotuning" sentences={autotuning} />
    </>
  );
}

function Sentences({ title, sentences }: { readonly title: string; readonly sentences: readonly string[] }): JSX.Element | null {
  if (sentences.length === 0) return null;
  return (
    <Section title={title}>
      <ul>
        {sentences.slice(0, MOST).map((sentence) => (
          <li key={sentence}>{clipped(sentence, 600)}</li>
        ))}
        {sentences.length > MOST && <li class="more">and {(sentences.length - MOST).toLocaleString("en-US")} more</li>}
      </ul>
    </Section>
  );
}
