/** The details of an edge: its ends and what it carries. */
import type { JSX } from "preact";
import type { EdgeFacts } from "../engine/protocol";
import type { Session } from "../session";
import { bytesText, countText } from "../../core/text/quantities";
import { clipped } from "./outline";
import { NodeList, Section } from "./sections";

const KIND = {
  data: "",
  control: "Order only; it carries no value.",
  link: "A link; it carries no value.",
  carried: "To the next iteration of the loop.",
  overlay: "An overlay from the file; it carries no value.",
} as const;

export function EdgeDetails({ session, facts }: { readonly session: Session; readonly facts: EdgeFacts }): JSX.Element {
  const end = ({ key, title }: EdgeFacts["from"]) => (
    <button
      type="button"
      class="link"
      onClick={() => {
        const item = session.shown?.find(key) ?? -1;
        if (item >= 0) session.selectItem(item, false, true);
      }}
    >
      {clipped(title, 200)}
    </button>
  );
  return (
    <>
      <h2>
        {clipped(facts.from.title, 200)} → {clipped(facts.to.title, 200)}
      </h2>
      <p class="where">
        {KIND[facts.kind] || (facts.total > 1 ? `${countText(facts.total)} values · ${bytesText(facts.bytes)}` : bytesText(facts.bytes))}
      </p>
      <Section title="From">
        <p>{end(facts.from)}</p>
      </Section>
      <Section title="To">
        <p>{end(facts.to)}</p>
      </Section>
      <NodeList session={session} title="Carries" nodes={facts.values} total={facts.total} types />
    </>
  );
}
