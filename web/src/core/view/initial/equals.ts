/** Modules of one class look alike at first sight: where one is closed, those of its size are. */
import { nameAndClass } from "../../program/names";
import { BoxKind, type ProgramData, type Visible } from "../../program/types";

/** Keys of the open groups without open groups inside whose class is also that of a closed one. */
export function openAmongClosed({ groupings, strings }: ProgramData, view: Visible): string[] {
  const { boxCount, group, grouping, kind, open, parent, expandable, key } = view;
  const isModule = (box: number): boolean => kind[box] === BoxKind.Group && group[box] >= 0;
  const classOf = (box: number): string => nameAndClass(strings.at(groupings[grouping].groupName[group[box]]))[1];
  const closed = new Set<string>();
  const holdsOpen = new Uint8Array(boxCount);
  for (let box = 0; box < boxCount; box++) {
    if (open[box] && parent[box] >= 0) holdsOpen[parent[box]] = 1;
    if (isModule(box) && expandable[box]) closed.add(classOf(box));
  }
  closed.delete("");
  return key.filter((_, box) => isModule(box) && open[box] === 1 && !holdsOpen[box] && closed.has(classOf(box)));
}
