import type { JSX } from "preact";
import type { Choice, Chooser } from "./chooser";

/** A file: its name opens it, its box selects it to be opened with others. */
export function FileRow({
  chooser,
  choice,
  about,
}: {
  readonly chooser: Chooser;
  readonly choice: Choice;
  readonly about: string;
}): JSX.Element {
  return (
    <li class="file">
      <input
        type="checkbox"
        aria-label={`Select ${choice.name}`}
        checked={chooser.has(choice.key)}
        onChange={() => chooser.toggle(choice)}
      />
      <button type="button" class="name" title={choice.name} onClick={() => void chooser.open([choice])}>
        {choice.name}
      </button>
      <span title={about}>{about}</span>
    </li>
  );
}
