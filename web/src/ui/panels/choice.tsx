import type { JSX } from "preact";

/** A choice of one. The browser's own list works with every keyboard and every screen reader. */
export function Choice<Name extends string>({
  label,
  prefix,
  value,
  options,
  onChoose,
}: {
  readonly label: string;
  readonly prefix: string;
  readonly value: Name;
  /** The names, and what is written for each. */
  readonly options: readonly (readonly [Name, string])[];
  readonly onChoose: (name: Name) => void;
}): JSX.Element {
  return (
    <label class="choice">
      <span aria-hidden="true">{prefix}:</span>
      <select aria-label={label} value={value} onChange={(event) => onChoose(event.currentTarget.value as Name)}>
        {options.map(([name, text]) => (
          <option key={name} value={name} selected={name === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
