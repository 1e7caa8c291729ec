/** The sheet that lists the keys. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { COMMANDS } from "./commands";
import { IconButton } from "./icons";

export function ShortcutSheet({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => card.current?.focus(), []);
  return (
    <div class="veil" role="presentation" onClick={onClose}>
      <div
        class="card"
        ref={card}
        role="dialog"
        aria-modal="true"
        aria-label="Keyboard"
        tabIndex={-1}
        onClick={(event) => event.stopPropagation()}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "?") {
            onClose();
            event.stopPropagation();
          }
        }}
      >
        <h2>
          Keyboard and mouse <IconButton name="Close sheet" icon="close" onClick={onClose} />
        </h2>
        <dl class="keys">
          {COMMANDS.flatMap(({ keys, what }) => (keys && what ? [{ keys, what }] : [])).map(({ keys, what }) => (
            <div key={keys}>
              <dt>{what}</dt>
              <dd>
                {keys.split(/ {1,2}(?=\S)/).length > 1 && !/[a-z]{3}/i.test(keys) ? (
                  keys.split(/ +/).map((each) => <kbd key={each}>{each}</kbd>)
                ) : (
                  <kbd>{keys}</kbd>
                )}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
