/** The one line of controls. */
import type { JSX } from "preact";
import { ATTRIBUTE, DATA } from "../../core/highlight/highlighter";
import type { Session } from "../session";
import { colourBy, colourOf, enterGraph, groupBy, walkedGraphs } from "../state/view";
import { MOST_PANES } from "../timeline/panes";
import { actions } from "./actions";
import { CompareButton } from "../files/compareButton";
import { Icon, IconButton } from "./icons";
import { SearchBox } from "./search";
import type { Panels } from "./app";

export function Toolbar({
  session,
  panels,
  setPanels,
}: {
  readonly session: Session;
  readonly panels: Panels;
  readonly setPanels: (panels: Panels) => void;
}): JSX.Element {
  const { view, program } = session;
  const off = !session.shown;
  return (
    <div class="bar" role="toolbar" aria-label="Controls">
      <IconButton
        name="Outline"
        press="o"
        icon="outline"
        pressed={panels.outline}
        onClick={() => setPanels({ ...panels, outline: !panels.outline })}
      />
      <span class="brand">opscope</span>
      {session.options.files && (
        <a class="tool icon" aria-label="Open a file" title="Open a file" href={session.options.files.home}>
          <Icon name="open" />
        </a>
      )}
      <CompareButton session={session} />
      <Crumbs session={session} />
      <SearchBox session={session} />
      <div class="tools">
        <button type="button" class="tool" disabled={off} title="Expand every group (e)" onClick={() => actions.expandAll(session)}>
          Expand all
        </button>
        <button
          type="button"
          class="tool"
          disabled={off}
          title="Collapse every group; again: the whole graph (c)"
          onClick={() => actions.collapseAll(session)}
        >
          Collapse all
        </button>
        <button
          type="button"
          class="tool"
          disabled={off}
          aria-pressed={view.flatten}
          title="Draw without groups (l)"
          onClick={() => actions.flatten(session)}
        >
          Flatten
        </button>
        <button
          type="button"
          class="tool"
          disabled={off}
          aria-pressed={view.fold}
          title="Draw equal layers once, as a stack (r)"
          onClick={() => actions.foldRepeats(session)}
        >
          Fold repeats
        </button>
        {program?.overlays && (
          <button
            type="button"
            class="tool"
            aria-pressed={view.overlays}
            title="Show the edge overlays of the file"
            onClick={() => session.change({ ...view, overlays: !view.overlays }, { keepCamera: true })}
          >
            Edge overlays
          </button>
        )}
        <Choice
          label="Group by"
          prefix="Group"
          value={view.groupBy ?? program?.groupings[0] ?? ""}
          options={(program?.groupings ?? []).map((name) => [name, name])}
          onChoose={(name) => session.change(groupBy(view, name), { look: "fit" })}
        />
        <Choice
          label="Colour by"
          prefix="Colour"
          value={colourOf(view)}
          options={colourOptions(session)}
          onChoose={(colour) => session.change(colourBy(view, colour), { keepCamera: true })}
        />
        <button type="button" class="tool" disabled={off} onClick={() => void actions.saveSvg(session, "seen")}>
          Save SVG
        </button>
        <IconButton name="Save PNG" icon="png" disabled={off} onClick={() => void actions.savePng(session, false)} />
        <IconButton name="Save visible part as PNG" icon="crop" disabled={off} onClick={() => void actions.savePng(session, true)} />
        <IconButton name="Copy link" icon="link" onClick={() => void actions.copyLink(session)} />
        <IconButton name="Copy as Markdown" icon="markdown" disabled={off} onClick={() => void actions.copyMarkdown(session)} />
        <IconButton name="Theme" press="t" icon="theme" pressed={session.theme.name === "dark"} onClick={() => actions.theme(session)} />
        <IconButton name="Styles" icon="styles" pressed={panels.styles} onClick={() => setPanels({ ...panels, styles: !panels.styles })} />
        {!session.timeline.exists && session.options.sources.length > 1 && (
          <IconButton name="Add pane" icon="panes" disabled={session.panes.list.length >= MOST_PANES} onClick={() => session.panes.add()} />
        )}
        {session.timeline.exists && !panels.passes && (
          <IconButton name="Passes" press="p" icon="passes" onClick={() => setPanels({ ...panels, passes: true })} />
        )}
        <IconButton
          name="Table"
          press="b"
          icon="table"
          pressed={panels.table}
          onClick={() => setPanels({ ...panels, table: !panels.table })}
        />
        <IconButton name="Shortcuts" press="?" icon="help" onClick={() => setPanels({ ...panels, shortcuts: true })} />
      </div>
      <IconButton
        name="Details"
        press="i"
        icon="details"
        pressed={panels.details}
        onClick={() => setPanels({ ...panels, details: !panels.details })}
      />
    </div>
  );
}

function colourOptions(session: Session): [string, string][] {
  return [
    ["category", "op category"],
    ["op", "op"],
    ["dtype", "dtype"],
    ["group", "group"],
    ...(session.program?.metrics ?? []).map((name): [string, string] => [name, name]),
    ...session.styling.runs.map(({ name }): [string, string] => [`${DATA}${name}`, name]),
    ...session.attributes.map((name): [string, string] => [`${ATTRIBUTE}${name}`, name]),
  ];
}

/** A choice of one. The browser's own list works with every keyboard and every screen reader. */
function Choice({
  label,
  prefix,
  value,
  options,
  onChoose,
}: {
  readonly label: string;
  readonly prefix: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChoose: (value: string) => void;
}): JSX.Element {
  return (
    <label class="choice">
      <span aria-hidden="true">{prefix}:</span>
      <select aria-label={label} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([name, text]) => (
          <option key={name} value={name} selected={name === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
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
          title={program?.name}
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
            title={name}
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
