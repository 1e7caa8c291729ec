/** Long names in narrow panels. */
import type { JSX } from "preact";

/** A name that is broken between its words, not inside them: "metadata." and "op_name". */
export function Breakable({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.split(/(?<=[._/:-])/).map((word, i) => (
        <>
          {i > 0 && <wbr />}
          {word}
        </>
      ))}
    </>
  );
}
