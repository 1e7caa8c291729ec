/** The details of the box "output": what the graph returns, and which nodes compute it. */
import type { JSX } from "preact";
import { bytesText, countText } from "../../core/text/quantities";
import type { OutputFacts } from "../engine/protocol";
import type { Session } from "../session";
import { NodeLink } from "./nodeLink";
import { clipped } from "./outline";
import { Section } from "./sections";

export function OutputDetails({ session, facts }: { readonly session: Session; readonly facts: OutputFacts }): JSX.Element {
  const { values, total } = facts;
  return (
    <>
      <h2>output</h2>
      <p class="where">
        {total === 1 ? clipped(values[0].name, 2000) : `${countText(total)} values`} · returned by {clipped(facts.graph, 600)}
      </p>
      {values.map(({ name, type, bytes, producer }, i) => (
        <Section key={i} title={total === 1 ? "Value" : `${i}: ${clipped(name, 160)}`}>
          <ul>
            <li>
              <code>{clipped(type, 600)}</code>
              {bytes >= 0 && <span class="type"> {bytesText(bytes)}</span>}
            </li>
            <li>
              <span class="type">produced by </span>
              <NodeLink session={session} node={producer} />
              <span class="type"> {clipped(producer.op, 60)}</span>
            </li>
          </ul>
        </Section>
      ))}
      {total > values.length && <p class="more">and {countText(total - values.length)} more</p>}
    </>
  );
}
