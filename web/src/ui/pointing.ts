/** What the pointer does: hovering shows a tooltip, a click selects, a double-click expands, the secondary button opens the menu. */
import type { Picked } from "./canvas/shown";
import type { Session } from "./session";
import { addOmitted } from "./state/view";
import { Signal } from "./state/signal";

/** Something at a place on the canvas, in CSS pixels. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly picked: Picked;
}

export interface MenuAt {
  readonly x: number;
  readonly y: number;
  readonly picked: Picked | undefined;
}

export class Pointing {
  tip: Spot | undefined;
  menu: MenuAt | undefined;
  /** The pointer is over something else. */
  readonly onTip = new Signal();

  private hasToldWheel = false;

  constructor(private readonly session: Session) {}

  hover(picked: Picked | undefined, x: number, y: number): void {
    const tip = picked && { picked, x, y };
    if (!tip && !this.tip) return;
    this.tip = tip;
    this.onTip.emit();
  }

  /** Outlines the box that shows a node, as if the pointer were on it; -1: none. */
  outline(node: number): void {
    const { shown, stage } = this.session;
    if (!shown || !stage) return;
    const item = node >= 0 ? shown.result.boxOfNode[node] : -1;
    stage.hovered = item >= 0 ? { kind: "box", item, part: "body" } : undefined;
    stage.draw();
  }

  /** In a notebook the wheel scrolls the page, unless Ctrl is held or the graph has the focus. */
  leavesWheel({ ctrlKey, metaKey }: WheelEvent): boolean {
    const { session } = this;
    const canvas = session.stage?.canvas;
    if (!session.options.inlined || ctrlKey || metaKey || !canvas) return false;
    const hasFocus = document.hasFocus() && (canvas.getRootNode() as ShadowRoot).activeElement === canvas;
    if (!hasFocus && !this.hasToldWheel) session.say("To zoom with the wheel, hold Ctrl or click the graph first");
    this.hasToldWheel = true;
    return !hasFocus;
  }

  click(picked: Picked | undefined, how: { readonly add: boolean; readonly double: boolean; readonly deep: boolean }): void {
    const { session } = this;
    if (this.menu) this.closeMenu();
    else if (!picked && how.double) session.stage?.fit();
    else if (!picked) session.selectItem(undefined);
    else if (picked.kind === "edge") void session.selectEdge(picked.edge);
    else if (this.addOmitted(picked.item)) return;
    else if (picked.part === "room" && how.double) session.stage?.reveal([picked.item], true);
    else if (picked.part === "chevron" || how.double) session.toggle(picked.item, how.deep);
    else session.selectItem(picked.item, how.add);
  }

  /** A click on "+12 hidden" adds them. Returns whether the item was such a box. */
  addOmitted(item: number): boolean {
    const { session } = this;
    const more = addOmitted(session.view, session.shown!.keyOf(item));
    if (more) session.change(more, { look: "fit" });
    return more !== undefined;
  }

  /** The menu applies to what is under the pointer, so that is selected first, unless it is part of the selection. */
  openMenu(picked: Picked | undefined, x: number, y: number): void {
    const { session } = this;
    if (!session.shown) return;
    if (picked?.kind === "edge") void session.selectEdge(picked.edge);
    else if (picked && picked.part !== "room" && !session.selectedItems.includes(picked.item)) session.selectItem(picked.item);
    this.hover(undefined, 0, 0);
    this.menu = { picked: picked?.kind === "box" && picked.part === "room" ? undefined : picked, x, y };
    session.changed();
  }

  /** Opens the menu by keyboard: at the selection, or in the middle if nothing is selected. */
  openMenuAtSelection(): void {
    const { stage, shown, selectedItems } = this.session;
    const item = selectedItems.at(-1);
    if (!stage || !shown) return;
    const at = item === undefined ? undefined : stage.onScreen(shown.rect(item));
    const inside = (value: number, most: number) => Math.max(8, Math.min(most - 8, value));
    this.openMenu(
      item === undefined ? undefined : { kind: "box", item, part: "body" },
      inside(at ? at.x + at.w / 2 : stage.width / 2, stage.width),
      inside(at ? at.y + Math.min(at.h / 2, 18) : stage.height / 2, stage.height),
    );
  }

  closeMenu(): void {
    this.menu = undefined;
    this.session.changed();
    this.session.stage?.canvas.focus({ preventScroll: true });
  }
}
