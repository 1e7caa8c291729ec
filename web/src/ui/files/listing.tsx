/** The files in directories of the machine that serves, one directory at a time. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytesText, countText } from "../../core/text/quantities";
import { Icon } from "../panels/icons";
import type { Chooser } from "./chooser";
import { FileRow } from "./fileRow";
import type { ListedEntry, Listing } from "./fileServer";

interface Place {
  readonly directory: number;
  readonly path: string;
}

export function ListingView({ chooser, directories }: { readonly chooser: Chooser; readonly directories: readonly string[] }): JSX.Element {
  const [place, setPlace] = useState<Place>({ directory: 0, path: "" });
  const [listing, setListing] = useState<Listing | string>({ entries: [], left_out: 0 });
  useEffect(() => {
    let current = true;
    const put = (listed: Listing | string) => current && setListing(listed);
    const listed = chooser.server.list(place.directory, place.path);
    void chooser.idle.during(listed.then(put, (error: unknown) => put(error instanceof Error ? error.message : String(error))));
    return () => {
      current = false;
    };
  }, [chooser, place]);
  return (
    <>
      <nav class="path" aria-label="Directory">
        {directories.length > 1 ? (
          <select
            aria-label="Directory to list"
            value={String(place.directory)}
            onChange={(event) => setPlace({ directory: Number(event.currentTarget.value), path: "" })}
          >
            {directories.map((name, i) => (
              <option key={name} value={String(i)}>
                {name}
              </option>
            ))}
          </select>
        ) : (
          <button type="button" onClick={() => setPlace({ directory: 0, path: "" })}>
            {directories[0]}
          </button>
        )}
        {parents(place.path).map(([name, path]) => (
          <button type="button" key={path} onClick={() => setPlace({ ...place, path })}>
            › {name}
          </button>
        ))}
      </nav>
      {typeof listing === "string" ? (
        <p role="alert">{listing}</p>
      ) : (
        <ul class="listing">
          {listing.entries.map((entry) => (
            <EntryRow key={entry.name} chooser={chooser} entry={entry} place={place} onEnter={(path) => setPlace({ ...place, path })} />
          ))}
          {listing.entries.length === 0 && <li class="small">No files here.</li>}
          {listing.left_out > 0 && <li class="small">{countText(listing.left_out)} more; name them on the command line.</li>}
        </ul>
      )}
    </>
  );
}

function EntryRow({
  chooser,
  entry,
  place,
  onEnter,
}: {
  readonly chooser: Chooser;
  readonly entry: ListedEntry;
  readonly place: Place;
  readonly onEnter: (path: string) => void;
}): JSX.Element {
  const path = place.path ? `${place.path}/${entry.name}` : entry.name;
  const source = { directory: place.directory, path };
  const choice = { key: `listed ${place.directory} ${path}`, name: entry.name, source };
  if (entry.kind === "file")
    return <FileRow chooser={chooser} choice={choice} about={`${bytesText(entry.bytes)} · ${dayOf(entry.modified)}`} />;
  if (entry.kind === "dump") return <FileRow chooser={chooser} choice={choice} about="compiler passes" />;
  return (
    <li class="file">
      <Icon name="directory" />
      <button type="button" class="name" title={entry.name} onClick={() => onEnter(path)}>
        {entry.name}
      </button>
      <span>directory</span>
    </li>
  );
}

/** The directories on the way to a path, each with its own. */
function parents(path: string): [string, string][] {
  const parts = path ? path.split("/") : [];
  return parts.map((name, i) => [name, parts.slice(0, i + 1).join("/")]);
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
