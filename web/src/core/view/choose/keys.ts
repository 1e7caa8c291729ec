/**
 * Keys: the stable names of boxes, the same in every view of a program.
 *
 *     key      = step { ">" step }              from the shown graph inwards, one step per expanded call
 *     step     = "n:" id                        a node: "n:dot.3"
 *              | "g:" name { "/" name }         a group: "g:layer_0/attention"
 *              | "x:" name { "/" name }         the stack of repeats whose first is that group: "x:layer_0"
 *              | "x:n:" id                      the stack of repeated nodes whose first is that one
 *              | "c:" number                    one of several graphs that a node calls: "n:while.2>c:1>n:add.1"
 *     stub     = "s:" ( key | "*" ) "@" [ key ] the stub of a node (of many: "*") at a user or in a container
 *     value    = "v:" key "." output            a value drawn as a box (output -1: all of a node's outputs)
 *     omitted  = "o:" ("in" | "out") ":" key    neighbours that are not shown
 *     open     = key ">*"                      in a list of open keys: the container and everything in it
 *     root     = "r:graph"                      the shown graph itself
 *     unconnected = "r:unconnected"             the nodes of the shown graph that nothing connects with the rest
 *     result   = "r:output"                     what the shown graph returns, where the program has no node for it
 *
 * In names and ids, "%", "/", ">" and "@" are written %25, %2F, %3E and %40.
 */

/** The key of what the shown graph returns. */
export const RESULT = "r:output";

/** The nodes that nothing connects with the rest. */
export const UNCONNECTED = "r:unconnected";

/** After a key in `open`: that container and all groups inside it, however deep. */
export const EVERYTHING_INSIDE = ">*";

/** The shown graph as one box. */
export const ROOT_KEY = "r:graph";

/** Is this the key of a container, or of something inside it? Stacks and groups have the same path. */
export function isInside(key: string, container: string): boolean {
  if (container === ROOT_KEY) return true;
  const path = container.slice(2);
  return key.startsWith(path, 2) && (key.length === container.length || key[container.length] === "/" || key[container.length] === ">");
}

/** The calls around a node and its id, from its key; undefined for other keys. */
export function splitNodeKey(key: string): { readonly prefix: string; readonly id: string } | undefined {
  const at = key.lastIndexOf(">") + 1;
  return key.startsWith("n:", at) ? { prefix: key.slice(0, at), id: unescapeName(key.slice(at + 2)) } : undefined;
}

/** Which output of its node a value drawn as a box is; undefined for other boxes, and for one that is all outputs. */
export function outputOf(key: string): number | undefined {
  const output = /^v:.*\.(\d+)$/.exec(key)?.[1];
  return output === undefined ? undefined : Number(output);
}

/** What a person calls the node or group that a key or an id names: the group's last name. */
export function titleOf(key: string): string {
  return /^[gx]:/.test(key) ? unescapeName(key.slice(key.lastIndexOf("/") + 1).replace(/^[gx]:/, "")) : key;
}

const SPECIAL = /[%/>@]/;

export function escapeName(name: string): string {
  return SPECIAL.test(name) ? name.replace(/[%/>@]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`) : name;
}

export function unescapeName(name: string): string {
  return name.includes("%") ? name.replace(/%(25|2F|3E|40)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))) : name;
}
