/** Passes in words, for the details panel: what a pass did, what it changed in the selected node, and the history of the node. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { bytesText, countText } from "../../core/text/quantities";
import type { Change, Evidence } from "../../core/program/recording/types";
import { quantityText } from "../../core/text/quantities";
import type { HistoryRow, PassFacts } from "../engine/passProtocol";
import type { NodeFacts, NodeName } from "../engine/protocol";
import { Breakable } from "../panels/breakable";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import { Counts, secondsText } from "./strip";

const EVIDENCE_TEXT: Readonly<Record<Evidence, string>> = {
  rewrite: "recorded rewrite",
  identity: "the same object",
  name: "the same name",
  output: "the same output",
  place: "the same place in the program",
  slot: "the operand of the same consumers",
  neighbourhood: "the same neighbours",
  similarity: "similarity",
  undecided: "undecided between these",
};
/** Longer lists are cut; the count says how long they are. */
const MOST_CHANGES = 12;
const MOST_JUMPS = 4;
const MOST_GROUPS = 20;

/** Nothing is selected: what the shown pass did, or how two programs differ. */
export function PassDetails({ session }: { readonly session: Session }): JSX.Element | null {
  const { timeline } = session;
  const { row, facts, compares } = timeline;
  if (!row) return null;
  const before = timeline.rows[row.before];
  const [entryBefore, entryAfter] = facts?.entry ?? [0, 0];
  const change = (from: number | undefined, to: number, text = countText) => `${from === undefined ? "" : `${text(from)} → `}${text(to)}`;
  return (
    <>
      <h2>{clipped(compares && before ? `${before.name} → ${row.name}` : row.name, 600)}</h2>
      {!compares && <p class="where">{[`pass ${row.number}`, row.module, ...row.pipeline].filter(Boolean).join(" › ")}</p>}
      <section>
        <h3>{compares ? "What changed" : "What it did"}</h3>
        <ul class="bars">
          {entryAfter > 0 && entryAfter < row.nodes && (
            <li data-hint="Without the nodes in graphs that it calls, such as fusions">
              <span>entry instructions</span>
              <span class="n">{change(entryBefore, entryAfter)}</span>
            </li>
          )}
          <li>
            <span>{entryAfter > 0 && entryAfter < row.nodes ? "nodes with called graphs" : "nodes"}</span>
            <span class="n">{change(before?.nodes, row.nodes)}</span>
          </li>
          {row.peak !== undefined && (
            <li data-hint="Most bytes in use at one point, in the order in which the program is written">
              <span>peak memory</span>
              <span class="n">
                {before?.peak !== undefined && before.peak !== row.peak ? `${bytesText(before.peak)} → ` : ""}
                {bytesText(row.peak)}
              </span>
            </li>
          )}
          {row.seconds !== null && (
            <li>
              <span>time</span>
              <span class="n">{secondsText(row.seconds)}</span>
            </li>
          )}
          {row.estimatedSeconds !== undefined && (
            <li data-hint="Of the program after it, at the limits of the device; estimated">
              <span>time at best</span>
              <span class="n">{change(before?.estimatedSeconds, row.estimatedSeconds, (seconds) => quantityText(seconds, "s"))}</span>
            </li>
          )}
          <li>
            <span>changes</span>
            <Counts row={row} moved={facts?.movedCount} whole />
          </li>
        </ul>
        {compares && facts && <p class="type">{clipped(facts.basis, 200)}</p>}
      </section>
      {facts && <ByModule session={session} facts={facts} />}
      {facts && <ByOp facts={facts} />}
      {facts && <PassLists session={session} facts={facts} />}
    </>
  );
}

/** Changes by module: each goes to its first node. */
function ByModule({ session, facts }: { readonly session: Session; readonly facts: PassFacts }): JSX.Element | null {
  const [whole, setWhole] = useState(false);
  const { timeline } = session;
  const { byModule } = facts;
  if (byModule.length === 0) return null;
  const shown = whole ? byModule : byModule.slice(0, Math.max(MOST_GROUPS, timeline.change + 1));
  const firstInside = byModule.findIndex(({ inside }) => inside);
  return (
    <section aria-label="Changes by module">
      <h3>By module ({countText(byModule.length)})</h3>
      <ul class="change-groups">
        {shown.map((row, i) => (
          <>
            {i === firstInside && i > 0 && <li class="sub">In called graphs</li>}
            <li key={i} aria-current={timeline.change === i ? "true" : undefined}>
              <button type="button" class="link" onClick={() => void session.idle.during(timeline.goToChange(i))}>
                <Breakable text={clipped(row.place, 160)} />
              </button>
              <span class="what">
                <Signed text={clipped(row.what, 400)} />
              </span>
            </li>
          </>
        ))}
      </ul>
      {shown.length < byModule.length && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          Show all {countText(byModule.length)}
        </button>
      )}
    </section>
  );
}

/** "−1 add, +2 multiply" with each count in the colour of its sign. */
function Signed({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.split(/([+−~][\d,]+)/).map((part, i) =>
        i % 2 ? (
          <span key={i} class={SIGN_CLASS[part[0]]}>
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}

const SIGN_CLASS: Readonly<Record<string, string>> = { "+": "added", "−": "removed", "~": "changed" };

function ByOp({ facts: { byOp } }: { readonly facts: PassFacts }): JSX.Element | null {
  if (byOp.length === 0) return null;
  const left = byOp.length - MOST_GROUPS;
  return (
    <section aria-label="Changes by op">
      <h3>By op</h3>
      <ul class="bars">
        {byOp.slice(0, MOST_GROUPS).map(({ op, added, removed, changed }) => (
          <li key={op}>
            <span>{clipped(op, 60)}</span>
            <span class="pass-counts n">
              {added > 0 && <span class="added">+{countText(added)}</span>}
              {removed > 0 && <span class="removed">−{countText(removed)}</span>}
              {changed > 0 && <span class="changed">~{countText(changed)}</span>}
            </span>
          </li>
        ))}
        {left > 0 && <li class="more">and {countText(left)} more</li>}
      </ul>
    </section>
  );
}

function PassLists({ session, facts }: { readonly session: Session; readonly facts: PassFacts }): JSX.Element {
  return (
    <>
      <ListSection title="Fused" count={facts.fusionCount} shown={facts.fusions.length}>
        {facts.fusions.map(({ node, count, parts }) => (
          <li key={node.node}>
            {count > 1 ? `these ${count}` : "this one"} became <Jump session={session} pass={facts.pass} node={node} after />
            <span class="type">: {named(parts, count)}</span>
          </li>
        ))}
      </ListSection>
      <ListSection title="Rewritten" count={facts.rewriteCount} shown={facts.rewrites.length}>
        {facts.rewrites.map((each, i) => (
          <li key={i}>
            {named(each.old, each.oldCount)} became <Results session={session} pass={facts.pass} nodes={each.new} count={each.newCount} />
            {each.rule && <span class="type">: {clipped(each.rule, 120)}</span>}
          </li>
        ))}
      </ListSection>
      <ListSection title="Replaced" count={facts.replacedCount} shown={facts.replaced.length}>
        {facts.replaced.map((each, i) => (
          <li key={i}>
            {named(each.old, each.oldCount)} → {each.decided ? "" : each.newCount > 1 ? "one of " : "perhaps "}
            <Results session={session} pass={facts.pass} nodes={each.new} count={each.newCount} />
          </li>
        ))}
      </ListSection>
      <ListSection title="Added" count={facts.addedCount} shown={facts.added.length}>
        {facts.added.map((node) => (
          <li key={node.node}>
            <Jump session={session} pass={facts.pass} node={node} after />
            <span class="type"> {clipped(node.op, 60)}</span>
          </li>
        ))}
      </ListSection>
      <ListSection title="Removed" count={facts.removedCount} shown={facts.removed.length}>
        {facts.removed.map((node) => (
          <li key={node.node}>
            <Jump session={session} pass={facts.pass} node={node} after={false} />
            <span class="type"> {clipped(node.op, 60)}</span>
          </li>
        ))}
      </ListSection>
      <ListSection title="Changed" count={facts.changedCount} shown={facts.changed.length}>
        {facts.changed.map((node) => (
          <li key={node.node}>
            <Jump session={session} pass={facts.pass} node={node} after />
            <span class="type"> {clipped(node.fields.map(fieldName).join(", "), 120)}</span>
          </li>
        ))}
      </ListSection>
    </>
  );
}

/** What the shown pass changed in the selected node: old → new. */
export function NodeChanges({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element | null {
  const { history, pass } = session.timeline;
  const row = history?.node === facts ? history.rows.find((each) => each.pass === pass) : undefined;
  if (!row || row.changes.length === 0) return null;
  const title = session.timeline.compares ? "Changed between the two" : "Changed by this pass";
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl class="changes">
        {row.changes.map((change, i) => (
          <ChangeRow key={i} change={change} />
        ))}
      </dl>
    </section>
  );
}

function ChangeRow({ change }: { readonly change: Change }): JSX.Element {
  return (
    <div>
      <dt>{clipped(fieldName(change.field), 80)}</dt>
      <dd class="mono">
        <span class="diff-old">{clipped(change.old, 600) || "nothing"}</span> →{" "}
        <span class="diff-new">{clipped(change.new, 600) || "nothing"}</span>
      </dd>
    </div>
  );
}

/** Where the selected node came from, through which passes, and what it became. */
export function NodeHistory({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element | null {
  const { timeline } = session;
  if (!timeline.exists || timeline.history?.node !== facts) return null;
  const { rows } = timeline.history;
  return (
    <section aria-label="History">
      <h3>History</h3>
      {rows.every(({ kind }) => kind === "carried") && (
        <p class="type">{timeline.compares ? "This node is unchanged." : "No pass changed this node."}</p>
      )}
      <ol class="story">
        {carriedTogether(rows).map(([row, ...more]) => (
          <li key={row.pass} data-kind={row.kind} aria-current={row.pass === timeline.pass ? "true" : undefined}>
            {row.kind === "carried" ? carriedText(timeline, [row, ...more]) : <HistoryText session={session} row={row} />}
            {row.rule && (
              <div class="sub">
                rule {clipped(row.rule, 160)}
                {row.place && `, ${clipped(row.place, 200)}`}
              </div>
            )}
            {row.evidence && (
              <div class="sub">
                evidence: {[...new Set([row, ...more].map(({ evidence }) => evidence && EVIDENCE_TEXT[evidence]))].join(", ")}
              </div>
            )}
            {row.kind === "changed" && (
              <div class="sub">
                {clipped(
                  row.changes
                    .slice(0, MOST_CHANGES)
                    .map((change) => fieldName(change.field))
                    .join(", "),
                  200,
                )}
              </div>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Each step alone, and passes in a row that did nothing to the node together. */
function carriedTogether(rows: readonly HistoryRow[]): [HistoryRow, ...HistoryRow[]][] {
  const runs: [HistoryRow, ...HistoryRow[]][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (row.kind === "carried" && last?.[0].kind === "carried") last.push(row);
    else runs.push([row]);
  }
  return runs;
}

function carriedText(timeline: Session["timeline"], run: readonly HistoryRow[]): string {
  const [first, last] = [run[0], run[run.length - 1]].map(({ pass }) => timeline.numberOf(pass));
  return run.length === 1 ? `unchanged by pass ${first}` : `unchanged by ${countText(run.length)} passes, ${first} to ${last}`;
}

function HistoryText({ session, row }: { readonly session: Session; readonly row: HistoryRow }): JSX.Element {
  const node = row.new[0] ?? row.old[0];
  const pass = <Jump session={session} pass={row.pass} node={node} after={row.newCount > 0} text={row.name} label={`Show ${row.name}`} />;
  switch (row.kind) {
    case "added":
      return <>appeared in {pass}</>;
    case "removed":
      return <>removed in {pass}</>;
    case "changed":
      return (
        <>
          {row.newCount > 1 ? (
            `${named(row.new, row.newCount)} changed`
          ) : row.old[0].id === row.new[0].id ? (
            "changed"
          ) : (
            <>
              {clipped(row.old[0].id, 80)} became <Jump session={session} pass={row.pass} node={row.new[0]} after />
            </>
          )}{" "}
          in {pass}
        </>
      );
    case "undecided":
      return (
        <>
          <div>{named(row.old, row.oldCount)}</div>
          perhaps became <Results session={session} pass={row.pass} nodes={row.new} count={row.newCount} /> in {pass}
        </>
      );
    default:
      return (
        <>
          <div>{named(row.old, row.oldCount)}</div>
          {row.kind === "fused" && row.oldCount > 1 && `these ${row.oldCount} `}became{" "}
          <Results session={session} pass={row.pass} nodes={row.new} count={row.newCount} /> in {pass}
        </>
      );
  }
}

/** The first few nodes that something became. */
function Results({
  session,
  pass,
  nodes,
  count,
}: {
  readonly session: Session;
  readonly pass: number;
  readonly nodes: readonly NodeName[];
  readonly count: number;
}): JSX.Element {
  return (
    <>
      {nodes.slice(0, MOST_JUMPS).map((node, i) => (
        <>
          {i > 0 && ", "}
          <Jump key={node.node} session={session} pass={pass} node={node} after />
        </>
      ))}
      {count > MOST_JUMPS && ` and ${count - MOST_JUMPS} more`}
    </>
  );
}

function Jump({
  session,
  pass,
  node,
  after,
  text,
  label,
}: {
  readonly session: Session;
  readonly pass: number;
  readonly node: NodeName;
  readonly after: boolean;
  readonly text?: string;
  readonly label?: string;
}): JSX.Element {
  return (
    <button
      type="button"
      class={text ? "link pass" : "link"}
      aria-label={label}
      data-hint={clipped(`${node.op} in ${node.graph}`, 160)}
      onClick={() => void session.timeline.jump(pass, node, after)}
    >
      {clipped(text ?? node.id, 160)}
    </button>
  );
}

function ListSection({
  title,
  count,
  shown,
  children,
}: {
  readonly title: string;
  readonly count: number;
  readonly shown: number;
  readonly children: ComponentChildren;
}): JSX.Element | null {
  if (count === 0) return null;
  return (
    <section>
      <h3>
        {title} ({countText(count)})
      </h3>
      <ul>
        {children}
        {count > shown && <li class="more">and {countText(count - shown)} more</li>}
      </ul>
    </section>
  );
}

function named(nodes: readonly NodeName[], count: number): string {
  return nodes.map((node) => clipped(node.id, 60)).join(", ") + (count > nodes.length ? `, … ${count} in total` : "");
}

function fieldName(field: string): string {
  return field.startsWith("attrs.") ? field.slice(6) : field;
}
