/** Everything about the selection: types, inputs and users, attributes, source, and what is upstream and downstream. */
import type { JSX } from "preact";
import { BACKWARD_OF, CODE_ATTR, LINES_ATTR } from "../../core/program/names";
import { bytesText, countText, shortNumber } from "../../core/text/quantities";
import { useAnswer } from "../dock/asked";
import type { GroupFacts, NodeFacts, OpCount, ParameterCounts } from "../engine/protocol";
import type { Session } from "../session";
import { ALL, enterGraph, walkedGraphs } from "../state/view";
import { NodeReasons, WHY } from "../timeline/reasons";
import { NodeChanges, NodeHistory, PassDetails } from "../timeline/story";
import { actions, copy, isGroupKey, SHOW_ONLY_GROUP } from "./actions";
import { Breakable } from "./breakable";
import { EdgeDetails } from "./edgeDetails";
import { FoldedIn, foldings } from "./folded";
import { Chain, Gradient, SavedForBackward } from "./gradient";
import { Icon } from "./icons";
import { KernelCode, SourceLines } from "./kernelCode";
import { NodeLink } from "./nodeLink";
import { clipped } from "./outline";
import { OutputDetails } from "./outputDetails";
import { ProgramOverview } from "./overview";
import { pretty, shortFile } from "./pretty";
import { Metrics, NodeList, Section } from "./sections";

export function Details({ session }: { readonly session: Session }): JSX.Element {
  const { node, group, output, edge } = session.about;
  return (
    <aside class="side right" aria-label="Details">
      <div class="facts" tabIndex={0} role="region" aria-label="About the selection">
        {session.view.selection.length > 1 && <Several session={session} />}
        {edge ? (
          <EdgeDetails session={session} facts={edge} />
        ) : node ? (
          <NodeDetails session={session} facts={node} />
        ) : output ? (
          <OutputDetails session={session} facts={output} />
        ) : group ? (
          <GroupDetails session={session} facts={group} />
        ) : session.timeline.exists ? (
          <PassDetails session={session} />
        ) : (
          <ProgramDetails session={session} />
        )}
      </div>
    </aside>
  );
}

function NodeDetails({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element {
  const where = [facts.graph === session.graphName ? "" : facts.graph, ...facts.scope].filter(Boolean).join(" › ");
  const kernel = useAnswer(session, "kernel", { node: facts.node }, [facts]);
  const attrs = facts.attrs.filter(([name]) => name !== CODE_ATTR && name !== LINES_ATTR);
  return (
    <>
      <h2>{clipped(facts.op, 2000)}</h2>
      <p class="where">
        {clipped(facts.id, 12_000)}
        <button
          type="button"
          class="copy name"
          aria-label="Copy name"
          data-hint="Copy name"
          onClick={() => void copy(session, facts.id, "Name copied")}
        >
          <Icon name="copy" />
        </button>
        {where && ` · ${clipped(where, 2000)}`}
        {facts.isReturned && ` · returned by ${clipped(facts.graph, 600)}`}
      </p>
      <Actions session={session} facts={facts} />
      <NodeChanges session={session} facts={facts} />
      {facts.outputs.length > 0 && (
        <Section title={facts.outputs.length > 1 ? `Type, ${facts.outputs.length} outputs` : "Type"}>
          <ul>
            {facts.outputs.map((output, i) => (
              <li key={i}>
                {output.name && `${clipped(output.name, 600)} `}
                <code>{clipped(output.type, 600)}</code>
                {output.bytes >= 0 && <span class="type"> {bytesText(output.bytes)}</span>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Metrics facts={facts.metrics} />
      {facts.origin && <NodeList session={session} title="Comes from" nodes={[facts.origin]} total={1} />}
      <NodeList session={session} title="Inputs" nodes={facts.inputs} total={facts.inputCount} types />
      <FoldedIn session={session} facts={facts} />
      <NodeList session={session} title="Used by" nodes={facts.users} total={facts.userCount} />
      {session.about.gradient && <Gradient session={session} facts={session.about.gradient} of={facts} />}
      <NodeList session={session} title="Runs after" nodes={facts.control} total={facts.control.length} />
      {facts.links.some((link) => link.kind !== BACKWARD_OF) && (
        <Section title="Related">
          <ul>
            {facts.links
              .filter((link) => link.kind !== BACKWARD_OF)
              .map((link) => (
                <li key={`${link.kind} ${link.node}`}>
                  <span class="type">{link.kind.replaceAll("_", " ")} </span>
                  <NodeLink session={session} node={link} />
                </li>
              ))}
          </ul>
        </Section>
      )}
      {facts.calls.length > 0 && (
        <Section title="Calls">
          <ul>
            {facts.calls.map((graph) => (
              <li key={graph.name}>
                <button type="button" class="link" onClick={() => session.change(enterGraph(session.view, graph.name), { look: "first" })}>
                  {clipped(graph.name)}
                </button>
                <span class="type">
                  {" "}
                  {countText(graph.nodes)} nodes{graph.callers > 1 && `, called ${graph.callers} times`}
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <NodeList session={session} title="Called by" nodes={facts.calledBy} total={facts.calledBy.length} />
      <NodeReasons session={session} facts={facts} />
      <NodeHistory session={session} facts={facts} />
      <Reach session={session} />
      <KernelCode session={session} kernel={kernel} />
      {facts.source.length > 0 && (
        <Section title="Source">
          <ul>
            {facts.source.map((frame, i) => (
              <li key={i}>
                <button
                  type="button"
                  class="link"
                  data-hint="Copy file and line"
                  onClick={() => void copy(session, `${frame.file}:${frame.line}`, "Location copied")}
                >
                  {clipped(shortFile(frame.file))}:{frame.line}
                </button>
                {frame.function && <span> {clipped(frame.function)}</span>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <SourceLines session={session} kernel={kernel} own={facts.source} />
      {attrs.length > 0 && (
        <Section title="Attributes">
          <dl>
            {attrs.map(([name, value]) => (
              <Attribute key={name} session={session} name={name} value={value} />
            ))}
          </dl>
        </Section>
      )}
    </>
  );
}

function GroupDetails({ session, facts }: { readonly session: Session; readonly facts: GroupFacts }): JSX.Element {
  const item = session.selectedItems.at(-1) ?? -1;
  const open = item >= 0 && session.shown?.result.open[session.shown.scene.box[item]] === 1;
  return (
    <>
      <h2>
        {clipped(facts.title, 2000)}
        {facts.repeat > 1 && ` ×${facts.repeat}`}
      </h2>
      <p class="where">
        {[clipped(facts.subtitle.replace("\n", " · "), 600), facts.path.map((name) => clipped(name)).join(" › ")]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <div class="actions">
        <button type="button" class="tool" onClick={() => session.toggle(item)}>
          {open ? "Collapse" : "Expand"}
        </button>
        <button
          type="button"
          class="tool"
          data-hint="Expand it with every group inside"
          data-key="Shift+Enter, Alt+double-click"
          onClick={() => session.toggle(item, true)}
        >
          Expand all inside
        </button>
        {facts.repeat > 1 && (
          <button type="button" class="tool" onClick={() => actions.unfold(session, [facts.key], facts.key)}>
            Unstack the {facts.repeat} repeats
          </button>
        )}
        <button type="button" class="tool" onClick={() => session.stage?.reveal([item], true)}>
          Zoom to it
        </button>
        {isGroupKey(facts.key) && (
          <button
            type="button"
            class="tool"
            data-hint="This group alone, with what goes in and out of it"
            onClick={() => actions.isolateGroup(session, facts.key)}
          >
            {SHOW_ONLY_GROUP}
          </button>
        )}
      </div>
      <Section
        title={
          facts.repeat > 1 ? `Inside all ${facts.repeat} repeats` : facts.around > 1 ? `Inside each of ${facts.around} repeats` : "Inside"
        }
      >
        <ul class="bars">
          <li>
            <span>operations</span>
            <span class="n">{countText(facts.operations)}</span>
          </li>
          <li>
            <span>{facts.called > 0 ? "nodes, including called graphs" : "nodes, including constants and parameters"}</span>
            <span class="n">{countText(facts.nodes)}</span>
          </li>
          <ParameterRows counts={facts} />
          <ParameterRows counts={facts.state} what="optimizer state" />
        </ul>
      </Section>
      <Metrics facts={facts.metrics} />
      <OpCounts session={session} ops={facts.ops} />
      <NodeList session={session} title="Inputs" nodes={facts.inputs} total={facts.inputs.length} types />
      <NodeList session={session} title="Outputs" nodes={facts.outputs} total={facts.outputs.length} types />
    </>
  );
}

/** The whole program, when nothing is selected. */
function ProgramDetails({ session }: { readonly session: Session }): JSX.Element {
  const { program } = session;
  if (!program) return <p class="where">Loading…</p>;
  return (
    <>
      <h2>{clipped(program.name, 2000)}</h2>
      <p class="where">Select a node to see its details.</p>
      <Section title="Program">
        <ul class="bars">
          <li>
            <span>nodes</span>
            <span class="n">{countText(program.nodes)}</span>
          </li>
          <li>
            <span>graphs</span>
            <span class="n">{countText(program.graphs.length)}</span>
          </li>
          {program.others > 0 ? (
            <ParameterRows counts={program} />
          ) : (
            program.parameters > 0 && (
              <li>
                <span>entry parameters</span>
                <span class="n">
                  {countText(program.parameters)} · {bytesText(program.parameterBytes)}
                </span>
              </li>
            )
          )}
          {program.others > 0 && (
            <li>
              <span>inputs and buffers</span>
              <span class="n">
                {countText(program.others)} · {bytesText(program.otherBytes)}
              </span>
            </li>
          )}
        </ul>
      </Section>
      <ProgramOverview session={session} />
      <SavedForBackward session={session} />
      <OpCounts session={session} ops={program.ops} />
    </>
  );
}

/** `what`: parameters, or something else that is counted like them. */
function ParameterRows({ counts, what = "parameters" }: { readonly counts: ParameterCounts; readonly what?: string }): JSX.Element | null {
  if (counts.parameters === 0) return null;
  return (
    <>
      <li>
        <span>{what}</span>
        <span class="n">
          {shortNumber(counts.parameterElements)} · {bytesText(counts.parameterBytes)}
        </span>
      </li>
      <li>
        <span>{what === "parameters" ? "parameter" : what} tensors</span>
        <span class="n">{countText(counts.parameters)}</span>
      </li>
    </>
  );
}

function Several({ session }: { readonly session: Session }): JSX.Element {
  const names = session.selectedItems.map((item) => session.shown!.scene.title[session.shown!.scene.box[item]]);
  const ends = session.selectedNodes;
  return (
    <>
      <p class="where">
        {names.length} selected:{" "}
        {names
          .slice(0, 6)
          .map((name) => clipped(name, 60))
          .join(", ")}
      </p>
      {ends.length === 2 && (
        <div class="actions">
          <button type="button" class="tool" onClick={() => void showPaths(session, ends[0], ends[1])}>
            Show all paths between
          </button>
        </div>
      )}
      <Chain session={session} steps={session.about.chain} />
    </>
  );
}

export async function showPaths(session: Session, a: number, b: number): Promise<void> {
  const [from, to] = [await session.ask("node", { node: Math.min(a, b) }), await session.ask("node", { node: Math.max(a, b) })];
  if (from.graph !== to.graph) session.say("The two nodes are in different graphs");
  else
    session.change(
      {
        ...session.view,
        ...(from.graph === session.graphName ? {} : { graph: from.graph, trail: walkedGraphs(session.view) }),
        paths: [from.id, to.id],
      },
      { look: "fit" },
    );
}

function Actions({ session, facts }: { readonly session: Session; readonly facts: NodeFacts }): JSX.Element {
  const inGraph = facts.graph === session.graphName;
  return (
    <div class="actions">
      <button type="button" class="tool" onClick={() => session.stage?.reveal(session.selectedItems, true)}>
        Zoom to it
      </button>
      {inGraph && (
        <button type="button" class="tool" onClick={() => void actions.isolate(session, facts.node)}>
          Isolate (2 hops)
        </button>
      )}
      {foldings(session, facts).map(({ text, run }) => (
        <button type="button" class="tool" key={text} onClick={run}>
          {text}
        </button>
      ))}
      {session.timeline.history?.node === facts && session.timeline.history.reasons.noted && (
        <button type="button" class="tool" onClick={() => session.timeline.explain()}>
          {WHY}
        </button>
      )}
    </div>
  );
}

/** How many hops upstream and downstream to highlight. */
function Reach({ session }: { readonly session: Session }): JSX.Element {
  const { view } = session;
  const row = (label: string, name: "upstream" | "downstream") => {
    const hops = view[name];
    const set = (to: number) => session.change({ ...view, [name]: to });
    return (
      <div class="steps" role="group" aria-label={label}>
        <span>{label}</span>
        <button
          type="button"
          class="tool"
          aria-label={`${label}: less`}
          disabled={hops === 0}
          onClick={() => set(hops >= ALL ? 3 : hops - 1)}
        >
          −
        </button>
        <output>{hops >= ALL ? "all" : hops}</output>
        <button type="button" class="tool" aria-label={`${label}: more`} disabled={hops >= ALL} onClick={() => set(hops + 1)}>
          +
        </button>
        <button
          type="button"
          class="tool"
          aria-label={`${label}: all`}
          aria-pressed={hops >= ALL}
          onClick={() => set(hops >= ALL ? 0 : ALL)}
        >
          all
        </button>
      </div>
    );
  };
  return (
    <Section title="Highlight">
      {row("Upstream", "upstream")}
      {row("Downstream", "downstream")}
    </Section>
  );
}

function OpCounts({ session, ops }: { readonly session: Session; readonly ops: readonly OpCount[] }): JSX.Element | null {
  if (ops.length === 0) return null;
  return (
    <Section title="Operations">
      <ul class="bars">
        {ops.map(({ op, count }) => (
          <li key={op}>
            <button
              type="button"
              class="link"
              data-hint="Search for this operation"
              onClick={() => void session.finder.search(`op:=${op}`)}
            >
              {clipped(op, 80)}
            </button>
            <span class="n">{countText(count)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Attribute({ session, name, value }: { readonly session: Session; readonly name: string; readonly value: unknown }): JSX.Element {
  const text = pretty(value);
  return (
    <div class={text.length > 60 || text.includes("\n") ? "attr long" : "attr"}>
      <dt>
        <Breakable text={clipped(name)} />
        <button
          type="button"
          class="copy"
          aria-label={`Copy ${clipped(name, 60)}`}
          data-hint="Copy"
          onClick={() => void copy(session, text, `${clipped(name, 40)} copied`)}
        >
          <Icon name="copy" />
        </button>
      </dt>
      <dd class="mono" tabIndex={text.split("\n").length > 18 || text.length > 1500 ? 0 : undefined}>
        {text.length > 60 || text.includes("\n") ? clipped(text, 60_000) : <Breakable text={text} />}
      </dd>
    </div>
  );
}
