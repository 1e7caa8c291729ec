/** Nodes or modules as a table: sorted by a click, filtered like the search, and linked with the picture in both directions. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { metricText } from "../../core/metrics/changes";
import { bytesText, countText, percentText, shortNumber } from "../../core/text/quantities";
import type { Docked } from "../dock/docked";
import type { TableColumn, TableResult } from "../engine/protocol";
import { copy } from "./actions";
import { clipped } from "./outline";
import { VirtualRows } from "./virtual";

const ROW = 24;
const PAGE = 100;

export function TablePanel({ session, bar }: Docked): JSX.Element {
  const [rows, setRows] = useState<"nodes" | "modules">(session.options.table ?? "nodes");
  const [attributes, setAttributes] = useState<readonly string[]>([]);
  const [filter, setFilter] = useState("");
  const [sort, setSort] = useState({ name: "", descending: false });
  const [table, setTable] = useState<TableResult>();
  const pages = useRef(new Map<number, readonly (readonly (string | number)[])[]>());
  const [, drawAgain] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const graph = session.graphName;
  const selected = session.view.selection.at(-1) ?? "";
  const [module, setModule] = useState<{ readonly key: string; readonly row: number }>({ key: "", row: -1 });

  useEffect(() => {
    let current = true;
    if (!session.program) return undefined;
    const { groupBy } = session.view;
    void session
      .ask("table", {
        rows,
        graph,
        ...(groupBy ? { grouping: groupBy } : {}),
        attributes,
        filter,
        sort: sort.name,
        descending: sort.descending,
      })
      .then((result) => {
        if (!current) return;
        pages.current = new Map();
        setTable(result);
      })
      .catch((error: Error) => session.say(error.message));
    return () => {
      current = false;
    };
  }, [session.program, graph, session.view.groupBy, rows, attributes, filter, sort]);

  useEffect(() => {
    if (rows !== "modules" || !table || module.key === selected) return;
    if (!selected) setModule({ key: "", row: -1 });
    else
      void session
        .ask("moduleRow", { key: selected })
        .then((row) => setModule({ key: selected, row }))
        .catch(() => undefined);
  }, [rows, table, selected]);

  /** Shows a module in the picture; if it is one of a stack of repeats, its row stays selected. */
  const goToModule = async (row: number, name: string) => {
    const place = await session.ask("modulePlace", { row });
    if (!place) return session.say(`${name} is not drawn as a group`);
    await session.goToGroup(place);
    setModule({ key: session.view.selection.at(-1) ?? "", row });
  };

  const cells = (row: number): readonly (string | number)[] | undefined => {
    const page = Math.floor(row / PAGE);
    const lines = pages.current.get(page);
    if (lines === undefined) {
      const { current } = pages;
      current.set(page, []);
      void session
        .ask("tableRows", { from: page * PAGE, to: (page + 1) * PAGE })
        .then((answer) => {
          current.set(page, answer);
          drawAgain((count) => count + 1);
        })
        .catch(() => undefined);
    }
    return lines?.[row % PAGE];
  };

  const copyCsv = async () => {
    if (!table) return;
    const all = await session.ask("tableRows", { from: 0, to: table.total });
    const lines = [table.columns.map((column) => column.name), ...all].map((line) => line.map(csvCell).join(","));
    await copy(session, `${lines.join("\n")}\n`, `${countText(table.total)} rows copied as CSV`);
  };

  const columns = table?.columns ?? [];
  const template = columns.map(widthOf).join(" ");
  const chosen = new Set(rows === "nodes" ? session.selectedNodes : [module.row]);
  const focus = table && chosen.size ? table.rows.findIndex((row) => chosen.has(row)) : -1;
  return (
    <section class="sheet" aria-label="Table of nodes">
      {bar(
        <>
          <button type="button" class="tool" aria-pressed={rows === "nodes"} onClick={() => setRows("nodes")}>
            Nodes
          </button>
          <button type="button" class="tool" aria-pressed={rows === "modules"} onClick={() => setRows("modules")}>
            Modules
          </button>
          <input
            class="filter"
            type="text"
            aria-label="Filter rows"
            placeholder={rows === "nodes" ? "Filter: op:dot shape:512" : "Filter"}
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          {rows === "nodes" && (
            <label class="choice">
              <span aria-hidden="true">Columns:</span>
              <select
                aria-label="Add column"
                value=""
                onChange={(event) => event.currentTarget.value && setAttributes([...attributes, event.currentTarget.value])}
              >
                <option value="">Add column</option>
                {session.attributes
                  .filter((name) => !attributes.includes(name))
                  .map((name) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
              </select>
            </label>
          )}
          <span class="quiet" role="status">
            {table ? `${countText(table.total)} rows` : ""}
          </span>
          <span class="grow" />
          <button type="button" class="tool" onClick={() => void copyCsv()}>
            Copy as CSV
          </button>
        </>,
      )}
      <div class="grid" ref={scroller} role="table" aria-label={rows} aria-rowcount={(table?.total ?? 0) + 1} tabIndex={0}>
        <div class="line head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
          {columns.map((column) => (
            <span
              key={column.name}
              role="columnheader"
              class={column.numeric ? "numeric" : ""}
              aria-sort={sort.name === column.name ? (sort.descending ? "descending" : "ascending") : "none"}
            >
              <button
                type="button"
                data-hint={column.metric && `${column.name}, ${column.metric.origin}`}
                onClick={() => setSort({ name: column.name, descending: sort.name === column.name ? !sort.descending : column.numeric })}
              >
                {column.name}
                {sort.name === column.name ? (sort.descending ? " ▾" : " ▴") : ""}
              </button>
            </span>
          ))}
        </div>
        <VirtualRows
          count={table?.total ?? 0}
          height={ROW}
          focus={focus}
          scroller={scroller}
          render={(row, style) => {
            const line = cells(row);
            const id = table!.rows[row];
            return (
              <div
                key={id}
                class="line data"
                role="row"
                aria-rowindex={row + 2}
                aria-selected={chosen.has(id)}
                style={{ ...style, gridTemplateColumns: template }}
                onClick={() => (rows === "nodes" ? void session.goTo(id, graph) : void goToModule(id, String(line?.[0] ?? "")))}
              >
                {columns.map((column, i) => (
                  <span key={column.name} role="cell" class={column.numeric ? "numeric" : ""}>
                    {line ? show(line[i], column) : ""}
                  </span>
                ))}
              </div>
            );
          }}
        />
      </div>
      {table && table.totals.length > 0 && (
        <dl class="totals" aria-label="Totals">
          {table.totals.map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

/** Columns of numbers are as wide as their heading, others as their longest text, up to a limit. */
function widthOf({ name, numeric, longest }: TableColumn, index: number): string {
  if (numeric) return `${Math.max(96, 34 + 7 * name.length)}px`;
  return longest === undefined ? (index === 0 ? "220px" : "180px") : `${Math.min(300, 24 + 7.2 * longest)}px`;
}

function show(cell: string | number | undefined, { name, unit, metric }: TableColumn): string {
  if (typeof cell !== "number") return clipped(cell ?? "", 160);
  if (metric) return Number.isNaN(cell) ? "" : metricText({ name, unit: metric.unit }, cell);
  if (Number.isNaN(cell) || (unit && cell === 0)) return "";
  if (unit === "count") return countText(cell);
  if (unit === "share") return percentText(cell);
  return unit === "bytes" ? bytesText(cell) : shortNumber(cell);
}

function csvCell(cell: string | number): string {
  const text = Number.isNaN(cell) ? "" : String(cell);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
