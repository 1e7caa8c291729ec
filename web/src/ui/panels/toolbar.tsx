/** The one line of controls. What does not fit beside the others is in its menus. */
import type { JSX } from "preact";
import type { Session } from "../session";
import { colourBy, colourOf, enterGraph, walkedGraphs } from "../state/view";
import { actions } from "./actions";
import { CompareButton } from "../files/compareButton";
import { Choice } from "./choice";
import { BACKGROUNDS, COLOUR_SCALES, colourChoices, type Command, commandsNamed, labelChoices, scaleColours, type Where } from "./commands";
import { Dropdown } from "./dropdown";
import { Icon, IconButton } from "./icons";
import type { MenuEntry } from "./menuList";
import { SearchBox } from "./search";

/** Entries of the menus; those of `SPARE` are in the menu where the toolbar is too narrow for their buttons. */
const DRAWING = [
  "Flatten",
  "Fold repeats",
  "Forward beside backward",
  "Layout direction",
  "Show op names",
  "Show operand index",
  "Show all nodes",
  "Show all frames",
  "Show tensors as nodes",
  "Show layouts",
  "Edge overlays",
];
const PANELS = ["Table", "Memory", "Cost", "Roofline", "Kernels", "Text", "Source", "Styles", "Passes", "Add pane", "Compare with…"];
const PAGE = ["Theme", "Shortcuts"];
const SAVE = ["Save SVG", "Save SVG as a figure", "Save PNG", "Save visible part as PNG"];
const PAPER = Object.values(BACKGROUNDS);
const SHARE = ["Save HTML as seen", "Copy link", "Copy as Markdown"];
const SPARE = new Set(["Flatten", "Fold repeats", "Table", "Save SVG", "Compare with…"]);

export function Toolbar({ at }: { readonly at: Where }): JSX.Element {
  const { page: session } = at;
  const { view, program, history, openPanels } = session;
  const off = !session.shown;
  return (
    <div class="bar" role="toolbar" aria-label="Controls">
      <IconButton
        name="Outline"
        press="o"
        icon="outline"
        pressed={openPanels.has("outline")}
        onClick={() => openPanels.toggle("outline")}
      />
      <span class="brand">opscope</span>
      {session.options.files && (
        <a class="tool icon" aria-label="Open a file" data-hint="Open a file" href={session.options.files.home}>
          <Icon name="open" />
        </a>
      )}
      <CompareButton session={session} />
      <IconButton name="Back" press="Ctrl+Z" icon="back" disabled={!history.hasEarlier} onClick={() => session.back()} />
      <IconButton name="Forward" press="Ctrl+Shift+Z" icon="forward" disabled={!history.hasLater} onClick={() => session.forward()} />
      <Crumbs session={session} />
      <SearchBox session={session} />
      <div class="tools">
        <Tool name="Expand all" hint="Expand every group" press="e" disabled={off} onClick={() => actions.expandAll(session)} />
        <Tool
          name="Collapse all"
          hint="Collapse every group; again: the whole graph"
          press="c"
          disabled={off}
          onClick={() => actions.collapseAll(session)}
        />
        <Tool
          name="Flatten"
          hint="Draw without groups"
          press="l"
          disabled={off}
          pressed={view.flatten}
          isRoomy
          onClick={() => actions.flatten(session)}
        />
        <Tool
          name="Fold repeats"
          hint="Draw equal layers once, as a stack"
          press="r"
          disabled={off}
          pressed={view.fold}
          isRoomy
          onClick={() => actions.foldRepeats(session)}
        />
        <Choice
          label="Group by"
          prefix="Group"
          value={view.groupBy ?? program?.groupings[0] ?? ""}
          options={(program?.groupings ?? []).map((name) => [name, name])}
          onChoose={(name) => actions.groupBy(session, name)}
        />
        <Choice
          label="Colour by"
          prefix="Colour"
          value={colourOf(view)}
          options={colourChoices(session)}
          onChoose={(colour) => session.change(colourBy(view, colour), { keepCamera: true })}
        />
        <Tool
          name="Table"
          hint="List nodes or modules"
          press="b"
          pressed={openPanels.has("table")}
          isRoomy
          onClick={() => openPanels.toggle("table")}
        />
        <Dropdown name="View" disabled={off} entries={() => [...entries(DRAWING, at), ...entries(PANELS, at), ...entries(PAGE, at)]}>
          <LabelChoice session={session} />
          <ScaleChoice session={session} />
        </Dropdown>
        <Tool
          name="Save SVG"
          hint="Save the picture as it is seen"
          press="s"
          disabled={off}
          isRoomy
          onClick={() => void actions.saveSvg(session, "seen")}
        />
        <Dropdown name="Save" disabled={off} entries={() => [...entries(SHARE, at), ...entries(SAVE, at), ...entries(PAPER, at)]} />
      </div>
      <IconButton
        name="Details"
        press="i"
        icon="details"
        pressed={openPanels.has("details")}
        onClick={() => openPanels.toggle("details")}
      />
    </div>
  );
}

/** A part of a menu. */
function entries(names: readonly string[], at: Where): MenuEntry[] {
  return commandsNamed(names, at).map((command: Command, i) => ({
    text: command.name ?? "",
    press: command.press,
    isOn: command.isOn?.(at),
    isChoice: PAPER.includes(command.name as (typeof PAPER)[number]),
    isSpare: SPARE.has(command.name ?? ""),
    isFirst: i === 0,
    run: () => command.run?.(at),
  }));
}

/** A button with its name. `isRoomy`: only where there is room; elsewhere it is in a menu. */
function Tool({
  name,
  hint,
  press,
  pressed,
  disabled,
  isRoomy,
  onClick,
}: {
  readonly name: string;
  readonly hint: string;
  readonly press: string;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
  readonly isRoomy?: boolean;
  readonly onClick: () => void;
}): JSX.Element {
  return (
    <button
      type="button"
      class={isRoomy ? "tool roomy" : "tool"}
      disabled={disabled}
      aria-pressed={pressed}
      data-hint={hint}
      data-key={press}
      onClick={onClick}
    >
      {name}
    </button>
  );
}

/** A metric or an attribute to write on boxes. */
function LabelChoice({ session }: { readonly session: Session }): JSX.Element {
  const { label } = session.view;
  const chosen = label.join(", ");
  const names = labelChoices(session);
  return (
    <Choice
      label="Write on boxes"
      prefix="Write on boxes"
      value={chosen}
      options={["", ...(names.includes(chosen) || !chosen ? [] : [chosen]), ...names].map((name) => [name, name || "nothing"])}
      onChoose={(name) => actions.label(session, name ? [name] : [])}
    />
  );
}

/** How the numbers of a metric become colours; only where a metric is what the colours show. */
function ScaleChoice({ session }: { readonly session: Session }): JSX.Element | null {
  if (!session.shown?.scene.measures.length) return null;
  return (
    <Choice
      label="Colour scale"
      prefix="Colour scale"
      value={session.view.colourScale}
      options={COLOUR_SCALES.map((name) => [name, name])}
      onChoose={(name) => scaleColours(session, name)}
    />
  );
}

/** The source, and the graphs that led to the one that is shown. */
function Crumbs({ session }: { readonly session: Session }): JSX.Element {
  const { view, program } = session;
  const { sources } = session.options;
  const walked = walkedGraphs(view);
  const graphs = program ? [...(walked[0] === program.entry ? [] : [program.entry]), ...walked] : [];
  return (
    <nav class="crumbs" aria-label="Where you are">
      {sources.length > 1 ? (
        <select aria-label="Source" value={String(view.source)} onChange={(event) => session.openSource(Number(event.currentTarget.value))}>
          {sources.map((source, i) => (
            <option key={source.name} value={String(i)} selected={i === view.source}>
              {source.name}
            </option>
          ))}
        </select>
      ) : (
        <button
          type="button"
          data-hint={program?.name}
          onClick={() => session.change(enterGraph({ ...view, graph: undefined, trail: [] }, program?.entry ?? ""), { look: "first" })}
        >
          {program?.name ?? sources[0]?.name ?? ""}
        </button>
      )}
      {graphs.map((name, i) => (
        <>
          <span aria-hidden="true">›</span>
          <button
            type="button"
            key={name}
            data-hint={name}
            aria-current={i === graphs.length - 1 ? "page" : undefined}
            onClick={() => session.change(enterGraph(view, name), { look: "first" })}
          >
            {name}
          </button>
        </>
      ))}
    </nav>
  );
}
