/** A toolbar next to the graph: its direction, and what boxes and edges show. */
import { DIRECTION } from "../../core/program/names";
import type { JSX } from "preact";
import type { Session } from "../session";
import { actions, showsOperands } from "./actions";
import { IconButton } from "./icons";

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
    </div>
  );
}
