/** A derivative rule in textbook notation: variables in italics, powers raised, and names of nodes for letters. */
import type { ComponentChildren, JSX } from "preact";
import type { NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { NodeLink } from "./nodeLink";

/** A power, a raised sign, or a variable (one letter, or d and a letter) that is not a function's name. */
const TOKENS = /(\*\* ?\((?:[^()]|\([^()]*\))*\)|\*\* ?[\w.]+|[²³ᵀ]|\bd?(?:[a-zA-Z]|lo|hi)\b(?!\()|[αεμπ])/u;
const RAISED: Readonly<Record<string, string>> = { "²": "2", "³": "3", ᵀ: "T" };

interface Props {
  readonly text: string;
  readonly session?: Session;
  /** Nodes by letter; y is the node whose rule it is. */
  readonly nodes?: Readonly<Record<string, NodeName>>;
}

export function Formula({ text, session, nodes }: Props): JSX.Element {
  const set = (token: string, i: number): ComponentChildren => {
    if (i % 2 === 0) return token.replace(/\*/g, "");
    if (token.startsWith("**"))
      return (
        <sup key={i}>
          <Formula text={token.replace(/^\*\* ?/, "").replace(/^\((.*)\)$/, "$1")} session={session} nodes={nodes} />
        </sup>
      );
    if (token in RAISED) return <sup key={i}>{RAISED[token]}</sup>;
    const isGradient = token.length > 1 && token.startsWith("d");
    const node = nodes?.[isGradient ? token.slice(1) : token];
    if (session && node)
      return (
        <span key={i}>
          {isGradient && <var>d</var>}
          <NodeLink session={session} node={node} />
        </span>
      );
    return <var key={i}>{token}</var>;
  };
  return <span class="formula">{text.split(TOKENS).map(set)}</span>;
}

/** The derivative ∂ of one node by another, as a fraction. */
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
