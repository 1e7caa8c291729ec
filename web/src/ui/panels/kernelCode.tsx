/** The code of the selected node's kernel, and every line of the user's program that it computes. */
import type { JSX } from "preact";
import { plural } from "../../core/view/boxes/texts";
import type { KernelFacts, SourceFrame } from "../engine/kernelProtocol";
import type { Session } from "../session";
import { copy } from "./actions";
import { Icon } from "./icons";
import { clipped } from "./outline";
import { shortFile } from "./pretty";
import { Section } from "./sections";

/** The rest of longer code is in the file; copying takes all of it. */
const LONGEST = 60_000;

export function KernelCode({
  session,
  kernel,
}: {
  readonly session: Session;
  readonly kernel: KernelFacts | undefined;
}): JSX.Element | null {
  if (!kernel?.codes.length) return null;
  return (
    <Section title="Code">
      {kernel.codes.map(({ language, file, text }, i) => (
        <details class="kernel" key={`${language} ${file}`} open={i === 0}>
          <summary>
            {clipped(language, 120)} <span class="type">{clipped(file, 200)}</span>
            <button
              type="button"
              class="copy"
              aria-label="Copy code"
              data-hint="Copy"
              onClick={() => void copy(session, text, "Code copied")}
            >
              <Icon name="copy" />
            </button>
          </summary>
          <pre class="mono" tabIndex={0}>
            {clipped(text, LONGEST)}
          </pre>
        </details>
      ))}
    </Section>
  );
}

/** The lines that a kernel or a fusion computes, if they are more than its own. */
export function SourceLines({
  session,
  kernel,
  own,
}: {
  readonly session: Session;
  readonly kernel: KernelFacts | undefined;
  readonly own: readonly SourceFrame[];
}): JSX.Element | null {
  const lines = kernel?.lines ?? [];
  if (lines.length === 0 || (lines.length === 1 && own.length > 0)) return null;
  return (
    <Section title={`Computes ${plural(lines.length, "line")}`}>
      <ul>
        {lines.map(({ file, line, function: name, count }) => (
          <li key={`${file}:${line}`}>
            <button
              type="button"
              class="link"
              data-hint="Copy file and line"
              onClick={() => void copy(session, `${file}:${line}`, "Location copied")}
            >
              {clipped(shortFile(file))}:{line}
            </button>
            {name && <span> {clipped(name)}</span>}
            {count > 1 && <span class="type"> {plural(count, "node")}</span>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
