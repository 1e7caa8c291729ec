/** Which panels are open. That is part of the state, so that a link shows the same ones, but opening one is not a step of the history. */
import type { Session } from "./session";
import { isDocked, type PanelName, PANELS } from "./state/panels";

export class OpenPanels {
  constructor(private readonly session: Session) {}

  has(name: PanelName): boolean {
    return (this.session.view.panels ?? this.fresh).includes(name);
  }

  set(name: PanelName, open: boolean): void {
    const { session, fresh } = this;
    const makesRoom = (each: PanelName) => open && isDocked(name) && isDocked(each);
    const panels = PANELS.filter((each) => (each === name ? open : this.has(each) && !makesRoom(each)));
    session.note({ ...session.view, panels: panels.join() === fresh.join() ? undefined : panels });
    session.changed();
  }

  toggle(name: PanelName): void {
    this.set(name, !this.has(name));
  }

  get names(): readonly PanelName[] {
    return PANELS.filter((name) => this.has(name));
  }

  /** Those of a page that nobody has touched. */
  private get fresh(): readonly PanelName[] {
    const { view, options } = this.session;
    const { compact, hasOutline, dock, table } = options;
    // A small window has no room for both halves and a panel: it is there for what is selected.
    const givesWay = !hasOutline && view.forwardBackward && view.selection.length === 0;
    const isOpen = {
      outline: !compact && hasOutline === true,
      details: !compact && !givesWay,
      table: table !== undefined,
      memory: dock === "memory",
      cost: dock === "cost",
      roofline: false,
      kernels: false,
      listing: false,
      source: false,
      passes: true,
      styles: false,
    };
    return PANELS.filter((name) => isOpen[name]);
  }
}
