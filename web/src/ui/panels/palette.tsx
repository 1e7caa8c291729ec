/** The command palette: every action, module and node by a part of its name. Modules and nodes are found by the engine, and only rows on screen are fetched. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Destination } from "../engine/protocol";
import type { Session } from "../session";
import { enterGraph } from "../state/view";
import { type Command, paletteCommands, type Where } from "./commands";
import { clipped } from "./outline";
import { useRows } from "./rowWindow";
import { VirtualRows } from "./virtual";

const ROW = 30;

interface Places {
  /** What was looked for. */
  readonly text: string;
  readonly modules: number;
  readonly nodes: number;
}

export function Palette({ at, onClose }: { readonly at: Where; readonly onClose: () => void }): JSX.Element {
  const { session } = at;
  const [text, setText] = useState("");
  const [places, setPlaces] = useState<Places>({ text: "", modules: 0, nodes: 0 });
  const [chosen, setChosen] = useState(0);
  const isWaiting = useRef(false);
  const scroller = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const commands = useRef<readonly Command[]>([]);
  if (commands.current.length === 0) commands.current = paletteCommands(at);
  const named = matching(commands.current, text);
  const row = useRows<Destination>(places, (from, to) => session.ask("destinationRows", { from, to }));
  const count = named.length + places.modules + places.nodes;

  useEffect(() => input.current?.focus(), []);
  useEffect(() => {
    let isOld = false;
    session
      .ask("destinations", { text })
      .then((found) => !isOld && setPlaces({ text, ...found }))
      .catch(() => undefined);
    return () => {
      isOld = true;
    };
  }, [session, text]);

  const choose = (line: number) => {
    const command = named[line];
    const isKnown = places.text === text;
    const place = command || !isKnown ? undefined : row(line - named.length);
    isWaiting.current = !command && !place && (!isKnown || line < count);
    if (!command && !place) return;
    onClose();
    session.stage?.canvas.focus({ preventScroll: true });
    if (place) void goTo(session, place);
    else command.run?.(at);
  };
  // Whoever types quickly presses Enter before the engine has answered; the first answer to what was typed is meant.
  useEffect(() => {
    if (isWaiting.current) choose(chosen);
  });
  const onKey = (event: KeyboardEvent) => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: chosen + 10, PageUp: chosen - 10 }[event.key];
    if (to !== undefined) setChosen(Math.max(0, Math.min(count - 1, to)));
    else if (event.key === "Enter") choose(chosen);
    else if (event.key === "Escape" || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
      onClose();
      session.stage?.canvas.focus({ preventScroll: true });
    } else {
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="veil high" role="presentation" onClick={onClose}>
      <div
        class="card palette"
        role="dialog"
        aria-modal="true"
        aria-label="Command palette"
        onClick={(event) => event.stopPropagation()}
        onKeyDown={onKey}
      >
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label="Action, module or node"
          aria-expanded="true"
          aria-controls="opscope-palette"
          aria-activedescendant={count > 0 ? `opscope-palette-${chosen}` : undefined}
          placeholder="Type an action, a module or a node"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => {
            isWaiting.current = false;
            setText(event.currentTarget.value);
            setChosen(0);
            if (scroller.current) scroller.current.scrollTop = 0;
          }}
        />
        <div class="list" ref={scroller} id="opscope-palette" role="listbox" aria-label="Actions, modules and nodes" tabIndex={-1}>
          <VirtualRows
            count={count}
            height={ROW}
            focus={chosen}
            scroller={scroller}
            render={(line, style) => {
              const command = named[line];
              const place = command ? undefined : row(line - named.length);
              return (
                <div
                  key={line}
                  id={`opscope-palette-${line}`}
                  class="row"
                  role="option"
                  tabIndex={-1}
                  aria-selected={line === chosen}
                  style={style}
                  onClick={() => choose(line)}
                >
                  <span class="name">{clipped(command?.name ?? place?.name ?? "…", 120)}</span>
                  {place && <span class="extra">{clipped(place.detail, 160)}</span>}
                  {command?.isOn?.(at) && <span class="extra">on</span>}
                  {command?.press && <kbd>{command.press}</kbd>}
                </div>
              );
            }}
          />
          {count === 0 && (
            <p class="quiet" role="option" aria-selected={false}>
              Nothing is called that.
            </p>
          )}
        </div>
      </div>
    </div>
  );
}

/** Commands with every word of the text in their name; those that begin with it first. */
function matching(commands: readonly Command[], text: string): Command[] {
  const query = text.trim().toLowerCase();
  const words = query.split(/\s+/);
  const isFirst = ({ name = "" }: Command) => name.toLowerCase().startsWith(query);
  const named = commands.filter(({ name = "" }) => words.every((word) => name.toLowerCase().includes(word)));
  return [...named.filter(isFirst), ...named.filter((command) => !isFirst(command))];
}

async function goTo(session: Session, { node, graph, level }: Destination): Promise<void> {
  if (level === 0) return session.goTo(node, graph);
  if (graph !== session.graphName) await session.follow(enterGraph(session.view, graph), { look: "first" });
  await session.goToGroup({ node, level });
}
