/** A toolbar next to the graph: its direction, and what boxes and edges show. */
import { DIRECTION } from "../../core/program/names";
import type { JSX } from "preact";
import type { Session } from "../session";
import { actions, showsOperands } from "./actions";
import { Icon, IconButton } from "./icons";

export function ViewOptions({ session }: { readonly session: Session }): JSX.Element | null {
  const { view, program, shown } = session;
  if (!shown) return null;
  return (
    <div class="options" role="toolbar" aria-label="Drawing" aria-orientation="vertical">
      <IconButton
        name="Layout direction"
        icon="direction"
        press="d"
        pressed={view.rankdir === "LR"}
        onClick={() => actions.direction(session)}
      />
      {program?.groupings.includes(DIRECTION) && (
        <IconButton
          name="Forward beside backward"
          icon="beside"
          press="g"
          pressed={view.forwardBackward}
          onClick={() => actions.forwardBackward(session)}
        />
      )}
      <IconButton name="Show op names" icon="names" press="m" pressed={view.names} onClick={() => actions.names(session)} />
      <IconButton
        name="Show operand index"
        icon="operands"
        press="#"
        pressed={showsOperands(session)}
        onClick={() => actions.operands(session)}
      />
      <IconButton name="Show all nodes" icon="allNodes" press="a" pressed={view.allNodes} onClick={() => actions.allNodes(session)} />
      <IconButton name="Show all frames" icon="frames" press="w" pressed={view.frames} onClick={() => actions.frames(session)} />
      <IconButton
        name="Show tensors as nodes"
        icon="values"
        press="v"
        pressed={view.values === "boxes"}
        onClick={() => actions.values(session)}
      />
      {program?.layouts && (
        <IconButton name="Show layouts" icon="layouts" pressed={view.layouts} onClick={() => actions.layouts(session)} />
      )}
      <LabelChoice session={session} />
    </div>
  );
}

/** A metric or an attribute to write on boxes. The browser's own list is under the icon. */
function LabelChoice({ session }: { readonly session: Session }): JSX.Element {
  const { label } = session.view;
  const names = [...new Set([...(session.program?.metrics ?? []), ...session.attributes])];
  const several = label.length > 1 ? label.join(", ") : "";
  const chosen = several || (label[0] ?? "");
  const title = chosen ? `Written on boxes: ${chosen}` : "Write on boxes";
  return (
    <label class="tool icon chooser" data-chosen={chosen !== ""} title={title}>
      <Icon name="label" />
      <select
        aria-label="Write on boxes"
        value={chosen}
        onChange={({ currentTarget }) => actions.label(session, currentTarget.value ? [currentTarget.value] : [])}
      >
        <option value="">nothing</option>
        {several && <option value={several}>{several}</option>}
        {names.map((name) => (
          <option key={name} value={name} selected={name === chosen}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
