/** How gradients flow through the selection, in textbook notation. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { INFERRED_ATTR } from "../../core/program/names";
import { bytesText, countText } from "../../core/text/quantities";
import { WITH_NAMES } from "../../core/view/twoHalves/halves";
import type { ChainStep, GradientFacts, NodeFacts, NodeName, SavedLayer, SavedTensors } from "../engine/protocol";
import type { Session } from "../session";
import { Derivative, Formula } from "./formula";
import { NodeLink } from "./nodeLink";
import { clipped } from "./outline";

interface GradientProps {
  readonly session: Session;
  readonly facts: GradientFacts;
  readonly of: NodeFacts;
}

export function Gradient({ session, facts, of }: GradientProps): JSX.Element {
  const { view } = session;
  const hasOther = facts.backwardCount + facts.forwardCount > 0;
  return (
    <section aria-label="Gradient">
      <h3>{facts.isBackward ? "Backward of" : "Backward"}</h3>
      {facts.rule && <Rule session={session} facts={facts} />}
      <Sum session={session} sums={facts.sums} />
      {facts.saved.length > 0 && (
        <>
          <p class="law-note">
            saved for backward: <strong>{bytesText(facts.savedBytes)}</strong>
          </p>
          <ul>
            {facts.saved.map((value) => (
              <li key={value.node}>
                <NodeLink session={session} node={value} />
                {value.bytes >= 0 && <span class="type"> {bytesText(value.bytes)}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
      <List session={session} nodes={facts.forward} total={facts.forwardCount} />
      {facts.backwardCount > 0 && <p class="law-note">computed by</p>}
      <List session={session} nodes={facts.backward} total={facts.backwardCount} />
      {!hasOther && <Unknown isBackward={facts.isBackward} isInferred={of.attrs.some(([name]) => name === INFERRED_ATTR)} />}
      {hasOther && (
        <div class="actions">
          <button
            type="button"
            class="tool"
            aria-pressed={view.related}
            onClick={() => session.change({ ...view, related: !view.related })}
          >
            {facts.isBackward ? "Highlight forward ops" : "Highlight backward ops"}
          </button>
        </div>
      )}
    </section>
  );
}

/** Why no operation of the other half is listed. */
function Unknown({ isBackward, isInferred }: { readonly isBackward: boolean; readonly isInferred: boolean }): JSX.Element | null {
  if (isInferred) return <p class="law-note">The operations of the other half are not known without names; keep them with {WITH_NAMES}.</p>;
  return isBackward ? <p class="law-note">Its forward operation is not known.</p> : null;
}

function Rule({ session, facts }: { readonly session: Session; readonly facts: GradientFacts }): JSX.Element {
  const { y, vjp, note } = facts.rule!;
  return (
    <>
      {y && (
        <p class="law">
          <Formula text={`y = ${y}`} />
        </p>
      )}
      {Object.entries(vjp).map(([name, text]) => (
        <p class="law" key={name}>
          <Formula text={`d${name} = ${text}`} />
        </p>
      ))}
      {facts.operands && facts.operands.length > 0 && (
        <p class="law-note">
          {facts.operands.map(({ name, node }, i) => (
            <span key={name}>
              {i > 0 && ", "}
              <var>{name}</var> is <NodeLink session={session} node={node} />
            </span>
          ))}
        </p>
      )}
      {note && <p class="law-note">{note}</p>}
    </>
  );
}

/** The gradients that arrive at a value along each of its uses, with the names of the nodes they come from. */
function Sum({ session, sums }: { readonly session: Session; readonly sums: GradientFacts["sums"] }): JSX.Element | null {
  if (sums.length < 2) return null;
  return (
    <>
      <p class="law-note">
        <var>y</var> is used {sums.length} times, so its gradient is a sum:
      </p>
      <ul class="chain">
        {sums.map((sum, i) => (
          <li key={i}>
            {i > 0 ? (
              "+ "
            ) : (
              <>
                <var>dy</var> ={" "}
              </>
            )}
            <Formula text={sum.text} session={session} nodes={sum.nodes} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** What the forward half saves for the backward half; on request, because it walks the whole program. */
export function SavedForBackward({ session }: { readonly session: Session }): JSX.Element | null {
  const [saved, setSaved] = useState<SavedTensors | undefined>(undefined);
  const ask = async () => setSaved(await session.ask("saved", {}));
  if (!session.program?.halves) return null;
  return (
    <section aria-label="Saved for backward">
      <h3>Saved for backward</h3>
      {saved ? (
        <>
          <p class="law-note">
            <strong>{bytesText(saved.bytes)}</strong> in {countText(saved.count)} tensors
          </p>
          {saved.layers.map((layer) => (
            <SavedInLayer key={layer.name} session={session} layer={layer} />
          ))}
        </>
      ) : (
        <div class="actions">
          <button type="button" class="tool" onClick={() => void ask()}>
            Show saved tensors
          </button>
        </div>
      )}
    </section>
  );
}

/** One line for a layer; its tensors are listed where they are asked for. */
function SavedInLayer({ session, layer }: { readonly session: Session; readonly layer: SavedLayer }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="layer" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {clipped(layer.name, 200) || "outside modules"}
        <span class="n">
          {countText(layer.values.length)} · {bytesText(layer.bytes)}
        </span>
      </summary>
      {isOpen && (
        <ul>
          {layer.values.map((value, i) => (
            <li key={i}>
              <NodeLink session={session} node={value} /> <code>{clipped(value.type, 120)}</code>
              {value.bytes >= 0 && <span class="type"> {bytesText(value.bytes)}</span>}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** A longer product is harder to read than its factors. */
const LONGEST_PRODUCT = 6;

/** The chain rule between two selected nodes, written out with their names: the product, then each factor as backpropagation applies it. */
export function Chain({ session, steps }: { readonly session: Session; readonly steps: readonly ChainStep[] }): JSX.Element | null {
  if (steps.length === 0) return null;
  const [end, start] = [steps[0].node, steps[steps.length - 1].operand];
  return (
    <section aria-label="Chain rule">
      <h3>Chain rule</h3>
      {steps.length > 1 && steps.length <= LONGEST_PRODUCT && (
        <p class="law">
          <Derivative session={session} of={end} by={start} /> ={" "}
          {steps.map((step, i) => (
            <span key={step.node.node}>
              {i > 0 && " · "}
              <Derivative session={session} of={step.node} by={step.operand} />
            </span>
          ))}
        </p>
      )}
      <ul class="chain">
        {steps.map((step) => (
          <li key={step.node.node}>
            <var>d</var>
            <NodeLink session={session} node={step.operand} /> ={" "}
            {step.text ? (
              <Formula text={step.text} session={session} nodes={step.nodes} />
            ) : (
              <span class="type">{step.why || `no rule for ${clipped(step.node.op, 60)}`}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function List({
  session,
  nodes,
  total,
}: {
  readonly session: Session;
  readonly nodes: readonly NodeName[];
  readonly total: number;
}): JSX.Element | null {
  if (total === 0) return null;
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.node}>
          <NodeLink session={session} node={node} />
          <span class="type"> {clipped(node.op, 60)}</span>
        </li>
      ))}
      {total > nodes.length && <li class="more">and {countText(total - nodes.length)} more</li>}
    </ul>
  );
}
