/** Small line drawings, 16 by 16. Hidden from screen readers, which read the label of the button. */
import type { JSX } from "preact";

const PATHS = {
  outline: "M2.5 3.5h11v9h-11zM6.5 3.5v9",
  details: "M2.5 3.5h11v9h-11zM9.5 3.5v9",
  passes: "M2.5 3.5h11v5h-11zM2.5 11h2.4v1.6H2.5zM6.8 11h2.4v1.6H6.8zM11.1 11h2.4v1.6h-2.4z",
  panes: "M2.5 3.5h11v9h-11zM8 3.5v9M10.8 6.6v2.8M9.4 8h2.8",
  table: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6",
  beside: "M4.5 2.5v11M4.5 13.5l-2-2.2M4.5 13.5l2-2.2M11.5 13.5v-11M11.5 2.5l-2 2.2M11.5 2.5l2 2.2",
  direction: "M4 2.5v9M4 11.5l-2-2.2M4 11.5l2-2.2M7.5 5h6M13.5 5l-2.2-2M13.5 5l-2.2 2",
  names: "M2.5 4.5h11v7h-11zM5 9.5l1.5-3.6L8 9.5M5.5 8.3h2M10 7h1.5M10 9.2h1.5",
  operands: "M3.2 11.5l1-8M7 11.5l1-8M2.2 6h7M1.8 9h7M11 6.4l1.6-1v6.2M11 11.6h3.2",
  allNodes: "M2.5 2.5h3v3h-3zM10.5 2.5h3v3h-3zM6.5 10.5h3v3h-3zM4 5.5v1.2L7 10.5M12 5.5v1.2L9 10.5",
  frames: "M1.5 2.5h13v11h-13zM4.5 5.5h7v5h-7z",
  layouts: "M2.5 3.5h11v9h-11zM6.2 5.5c-1.2 0 0 2.5-1.4 2.5 1.4 0 .2 2.5 1.4 2.5M9.8 5.5c1.2 0 0 2.5 1.4 2.5-1.4 0-.2 2.5-1.4 2.5",
  label: "M2.5 3.5h11v9h-11zM5 6.3h6M5 9.7h1.6M9.4 9.7H11",
  values: "M5.5 1.5h5v3h-5zM8 4.5v2M8 9.5v2M5.5 11.5h5v3h-5zM8 6.5h2.6a1.5 1.5 0 0 1 0 3H5.4a1.5 1.5 0 0 1 0-3z",
  theme: "M8 2.5a5.5 5.5 0 1 0 5.5 6.6A4.6 4.6 0 0 1 8 2.5z",
  png: "M2.5 3.5h11v9h-11zM2.5 10.5l3.2-3 3 3 2-1.8 2.8 2.6M10.5 6.2h.01",
  crop: "M4.5 1.5v10h10M1.5 4.5h10v10",
  link: "M6.7 9.3l2.6-2.6M7.3 4.6l1.3-1.3a2.6 2.6 0 0 1 3.7 3.7l-1.7 1.7M8.7 11.4l-1.3 1.3a2.6 2.6 0 0 1-3.7-3.7l1.7-1.7",
  markdown: "M1.8 4h12.4v8H1.8zM4 9.8V6.2l1.8 2 1.8-2v3.6M11 6.2v3.4M11 9.8L9.7 8.3M11 9.8l1.3-1.5",
  styles:
    "M8 2.5c3.2 0 5.5 2 5.5 4.6 0 1.8-1.3 2.6-2.8 2.6H9.4c-.9 0-1.2.7-.8 1.4.5 1-.1 2.4-1.3 2.4-2.7 0-4.8-2.4-4.8-5.5 0-3.1 2.4-5.5 5.5-5.5zM5.3 7.3h.01M7.5 5.2h.01M10.4 6.2h.01",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.4a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.8.5-.8 1.1M8 11.3h.01",
  up: "M4 9.5l4-4 4 4",
  down: "M4 6.5l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  funnel: "M2.5 3.5h11l-4.2 5v4l-2.6-1.3V8.5z",
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
      title={press ? `${name} (${press})` : name}
      onClick={onClick}
      aria-pressed={pressed}
      disabled={disabled}
    >
      <Icon name={icon} />
    </button>
  );
}
