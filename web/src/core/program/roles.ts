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

/** An output index that stands for all outputs together. */
export const WHOLE = -1;

/** Does a graph take a node of this role from outside? The model's parameters and buffers, and the data that runs through it. */
export function isArgument(role: number): boolean {
  return role === Role.Parameter || role === Role.Input || role === Role.Buffer;
}
