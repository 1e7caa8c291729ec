/** The matches of a search, module by module. The list stays while one looks at them in the graph. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { lastAtMost } from "../../core/base/arrays";
import { countText } from "../../core/text/quantities";
import type { SearchResult } from "../engine/protocol";
import type { Session } from "../session";
import { IconButton } from "./icons";
import { clipped } from "./outline";
import { useRows } from "./rowWindow";
import { VirtualRows } from "./virtual";

const ROW = 38;

export function Matches({ session }: { readonly session: Session }): JSX.Element {
  const { finder } = session;
  const { result } = finder;
  const scroller = useRef<HTMLDivElement>(null);
  const row = useRows(result, (from, to) => finder.rows(from, to));
  return (
    <section class="matches" aria-label="Search results">
      <h2>
        Matches {result && !result.problem && <span>{countText(result.total)}</span>}
        <IconButton name="Close the list of matches" icon="close" onClick={() => finder.showList(false)} />
      </h2>
      <div
        class="list"
        ref={scroller}
        id="opscope-hits"
        role="listbox"
        aria-label="Matches"
        tabIndex={0}
        aria-activedescendant={finder.hit >= 0 ? `opscope-hit-${finder.hit}` : undefined}
        onKeyDown={(event) => {
          const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : undefined;
          if (!by) return;
          void finder.step(by);
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {result && (
          <VirtualRows
            count={lineCount(result)}
            height={ROW}
            focus={finder.hit < 0 ? -1 : lineOf(result, finder.hit)}
            scroller={scroller}
            render={(line, style) => {
              const { hit, module } = at(result, line);
              const match = row(hit);
              if (hit === result.moduleStart[module] && line === hit + module)
                return (
                  <div class="row module" role="presentation" key={`m${module}`} style={style}>
                    <span class="name">{match ? clipped(match.scope || "outside modules") : ""}</span>
                    <span class="count">{countText(end(result, module) - result.moduleStart[module])}</span>
                  </div>
                );
              return (
                <div
                  key={hit}
                  id={`opscope-hit-${hit}`}
                  class="row match"
                  role="option"
                  tabIndex={-1}
                  aria-selected={hit === finder.hit}
                  style={style}
                  data-hint={match && clipped(`${match.id} · ${match.type}${match.scope ? ` · ${match.scope}` : ""}`)}
                  onClick={() => void finder.choose(hit)}
                >
                  {match && (
                    <>
                      <b>{clipped(match.title)}</b> <span class="extra">{clipped(match.id)}</span>
                      <span class="type">
                        {clipped(match.type)}
                        {match.graph !== session.graphName && ` in ${clipped(match.graph)}`}
                      </span>
                    </>
                  )}
                </div>
              );
            }}
          />
        )}
        {result?.problem && <Note text={result.problem} />}
        {result && !result.problem && result.total === 0 && (
          <Note text="No matches. Try part of a name, /a regular expression/, or op: type: scope: attr.name:" />
        )}
      </div>
    </section>
  );
}

function Note({ text }: { readonly text: string }): JSX.Element {
  return (
    <p class="quiet" role="option" aria-selected={false}>
      {text}
    </p>
  );
}

/** The list has a line for each module and, below it, one for each of its matches. */
function lineCount({ nodes, moduleStart }: SearchResult): number {
  return nodes.length + moduleStart.length;
}

function lineOf({ moduleStart }: SearchResult, hit: number): number {
  return hit + lastAtMost(moduleStart.length, (module) => moduleStart[module], hit) + 1;
}

/** The match of a line, and its module; of a module's line, its first match. */
function at({ moduleStart }: SearchResult, line: number): { readonly hit: number; readonly module: number } {
  const module = lastAtMost(moduleStart.length, (each) => moduleStart[each] + each, line);
  return { hit: Math.max(moduleStart[module], line - module - 1), module };
}

function end({ nodes, moduleStart }: SearchResult, module: number): number {
  return module + 1 < moduleStart.length ? moduleStart[module + 1] : nodes.length;
}
