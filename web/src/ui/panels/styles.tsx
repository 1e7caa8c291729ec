/** The style editor: ordered rules, with their matches counted while typing, and node data to colour by. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { readColour } from "../../core/base/colour";
import { DATA } from "../../core/highlight/highlighter";
import {
  MATCH_TYPES,
  type MatchType,
  type NodeType,
  type StyleColour,
  type StyleName,
  type StyleQuery,
  type StyleRule,
} from "../../core/highlight/rules";
import { countText, shortNumber } from "../../core/text/quantities";
import type { Session } from "../session";
import { colourBy } from "../state/view";
import { download } from "./actions";
import { IconButton } from "./icons";

const NODE_TYPES: readonly (readonly [NodeType, string])[] = [
  ["op_nodes", "operations"],
  ["layer_nodes", "groups"],
  ["op_and_layer_nodes", "operations and groups"],
];
const PLACES: Record<MatchType, string> = { title: "title", list: "attributes", input: "inputs", output: "outputs" };
const COLOURS: readonly (readonly [StyleName, string, string])[] = [
  ["node_bg_color", "Background", "#ffe9b8"],
  ["node_border_color", "Border", "#c98a00"],
  ["node_text_color", "Text", "#1d1d22"],
  ["edge_color", "Edges", "#c98a00"],
];
const FRESH: StyleRule = {
  queries: [
    { type: "node_type", nodeType: "op_nodes" },
    { type: "regex", queryRegex: "", matchTypes: ["title"] },
  ],
  nodeType: "op_nodes",
  styles: { node_bg_color: { id: "node_bg_color", value: "#ffe9b8", dark: "#5a4310" } },
  version: "v2",
};

export function StylesPanel({ session, onClose }: { readonly session: Session; readonly onClose: () => void }): JSX.Element {
  const { styling } = session;
  const { rules } = styling;
  const set = (next: readonly StyleRule[]) => styling.setRules(next);
  const put = (at: number, rule: StyleRule) => set(rules.map((old, i) => (i === at ? rule : old)));
  const move = (at: number, to: number) => set(moved(rules, at, to));
  return (
    <aside class="side right styles" aria-label="Styles">
      <div class="facts">
        <div class="line">
          <h2>Styles</h2>
          <IconButton name="Close styles" icon="close" onClick={onClose} />
        </div>
        <div class="actions">
          <button type="button" class="tool" onClick={() => set([...rules, FRESH])}>
            Add rule
          </button>
          {session.options.predefinedStyles.map((style) => (
            <button key={style.title} type="button" class="tool" onClick={() => set(style.rules)}>
              {style.title}
            </button>
          ))}
          <FileButton name="Import rules" onText={(name, text) => void styling.take(name, text)} />
          <button
            type="button"
            class="tool"
            disabled={!rules.length}
            onClick={() => download(new Blob([JSON.stringify(rules, null, 2)], { type: "application/json" }), "styles.json")}
          >
            Export rules
          </button>
          <button type="button" class="tool" disabled={!rules.length} onClick={() => set([])}>
            Clear rules
          </button>
        </div>
        <DataSection session={session} />
        <h3>Rules</h3>
        <p class="where">
          {rules.length
            ? "The first rule that matches a box sets its colours."
            : "No rules yet. Add one, or drop a Model Explorer style or node-data file here."}
        </p>
        <ol class="rules">
          {rules.map((rule, i) => (
            <Rule
              key={i}
              rule={rule}
              number={i + 1}
              theme={session.theme.name}
              report={session.shown?.result.rules[i]}
              onChange={(next) => put(i, next)}
              buttons={
                <>
                  <IconButton name={`Move rule ${i + 1} up`} icon="up" disabled={i === 0} onClick={() => move(i, i - 1)} />
                  <IconButton
                    name={`Move rule ${i + 1} down`}
                    icon="down"
                    disabled={i === rules.length - 1}
                    onClick={() => move(i, i + 1)}
                  />
                  <IconButton
                    name={`Duplicate rule ${i + 1}`}
                    icon="copy"
                    onClick={() => set([...rules.slice(0, i + 1), rule, ...rules.slice(i + 1)])}
                  />
                  <IconButton name={`Delete rule ${i + 1}`} icon="close" onClick={() => set(rules.filter((_, at) => at !== i))} />
                </>
              }
            />
          ))}
        </ol>
      </div>
    </aside>
  );
}

function Rule({
  rule,
  number,
  theme,
  report,
  onChange,
  buttons,
}: {
  readonly rule: StyleRule;
  readonly number: number;
  readonly theme: "light" | "dark";
  readonly report: { readonly matches: number; readonly problem?: string } | undefined;
  readonly onChange: (rule: StyleRule) => void;
  readonly buttons: JSX.Element;
}): JSX.Element {
  const type = rule.queries.find((query) => query.type === "node_type")?.nodeType ?? "op_and_layer_nodes";
  const status = report?.problem ?? (report ? `${countText(report.matches)} ${report.matches === 1 ? "match" : "matches"}` : "");
  const setQuery = (at: number, query: StyleQuery) =>
    onChange({ ...rule, queries: rule.queries.map((old, i) => (i === at ? query : old)) });
  return (
    <li class="style-rule" aria-label={`Rule ${number}`}>
      <div class="line">
        <span class={report?.problem ? "report wrong" : "report"} role="status">
          {status}
        </span>
        {buttons}
      </div>
      <label class="choice">
        <span>Colours</span>
        <select
          aria-label={`Rule ${number}: node type`}
          value={type}
          onChange={(event) => onChange(withType(rule, event.currentTarget.value as NodeType))}
        >
          {NODE_TYPES.map(([name, text]) => (
            <option key={name} value={name} selected={name === type}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {rule.queries.map((query, at) =>
        query.type === "regex" ? (
          <RegexQuery key={at} query={query} number={number} onChange={(next) => setQuery(at, next)} />
        ) : query.type === "attr_value_range" ? (
          <RangeQuery key={at} query={query} number={number} onChange={(next) => setQuery(at, next)} />
        ) : null,
      )}
      {!rule.queries.some((query) => query.type === "attr_value_range") && (
        <button
          type="button"
          class="link"
          aria-label={`Rule ${number}: add a number range`}
          onClick={() =>
            onChange({ ...rule, queries: [...rule.queries, { type: "attr_value_range", attrName: "", min: null, max: null }] })
          }
        >
          add a number range
        </button>
      )}
      <div class="colours">
        {COLOURS.map(([name, label, start]) => (
          <Colour
            key={name}
            label={label}
            ruleNumber={number}
            value={textOf(rule.styles[name], theme)}
            start={start}
            onChange={(value) => onChange({ ...rule, styles: withColour(rule.styles, name, value) })}
          />
        ))}
      </div>
    </li>
  );
}

function RegexQuery({
  query,
  number,
  onChange,
}: {
  readonly query: StyleQuery & { type: "regex" };
  readonly number: number;
  readonly onChange: (query: StyleQuery) => void;
}): JSX.Element {
  const toggle = (place: MatchType) => {
    const chosen = query.matchTypes.includes(place) ? query.matchTypes.filter((each) => each !== place) : [...query.matchTypes, place];
    onChange({ ...query, matchTypes: chosen });
  };
  return (
    <>
      <input
        class="filter mono"
        type="text"
        aria-label={`Rule ${number}: regular expression`}
        placeholder="Regular expression: conv|linear"
        value={query.queryRegex}
        onInput={(event) => onChange({ ...query, queryRegex: event.currentTarget.value })}
      />
      <div class="places" role="group" aria-label={`Rule ${number}: search in`}>
        {MATCH_TYPES.map((place) => (
          <button key={place} type="button" class="tool" aria-pressed={query.matchTypes.includes(place)} onClick={() => toggle(place)}>
            {PLACES[place]}
          </button>
        ))}
      </div>
    </>
  );
}

function RangeQuery({
  query,
  number,
  onChange,
}: {
  readonly query: StyleQuery & { type: "attr_value_range" };
  readonly number: number;
  readonly onChange: (query: StyleQuery) => void;
}): JSX.Element {
  const limit = (name: "min" | "max") => (
    <input
      class="filter"
      type="number"
      step="any"
      aria-label={`Rule ${number}: ${name}`}
      placeholder={name}
      value={query[name] ?? ""}
      onInput={(event) => onChange({ ...query, [name]: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })}
    />
  );
  return (
    <div class="range" role="group" aria-label={`Rule ${number}: number range`}>
      <input
        class="filter"
        type="text"
        aria-label={`Rule ${number}: attribute`}
        placeholder="attribute"
        value={query.attrName}
        onInput={(event) => onChange({ ...query, attrName: event.currentTarget.value })}
      />
      {limit("min")}
      {limit("max")}
    </div>
  );
}

function Colour({
  label,
  ruleNumber,
  value,
  start,
  onChange,
}: {
  readonly label: string;
  readonly ruleNumber: number;
  readonly value: string | undefined;
  readonly start: string;
  readonly onChange: (value: string | undefined) => void;
}): JSX.Element {
  const shown = value ? readColour(value) : undefined;
  const name = `Rule ${ruleNumber}: ${label.toLowerCase()}`;
  return (
    <span class="colour">
      {shown ? (
        <input type="color" aria-label={name} value={shown} onInput={(event) => onChange(event.currentTarget.value)} />
      ) : (
        <button type="button" class="swatch" aria-label={`${name}, choose`} onClick={() => onChange(start)}>
          +
        </button>
      )}
      <span>{label}</span>
      {shown && (
        <button type="button" class="link" aria-label={`${name}, remove`} onClick={() => onChange(undefined)}>
          ×
        </button>
      )}
    </span>
  );
}

/** Runs of node data with their statistics; each can colour the graph. */
function DataSection({ session }: { readonly session: Session }): JSX.Element {
  const { runs } = session.styling;
  return (
    <section>
      <h3>Node data</h3>
      <div class="actions">
        <FileButton name="Load node data" onText={(name, text) => void session.styling.take(name, text)} />
      </div>
      {runs.map((run) => (
        <table key={run.name} class="statistics" aria-label={`Statistics of ${run.name}`}>
          <caption>
            <button
              type="button"
              class="link"
              data-hint="Colour by this run"
              onClick={() => session.change(colourBy(session.view, `${DATA}${run.name}`), { keepCamera: true })}
            >
              {run.name}
            </button>
            {` ${countText(run.nodes)} nodes`}
            {run.unmatched > 0 && `, ${countText(run.unmatched)} entries match no node`}
          </caption>
          <tbody>
            {run.numbers > 0
              ? (
                  [
                    ["min", run.min],
                    ["max", run.max],
                    ["sum", run.sum],
                    ["mean", run.mean],
                  ] as const
                ).map(([name, value]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>{shortNumber(value)}</td>
                  </tr>
                ))
              : run.words.slice(0, 12).map(([word, count]) => (
                  <tr key={word}>
                    <th scope="row">{word}</th>
                    <td>{count}</td>
                  </tr>
                ))}
          </tbody>
        </table>
      ))}
    </section>
  );
}

function FileButton({ name, onText }: { readonly name: string; readonly onText: (name: string, text: string) => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="tool" onClick={() => input.current?.click()}>
        {name}
      </button>
      <input
        ref={input}
        class="hidden"
        type="file"
        accept=".json,application/json"
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) void file.text().then((text) => onText(file.name, text));
        }}
      />
    </>
  );
}

/** The colour in the current theme. */
function textOf(colour: StyleColour | undefined, theme: "light" | "dark"): string | undefined {
  if (colour === undefined || typeof colour === "string") return colour;
  return theme === "dark" && colour.dark ? colour.dark : colour.value;
}

function moved(rules: readonly StyleRule[], from: number, to: number): StyleRule[] {
  const next = [...rules];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

function withType(rule: StyleRule, nodeType: NodeType): StyleRule {
  const rest = rule.queries.filter((query) => query.type !== "node_type");
  return { ...rule, nodeType, queries: [{ type: "node_type", nodeType }, ...rest] };
}

/** A colour that a person picks applies to both themes. */
function withColour(styles: StyleRule["styles"], name: StyleName, value: string | undefined): StyleRule["styles"] {
  const { [name]: _, ...rest } = styles;
  return value === undefined ? rest : { ...rest, [name]: { id: name, value } };
}
