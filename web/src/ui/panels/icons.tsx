/** Small line drawings, 16 by 16. Hidden from screen readers, which read the label of the button. */
import type { JSX } from "preact";

const PATHS = {
  outline: "M2.5 3.5h11v9h-11zM6.5 3.5v9",
  details: "M2.5 3.5h11v9h-11zM9.5 3.5v9",
  panes: "M2.5 3.5h11v9h-11zM8 3.5v9M10.8 6.6v2.8M9.4 8h2.8",
  theme: "M8 2.5a5.5 5.5 0 1 0 5.5 6.6A4.6 4.6 0 0 1 8 2.5z",
  up: "M4 9.5l4-4 4 4",
  down: "M4 6.5l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  funnel: "M2.5 3.5h11l-4.2 5v4l-2.6-1.3V8.5z",
  back: "M9.5 4l-4 4 4 4",
  forward: "M6.5 4l4 4-4 4",
  copy: "M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2",
  fit: "M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  target: "M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3",
  open: "M8 10.5v-7M8 3.5L5.2 6.2M8 3.5l2.8 2.7M2.5 10v3h11v-3",
  directory: "M1.8 12.5v-9h4.4l1.4 1.8h6.6v7.2z",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.3"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** `press` is the key that does the same; the tooltip shows it. */
export function IconButton({
  name,
  icon,
  onClick,
  pressed,
  disabled,
  press,
}: {
  readonly name: string;
  readonly icon: IconName;
  readonly press?: string;
  readonly onClick: () => void;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="tool icon"
      aria-label={name}
      data-hint={name}
      data-key={press}
      onClick={onClick}
      aria-pressed={pressed}
      disabled={disabled}
    >
      <Icon name={icon} />
    </button>
  );
}
