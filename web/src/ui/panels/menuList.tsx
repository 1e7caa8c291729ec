/** The entries of a menu: one below the other, walked with the arrow keys. */
import type { ComponentChildren, JSX, Ref } from "preact";

export interface MenuEntry {
  readonly text: string;
  /** The key that does the same. */
  readonly press?: string | undefined;
  /** Of a switch or a choice: is it on? */
  readonly isOn?: boolean | undefined;
  /** One of several of which one is on. */
  readonly isChoice?: boolean;
  /** Only where the toolbar has no room for its button. */
  readonly isSpare?: boolean;
  /** The first of a part, with a line above. */
  readonly isFirst?: boolean;
  readonly run: () => void;
}

export function MenuList({
  name,
  entries,
  list,
  onClose,
  onLeave,
  children,
}: {
  readonly name: string;
  readonly entries: readonly MenuEntry[];
  readonly list: Ref<HTMLDivElement>;
  /** An entry was chosen or the menu is not wanted any more; `chosen` is a switch if the menu may stay open. */
  readonly onClose: (chosen?: MenuEntry) => void;
  readonly onLeave: (to: Node | null) => void;
  /** What is below the entries. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  const onKey = (event: KeyboardEvent) => {
    const target = event.composedPath()[0] as HTMLElement;
    if (target.matches("select") && event.key.startsWith("Arrow")) {
      event.stopPropagation();
      return;
    }
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("button, select")].filter(
      (button) => button.offsetParent !== null,
    );
    const now = buttons.indexOf(target);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) buttons.at(to % buttons.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") onClose();
    else if (event.key !== "Enter" && event.key !== " ") return;
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
    event.stopPropagation();
  };
  const className = ({ isFirst, isSpare }: MenuEntry) => [isFirst && "first", isSpare && "spare"].filter(Boolean).join(" ");
  return (
    <div
      class="menu"
      ref={list}
      role="presentation"
      onKeyDown={onKey}
      onContextMenu={(event) => event.preventDefault()}
      onFocusOut={(event) => onLeave(event.relatedTarget as Node | null)}
    >
      <div role="menu" aria-label={name} tabIndex={-1}>
        {entries.map((entry) => (
          <button
            type="button"
            {...roleOf(entry)}
            key={entry.text}
            class={className(entry)}
            tabIndex={-1}
            onClick={() => {
              onClose(entry);
              entry.run();
            }}
          >
            <span>{entry.text}</span>
            {entry.press && <kbd>{entry.press}</kbd>}
          </button>
        ))}
      </div>
      {children}
    </div>
  );
}

function roleOf({
  isOn,
  isChoice,
}: MenuEntry): { role: "menuitem" } | { role: "menuitemradio" | "menuitemcheckbox"; "aria-checked": boolean } {
  return isOn === undefined ? { role: "menuitem" } : { role: isChoice ? "menuitemradio" : "menuitemcheckbox", "aria-checked": isOn };
}
