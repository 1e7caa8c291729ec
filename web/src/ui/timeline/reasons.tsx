/** Why the compiler fused the selected node, or did not, and what its autotuner chose. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { countText } from "../../core/text/quantities";
import { useAnswer } from "../dock/asked";
import type { NodeFacts } from "../engine/protocol";
import { clipped } from "../panels/outline";
import { Section } from "../panels/sections";
import type { Session } from "../session";

/** As many as a person reads. */
const MOST = 12;
export const WHY = "Why is this not fused?";
const NOTHING = "The compiler noted nothing about it: it was neither a producer nor a consumer when fusions were chosen.";
const NO_NOTES =
  "The recording has no reasons for fusions. XLA writes them when it compiles for a GPU with xla_dump_to and xla_dump_hlo_pass_re=.*, and opscope records those of Inductor with codegen=True.";

export function NodeReasons({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element | null {
  const { history, explained } = session.timeline;
  const top = useRef<HTMLDivElement>(null);
  const isKnown = history?.node === facts;
  const [a, b, ...others] = session.selectedNodes;
  const nodes: [number, number] | undefined = b === undefined || others.length > 0 ? undefined : [a, b];
  const pair = useAnswer(session, "pairReasons", nodes && { nodes }, [facts, nodes?.join()]);
  const isAsked = explained?.node === facts;
  useEffect(() => {
    if (!isKnown || !isAsked) return;
    top.current?.scrollIntoView({ block: "start" });
    top.current?.focus({ preventScroll: true });
  }, [explained, isKnown, isAsked]);
  if (!isKnown) return null;
  const { fusion, autotuning, noted } = history.reasons;
  const sentences = fusion.length || !isAsked ? fusion : [noted ? NOTHING : NO_NOTES];
  return (
    <div ref={top} tabIndex={-1}>
      {nodes && pair && (
        <Sentences
          title={`${clipped(pair.producer, 60)} and ${clipped(pair.consumer, 60)} were ${pair.fused ? "" : "not "}fused`}
          sentences={pair.sentences}
        />
      )}
      <Sentences title="Why fused, or not" sentences={sentences} />
      <Sentences title="Autotuning" sentences={autotuning} />
    </div>
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
        {sentences.length > MOST && <li class="more">and {countText(sentences.length - MOST)} more</li>}
      </ul>
    </Section>
  );
}
