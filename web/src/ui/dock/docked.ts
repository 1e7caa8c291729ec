/** What the dock gives a panel. */
import type { ComponentChildren, JSX } from "preact";
import type { Session } from "../session";

export interface Docked {
  readonly session: Session;
  /** The panel's line of controls: the dock's tabs, these, and the button that closes it. */
  readonly bar: (controls: ComponentChildren) => JSX.Element;
}
