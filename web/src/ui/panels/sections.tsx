/** Parts of the details panel that more than one kind of thing needs. */
import type { JSX } from "preact";
import { shareText } from "../../core/metrics/changes";
import { countText } from "../../core/text/quantities";
import type { MetricFact, NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { NodeLink } from "./nodeLink";
import { clipped } from "./outline";

export function NodeList({
  session,
  title,
  nodes,
  total,
  types = false,
}: {
  readonly session: Session;
  readonly title: string;
  readonly nodes: readonly NodeName[];
  readonly total: number;
  readonly types?: boolean;
}): JSX.Element | null {
  if (total === 0) return null;
  return (
    <Section title={total > 4 ? `${title} (${countText(total)})` : title}>
      <ul>
        {nodes.map((node, i) => (
          <li key={i}>
            <NodeLink session={session} node={node} />
            <span class="type"> {types ? <code>{clipped(node.type, 120)}</code> : clipped(node.op, 60)}</span>
          </li>
        ))}
        {total > nodes.length && <li class="more">and {countText(total - nodes.length)} more</li>}
      </ul>
    </Section>
  );
}

/** Metrics with their origin and their share of the whole graph. */
export function Metrics({ facts }: { readonly facts: readonly MetricFact[] }): JSX.Element | null {
  if (facts.length === 0) return null;
  return (
    <Section title="Metrics">
      <ul class="bars">
        {facts.map(({ name, text, origin, share, spread }) => (
          <li key={name}>
            <span>
              {clipped(name, 80)} <span class="type">{origin}</span>
            </span>
            <span class="n">
              {clipped(text, 200)}
              {!Number.isNaN(share) && ` · ${shareText({ name }, share)}`}
            </span>
            {spread && <span class="spread">{clipped(spread, 300)}</span>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Section({
  title,
  children,
}: {
  readonly title: string;
  readonly children: JSX.Element | (JSX.Element | null)[];
}): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
