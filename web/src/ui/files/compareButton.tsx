/** "Compare with…": chooses a file and compares what is shown with it. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Session } from "../session";

export function CompareButton({ session }: { readonly session: Session }): JSX.Element | null {
  const input = useRef<HTMLInputElement>(null);
  if (!session.options.files) return null;
  return (
    <>
      <button type="button" class="tool compare" data-hint="Compare this program with a file" onClick={() => input.current?.click()}>
        Compare with…
      </button>
      <input
        ref={input}
        type="file"
        class="compared"
        hidden
        aria-label="File to compare with"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) session.dropping.compareWith(file);
        }}
      />
    </>
  );
}
