/** A derivative rule as a textbook sets it: variables in italics, powers raised, and where nodes are known, their names for the letters. */
import type { ComponentChildren, JSX } from "preact";
import type { NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { NodeLink } from "./nodeLink";

/** A power, a raised sign, or a variable (one letter, or d and a letter) that is no function's name. */
const PIECES = /(\*\* ?\((?:[^()]|\([^()]*\))*\)|\*\* ?[\w.]+|[²³ᵀ]|\bd?(?:[a-zA-Z]|lo|hi)\b(?!\()|[αεμπ])/u;
const RAISED: Readonly<Record<string, string>> = { "²": "2", "³": "3", ᵀ: "T" };

interface Props {
  readonly text: string;
  readonly session?: Session;
  /** Nodes by letter; y is the node whose rule it is. */
  readonly nodes?: Readonly<Record<string, NodeName>>;
}

export function Formula({ text, session, nodes }: Props): JSX.Element {
  const set = (piece: string, i: number): ComponentChildren => {
    if (i % 2 === 0) return piece.replace(/\*/g, "");
    if (piece.startsWith("**"))
      return (
        <sup key={i}>
          <Formula text={piece.replace(/^\*\* ?/, "").replace(/^\((.*)\)$/, "$1")} session={session} nodes={nodes} />
        </sup>
      );
    if (piece in RAISED) return <sup key={i}>{RAISED[piece]}</sup>;
    const isGradient = piece.length > 1 && piece.startsWith("d");
    const node = nodes?.[isGradient ? piece.slice(1) : piece];
    if (session && node)
      return (
        <span key={i}>
          {isGradient && <var>d</var>}
          <NodeLink session={session} node={node} />
        </span>
      );
    return <var key={i}>{piece}</var>;
  };
  return <span class="formula">{text.split(PIECES).map(set)}</span>;
}

/** ∂ of one node by another, as a fraction. */
export function Derivative({ session, of, by }: { readonly session: Session; readonly of: NodeName; readonly by: NodeName }): JSX.Element {
  return (
    <span class="fraction">
      <span>
        ∂ <NodeLink session={session} node={of} />
      </span>
      <span>
        ∂ <NodeLink session={session} node={by} />
      </span>
    </span>
  );
}
