/** Numbers of `ROLES` (types.ts). */
export const enum Role {
  Op = 0,
  Parameter = 1,
  Constant = 2,
  Output = 3,
  Gradient = 4,
  Saved = 5,
  Input = 6,
  Buffer = 7,
}

/** The output index for all outputs together. */
export const WHOLE = -1;

/** Does a node of this role come from outside its graph? Parameters and buffers of the model, and its input data. */
export function isArgument(role: number): boolean {
  return role === Role.Parameter || role === Role.Input || role === Role.Buffer;
}

/** Is a node's text a name of its own, and not a part of what it does? Arguments, and the gradients of outputs. */
export function isNamed(role: number): boolean {
  return isArgument(role) || role === Role.Gradient;
}
