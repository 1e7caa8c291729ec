/** The search box: matches while typing, next and previous, and the option to show only matches with their neighbours. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { countText } from "../../core/text/quantities";
import type { Session } from "../session";
import { Icon, type IconName } from "./icons";

export function SearchBox({ session }: { readonly session: Session }): JSX.Element {
  const { view, finder } = session;
  const { result } = finder;
  const input = useRef<HTMLInputElement>(null);

  const clear = () => {
    void finder.search("");
    if (view.matchesOnly >= 0) session.change({ ...session.view, matchesOnly: -1 }, { look: "fit" });
  };

  const onKey = (event: KeyboardEvent) => {
    const isPrevious = event.key === "ArrowUp" || (event.key === "Enter" && event.shiftKey);
    if (event.key === "Escape") {
      if (finder.isListed) finder.showList(false);
      else if (view.query) void finder.search("");
      else input.current?.blur();
      event.stopPropagation();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp" || event.key === "Enter") {
      finder.showList(true);
      void finder.step(isPrevious ? -1 : 1);
      event.preventDefault();
    }
  };

  return (
    <div class="find" role="search">
      <input
        ref={input}
        type="search"
        class="query"
        aria-label="Search"
        placeholder="Search op:dot shape:512 (press /)"
        value={view.query}
        spellcheck={false}
        autocomplete="off"
        aria-controls={finder.isListed ? "opscope-hits" : undefined}
        aria-autocomplete="list"
        aria-activedescendant={finder.isListed && finder.hit >= 0 ? `opscope-hit-${finder.hit}` : undefined}
        onInput={(event) => void finder.search(event.currentTarget.value)}
        onFocus={() => finder.showList(true)}
        onKeyDown={onKey}
      />
      {view.query !== "" && (
        <div class="state">
          <span role="status">{result ? `${finder.hit >= 0 ? `${finder.hit + 1} of ` : ""}${countText(result.total)}` : ""}</span>
          <Small name="Previous match" press="N" icon="up" onClick={() => void finder.step(-1)} />
          <Small name="Next match" press="n" icon="down" onClick={() => void finder.step(1)} />
          <Small
            name="Show only matches with their neighbours"
            icon="funnel"
            pressed={view.matchesOnly >= 0}
            onClick={() => session.change({ ...view, matchesOnly: view.matchesOnly >= 0 ? -1 : 1 }, { look: "fit" })}
          />
          <Small name="Clear" icon="close" onClick={clear} />
        </div>
      )}
    </div>
  );
}

function Small({
  name,
  icon,
  press,
  pressed,
  onClick,
}: {
  readonly name: string;
  readonly icon: IconName;
  readonly press?: string;
  readonly pressed?: boolean;
  readonly onClick: () => void;
}): JSX.Element {
  return (
    <button type="button" aria-label={name} data-hint={name} data-key={press} aria-pressed={pressed} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
