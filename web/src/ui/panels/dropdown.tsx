/** A button of the toolbar with a menu below it. Switches leave the menu open, so that several can be tried. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";
import { type MenuEntry, MenuList } from "./menuList";

export function Dropdown({
  name,
  disabled = false,
  entries,
  children,
}: {
  readonly name: string;
  readonly disabled?: boolean;
  readonly entries: () => readonly MenuEntry[];
  /** What is below the entries. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  // Before it is seen: keys that are pressed at once, such as Escape, are for the menu and not for the graph.
  useLayoutEffect(() => {
    if (!open || !list.current) return;
    const [first] = [...list.current.querySelectorAll("button")].filter((each) => each.offsetParent !== null);
    first?.focus();
  }, [open]);
  const close = (chosen?: MenuEntry) => {
    if (chosen?.isOn !== undefined) return;
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div class="dropdown" ref={holder}>
      <button
        type="button"
        class="tool"
        ref={button}
        disabled={disabled}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          setOpen(true);
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {name}
        <Icon name="down" />
      </button>
      {open && (
        <MenuList
          name={name}
          entries={entries()}
          list={list}
          onClose={close}
          onLeave={(to) => {
            if (!holder.current?.contains(to)) setOpen(false);
          }}
        >
          {children}
        </MenuList>
      )}
    </div>
  );
}
