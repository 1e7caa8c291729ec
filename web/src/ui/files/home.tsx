/** The home page: files of this computer, of the machine that serves, recent ones, and examples. */
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useSignal } from "../panels/hooks";
import { Hints } from "../panels/hints";
import { Icon, IconButton } from "../panels/icons";
import { clipped } from "../panels/outline";
import type { Scheme } from "../state/scheme";
import type { Chooser } from "./chooser";
import { carriesFiles, droppedOn } from "./dropped";
import { FileRow } from "./fileRow";
import { ListingView } from "./listing";

/** What the server offers. */
export interface Offer {
  readonly examples: readonly { readonly name: string; readonly what: string }[];
  /** Directories of the machine that serves, as the command line named them. */
  readonly directories: readonly string[];
  readonly machine: string;
  /** The latest first. Without it, the server does not offer what was opened before. */
  readonly recent?: readonly { readonly path: string; readonly name: string; readonly place: string }[];
}

export function Home({
  chooser,
  offer,
  scheme,
}: {
  readonly chooser: Chooser;
  readonly offer: Offer;
  readonly scheme: Scheme;
}): JSX.Element {
  useSignal(chooser.onChange);
  const root = useRef<HTMLDivElement>(null);
  const [over, setOver] = useState(false);
  const leave = (event: DragEvent & { currentTarget: HTMLElement }) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
  };
  return (
    <div
      ref={root}
      class={over ? "app home over" : "app home"}
      data-theme={scheme.theme.name}
      onDragEnter={(event) => setOver(carriesFiles(event))}
      onDragLeave={leave}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void chooser.take(droppedOn(event.dataTransfer));
      }}
    >
      <header class="bar">
        <span class="brand">opscope</span>
        <span class="grow" />
        <IconButton
          name="Theme"
          icon="theme"
          pressed={scheme.theme.name === "dark"}
          onClick={() => scheme.choose(scheme.theme.name === "dark" ? "light" : "dark")}
        />
      </header>
      <main class="offer">
        <div class="column">
          <Drop chooser={chooser} machine={offer.machine} />
          <Selected chooser={chooser} />
        </div>
        <div class="column">
          {offer.directories.length > 0 && (
            <Section title={`Files on ${offer.machine}`}>
              <ListingView chooser={chooser} directories={offer.directories} />
            </Section>
          )}
          {offer.recent && <Recent chooser={chooser} recent={offer.recent} />}
          <Section title="Examples">
            <ul>
              {offer.examples.map(({ name, what }) => (
                <FileRow key={name} chooser={chooser} choice={{ key: `example ${name}`, name, source: { example: name } }} about={what} />
              ))}
            </ul>
          </Section>
        </div>
      </main>
      <Hints root={root} />
    </div>
  );
}

function Drop({ chooser, machine }: { readonly chooser: Chooser; readonly machine: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <section class="drop" aria-label="Files of your computer">
      <Icon name="open" />
      <h1>Drop files here</h1>
      <p>HLO, StableHLO and MLIR, .pt2, ONNX, Model Explorer, hidet, AITemplate, opscope's JSON and recordings. Several open together.</p>
      <button type="button" class="tool primary" onClick={() => input.current?.click()}>
        Select from your computer
      </button>
      <input
        ref={input}
        class="hidden"
        type="file"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void chooser.take({ files, directories: [] });
        }}
      />
      <p class="small">opscope on {machine} reads them. They are sent nowhere else, and the copies are deleted when it ends.</p>
      <p class="working-on" role="status">
        {chooser.progress && (
          <>
            {clipped(chooser.progress, 200)}
            <progress aria-label="Progress" />
          </>
        )}
      </p>
    </section>
  );
}

/** What is selected, what is wrong with it, and the button that opens it. */
function Selected({ chooser }: { readonly chooser: Chooser }): JSX.Element | null {
  const { selected, ready } = chooser;
  if (!selected.length || chooser.progress) return null;
  return (
    <section class="selected" aria-label="Selected files">
      <ul>
        {selected.map((choice) => (
          <li key={choice.key}>
            <b>{clipped(choice.name, 120)}</b>
            <IconButton name={`Remove ${choice.name}`} icon="close" onClick={() => chooser.toggle(choice)} />
            {choice.problem && <p role="alert">{clipped(choice.problem, 1200)}</p>}
          </li>
        ))}
      </ul>
      <div class="line">
        <button type="button" class="tool primary" disabled={!ready.length} onClick={() => void chooser.open(ready)}>
          View selected
        </button>
        {ready.length === 2 && (
          <button type="button" class="tool" onClick={() => void chooser.compare(ready)}>
            Compare selected
          </button>
        )}
        <button type="button" class="tool" onClick={() => chooser.clear()}>
          Clear selection
        </button>
      </div>
    </section>
  );
}

function Recent({ chooser, recent }: { readonly chooser: Chooser; readonly recent: NonNullable<Offer["recent"]> }): JSX.Element {
  const [shown, setShown] = useState(recent);
  const forget = async () => {
    await chooser.server.forgetRecent();
    setShown([]);
  };
  return (
    <Section
      title="Recent"
      button={
        shown.length > 0 && (
          <button type="button" class="tool quiet" onClick={() => void chooser.idle.during(forget())}>
            Clear recent files
          </button>
        )
      }
    >
      {shown.length ? (
        <ul>
          {shown.map(({ path, name, place }) => (
            <FileRow key={path} chooser={chooser} choice={{ key: `recent ${path}`, name, source: { recent: path } }} about={place} />
          ))}
        </ul>
      ) : (
        <p class="small">What you open with `opscope view FILE` is listed here.</p>
      )}
    </Section>
  );
}

function Section({
  title,
  button,
  children,
}: {
  readonly title: string;
  readonly button?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section aria-label={title}>
      <div class="line">
        <h2>{title}</h2>
        {button}
      </div>
      {children}
    </section>
  );
}
