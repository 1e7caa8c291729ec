/** How large the panels are, where a person has changed it; stored between visits where the browser allows it. */
import { PANELS, type PanelName } from "./panels";
import { Signal } from "./signal";

const PLACE = "opscope.panels";
const LEAST = 120;

/** The styles are as wide as the details, which they cover. */
export type SizedPanel = Exclude<PanelName, "styles">;
const SIZED = PANELS.filter((name): name is SizedPanel => name !== "styles");

export class PanelSizes {
  readonly onChange = new Signal();
  private readonly sizes: Map<SizedPanel, number>;

  constructor() {
    this.sizes = remembered();
  }

  set(panel: SizedPanel, size: number): void {
    this.sizes.set(panel, Math.max(LEAST, Math.round(size)));
    this.changed();
  }

  reset(panel: SizedPanel): void {
    this.sizes.delete(panel);
    this.changed();
  }

  /** For the style sheet, which keeps room for the graph: --outline, --details, … */
  get variables(): Record<string, string> {
    return Object.fromEntries([...this.sizes].map(([panel, size]) => [`--${panel}`, `${size}px`]));
  }

  private changed(): void {
    try {
      localStorage.setItem(PLACE, JSON.stringify(Object.fromEntries(this.sizes)));
    } catch {
      // The sizes still apply to this page.
    }
    this.onChange.emit();
  }
}

/** Pages in frames and from files may have no storage, and what is stored may be anything. */
function remembered(): Map<SizedPanel, number> {
  try {
    const stored = JSON.parse(localStorage.getItem(PLACE) ?? "{}") as Record<string, unknown>;
    return new Map(SIZED.flatMap((panel) => (Number.isFinite(stored[panel]) ? [[panel, stored[panel] as number] as const] : [])));
  } catch {
    return new Map();
  }
}
