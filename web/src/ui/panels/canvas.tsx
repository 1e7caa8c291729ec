/** The graph with what lies over it (banners, map, tooltip, progress, messages), and the lines below it: legend, counts, zoom and hints. */
import type { JSX, RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Size } from "../../core/base/camera";
import { BoxKind } from "../../core/program/types";
import { boxTooltip, edgeTooltip } from "../../core/scene/tooltips";
import { plural } from "../../core/view/boxes/texts";
import { titleOf } from "../../core/view/choose/keys";
import type { Session } from "../session";
import { DEEPEST } from "../state/view";
import { actions } from "./actions";
import { useSignal } from "./hooks";
import { Icon } from "./icons";
import { ContextMenu } from "./menu";
import { Minimap } from "./minimap";
import { clipped } from "./outline";
import { heightOf, Titles, titlesOf } from "./titles";

export function Canvas({
  session,
  onKey,
  label = "Graph",
}: {
  readonly session: Session;
  readonly onKey: (event: KeyboardEvent) => void;
  readonly label?: string;
}): JSX.Element {
  const descriptionId = useId();
  const canvas = useRef<HTMLCanvasElement>(null);
  const banners = useRef<HTMLDivElement>(null);
  useEffect(() => session.attach(canvas.current!), [session]);
  // Banners, hints and the legend come with the picture: it takes its place before anybody sees it or asks for it.
  useLayoutEffect(() => session.stage?.settle(cornerOf(banners.current)));
  const { shown, problem, progress } = session;
  return (
    <main
      class="stage"
      data-drop={session.options.files ? "Drop files to open them" : "Drop style rules or node data to apply them"}
      onDrop={(event) => {
        event.preventDefault();
        session.dropping.take(event.dataTransfer);
      }}
    >
      <div class="sight">
        <canvas
          ref={canvas}
          class="graph"
          tabIndex={0}
          role="application"
          aria-label={label}
          aria-roledescription="graph"
          aria-describedby={descriptionId}
          onKeyDown={onKey}
        />
        <p id={descriptionId} class="hidden" aria-live="polite">
          {spoken(session)}
        </p>
        {shown && <Overhead session={session} banners={banners} />}
        {shown && <Minimap session={session} />}
        <Tooltip session={session} />
        {session.pointing.menu && <ContextMenu session={session} at={session.pointing.menu} />}
        {progress && (
          <div class="working" role="status">
            <span>{progress.stage || "Working"}</span>
            <progress max={1} value={progress.part} aria-label="Progress" />
            <button type="button" class="tool icon" aria-label="Stop" data-hint="Stop" data-key="Esc" onClick={() => session.stop()}>
              <Icon name="close" />
            </button>
          </div>
        )}
        {problem && (
          <div class="message" role="alert">
            <h2>Could not open this file</h2>
            <p>{clipped(problem, 1200)}</p>
            {shown && (
              <button type="button" class="tool" onClick={() => session.back()}>
                Back
              </button>
            )}
          </div>
        )}
        {!problem && shown?.scene.boxCount === 0 && (
          <div class="message">
            <h2>Empty graph</h2>
            <p>
              This graph has no nodes
              {session.view.around.length || session.view.paths || session.view.matchesOnly >= 0 ? " that match" : ""}.
            </p>
          </div>
        )}
        {session.dropping.problems.length > 0 && (
          <div class="message boxed" role="alert">
            {session.dropping.problems.map((sentence) => (
              <p key={sentence}>{clipped(sentence, 1200)}</p>
            ))}
            <button type="button" class="tool" onClick={() => session.dropping.dismiss()}>
              Close
            </button>
          </div>
        )}
        {session.notice && (
          <div class="notice" role="status">
            {session.notice}
          </div>
        )}
      </div>
      <div class="foot">
        {shown && <Legend session={session} />}
        {shown && <Hints session={session} />}
        <div class="status">
          {shown && <Counts session={session} />}
          <Zoom session={session} />
        </div>
      </div>
    </main>
  );
}

/** What a screen reader announces when the selection changes. */
function spoken(session: Session): string {
  const {
    shown,
    about: { node, group },
  } = session;
  if (node) return clipped(`${node.op} ${node.id}, ${node.type}, ${node.inputCount} inputs, used by ${node.userCount}`, 400);
  if (group) return clipped(`group ${group.title}, ${group.nodes} nodes`, 400);
  return shown ? `${shown.scene.boxCount} boxes, ${shown.scene.edgeCount} edges` : "";
}

function Legend({ session }: { readonly session: Session }): JSX.Element | null {
  const { legend } = session.shown!.result;
  const { paints } = session.theme;
  if (legend.length === 0) return null;
  const scale = legend[0].scale === true;
  return (
    <div
      class={scale ? "legend scale" : "legend"}
      role="img"
      aria-label={`Colours: ${legend
        .map((row) => row.text)
        .filter(Boolean)
        .join(", ")}`}
    >
      {legend.map((row, i) => {
        const shade = row.shade && { fill: row.shade[session.theme.name], stroke: session.theme.faintEdge };
        const colour = shade ?? (row.paint === undefined ? undefined : paints[row.paint]);
        return (
          <span key={i} data-hint={row.text} class={colour ? "" : "words"}>
            {scale && colour && row.text}
            {colour && <i style={{ background: colour.fill, borderColor: colour.stroke }} />}
            {!(scale && colour) && clipped(row.text, colour ? 60 : 200)}
          </span>
        );
      })}
    </div>
  );
}

/** What lies over the upper edge of the graph: titles of the groups that one looks into, and banners below them. */
function Overhead({ session, banners }: { readonly session: Session; readonly banners: RefObject<HTMLDivElement | null> }): JSX.Element {
  useSignal(session.onCamera);
  const titles = titlesOf(session);
  return (
    <>
      <Titles session={session} titles={titles} />
      <Banners session={session} below={heightOf(titles)} element={banners} />
    </>
  );
}

const MOST_HINTS = 4;

/** How to read the picture, and what the program says about itself: below the graph, where they cover nothing. */
function Hints({ session }: { readonly session: Session }): JSX.Element | null {
  const hints = session.shown!.result.remarks.slice(0, MOST_HINTS).map((hint) => clipped(hint, 300));
  if (hints.length === 0) return null;
  return (
    <p class="hints" data-hint={hints.join("\n")}>
      {hints.join(" ")}
    </p>
  );
}

/** What the view leaves out, with a button to show all. */
function Banners({
  session,
  below,
  element,
}: {
  readonly session: Session;
  readonly below: number;
  readonly element: RefObject<HTMLDivElement | null>;
}): JSX.Element {
  const { view, shown } = session;
  const rows: JSX.Element[] = [];
  if (view.paths)
    rows.push(
      <p class="banner" key="paths">
        Showing paths from {clipped(view.paths[0], 60)} to {clipped(view.paths[1], 60)}{" "}
        <button type="button" onClick={() => session.change({ ...view, paths: undefined }, { look: "first" })}>
          Show all
        </button>
      </p>,
    );
  if (view.around.length) {
    const { around, hops } = view;
    rows.push(
      <p class="banner" key="around">
        Showing {hops} {hops === 1 ? "hop" : "hops"} around {clipped(around.map(titleOf).join(", "), 60)}
        <button type="button" onClick={() => session.change({ ...view, hops: hops + 1 }, { look: "fit" })}>
          One more hop
        </button>
        <button type="button" onClick={() => session.change({ ...view, around: [], stopAt: [], also: [] }, { look: "first" })}>
          Show all
        </button>
      </p>,
    );
  }
  if (view.matchesOnly >= 0)
    rows.push(
      <p class="banner" key="only">
        Showing matches of “{clipped(view.query, 60)}” and their neighbours{" "}
        <button type="button" onClick={() => session.change({ ...view, matchesOnly: -1 }, { look: "first" })}>
          Show all
        </button>
      </p>,
    );
  const stacks = view.depth === DEEPEST ? (shown?.result.kind.filter((kind) => kind === BoxKind.Stack).length ?? 0) : 0;
  if (stacks > 0)
    rows.push(
      <p class="banner" key="stacks">
        {plural(stacks, "stack")} of repeats {stacks === 1 ? "is" : "are"} folded
        <button type="button" onClick={() => actions.foldRepeats(session)}>
          Unfold all
        </button>
      </p>,
    );
  return (
    <div ref={element} class="banners" style={{ top: `${10 + below}px` }}>
      {rows}
    </div>
  );
}

/** How far banners reach from the upper left corner of the graph. */
function cornerOf(banners: HTMLElement | null): Size {
  if (!banners?.offsetHeight) return { width: 0, height: 0 };
  return { width: banners.offsetLeft + banners.offsetWidth, height: banners.offsetTop + banners.offsetHeight };
}

/** The status line: how much is drawn. */
function Counts({ session }: { readonly session: Session }): JSX.Element {
  const { boxCount, edgeCount } = session.shown!.scene;
  return (
    <p class="counts">
      {plural(boxCount, "box", "boxes")} · {plural(edgeCount, "edge")}
    </p>
  );
}

function Zoom({ session }: { readonly session: Session }): JSX.Element {
  useSignal(session.onCamera);
  const scale = 100 * (session.stage?.camera.scale ?? 1);
  const percent = `${scale >= 10 ? Math.round(scale) : scale >= 0.1 ? Math.round(scale * 10) / 10 : scale.toPrecision(1)}%`;
  return (
    <div class="zoom" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom out" data-hint="Zoom out" data-key="−" onClick={() => session.stage?.zoomBy(1 / 1.5)}>
        <Icon name="minus" />
      </button>
      <button
        type="button"
        class="level"
        aria-label={`Zoom to 100 %, now ${percent}`}
        data-hint="Zoom to 100 %"
        data-key="0"
        onClick={() => session.stage?.zoomBy(1 / session.stage.camera.scale)}
      >
        {percent}
      </button>
      <button type="button" aria-label="Zoom in" data-hint="Zoom in" data-key="+" onClick={() => session.stage?.zoomBy(1.5)}>
        <Icon name="plus" />
      </button>
      <button
        type="button"
        aria-label="Zoom to selection"
        data-hint="Zoom to selection"
        data-key="z"
        onClick={() => actions.zoomToSelection(session)}
      >
        <Icon name="target" />
      </button>
      <button type="button" aria-label="Fit" data-hint="Fit" data-key="f" onClick={() => actions.fit(session)}>
        <Icon name="fit" />
      </button>
    </div>
  );
}

function Tooltip({ session }: { readonly session: Session }): JSX.Element | null {
  useSignal(session.pointing.onTip);
  const {
    pointing: { tip, menu },
    shown,
    stage,
  } = session;
  if (!tip || menu || !shown || !stage || stage.moving) return null;
  const text = tip.picked.kind === "edge" ? edgeTooltip(shown.scene, tip.picked.edge) : boxTip(session, tip.picked.item);
  if (!text) return null;
  const [first, ...rest] = clipped(text, 600).split("\n");
  const right = tip.x > stage.width - 300;
  return (
    <div
      class="tip"
      role="tooltip"
      style={{
        [right ? "right" : "left"]: `${right ? stage.width - tip.x + 12 : tip.x + 14}px`,
        top: `${Math.min(tip.y + 16, stage.height - 60)}px`,
      }}
    >
      <b>{first}</b>
      <span>{rest.join("\n")}</span>
    </div>
  );
}

/** A box that can be read in full needs no tooltip, unless its colour shows a number. */
function boxTip({ shown, stage }: Session, item: number): string {
  const { scene, painter, result } = shown!;
  const readable = stage!.camera.scale > 0.55 && painter.texts(item).every((run) => run.full === undefined);
  const coloured = scene.measures.some(({ values }) => !Number.isNaN(values[scene.box[item]]));
  return readable && !coloured ? "" : boxTooltip(scene, item, result.measures);
}
