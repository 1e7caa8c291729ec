/** The dock below the graph: one panel at a time, with tabs for the others. */
import type { ComponentChildren, JSX } from "preact";
import { Divider } from "../panels/divider";
import { IconButton } from "../panels/icons";
import { TablePanel } from "../panels/table";
import type { Session } from "../session";
import { DOCK, type DockPanel } from "../state/panels";
import type { PanelSizes } from "../state/panelSizes";
import { CostPanel } from "./costPanel";
import type { Docked } from "./docked";
import { KernelPanel } from "./kernelPanel";
import { MemoryPanel } from "./memoryPanel";
import { RooflinePanel } from "./rooflinePanel";
import { SourcePanel } from "./sourcePanel";
import { TextPanel } from "./textPanel";

const PANELS: { readonly [name in DockPanel]: { readonly title: string; readonly Panel: (docked: Docked) => JSX.Element } } = {
  table: { title: "Table", Panel: TablePanel },
  memory: { title: "Memory", Panel: MemoryPanel },
  cost: { title: "Cost", Panel: CostPanel },
  roofline: { title: "Roofline", Panel: RooflinePanel },
  kernels: { title: "Kernels", Panel: KernelPanel },
  listing: { title: "Text", Panel: TextPanel },
  source: { title: "Source", Panel: SourcePanel },
};

export function Dock({ session, sizes }: { readonly session: Session; readonly sizes: PanelSizes }): JSX.Element | null {
  const open = DOCK.find((name) => session.openPanels.has(name));
  if (open === undefined) return null;
  const { Panel } = PANELS[open];
  const bar = (controls: ComponentChildren) => (
    <div class="bar">
      <div class="tabs" role="tablist" aria-label="Panels below the graph">
        {DOCK.map((name) => (
          <button
            key={name}
            type="button"
            class="tab"
            role="tab"
            aria-selected={name === open}
            onClick={() => session.openPanels.set(name, true)}
          >
            {PANELS[name].title}
          </button>
        ))}
      </div>
      {controls}
      <IconButton name={`Close ${open}`} icon="close" onClick={() => session.openPanels.set(open, false)} />
    </div>
  );
  return (
    <>
      <Divider name={open} panel={open} side="bottom" sizes={sizes} />
      <Panel key={open} session={session} bar={bar} />
    </>
  );
}
