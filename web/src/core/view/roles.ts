/** Numbers of `ROLES` (types.ts). */
export const enum Role { Op = 0, Parameter = 1, Constant = 2, Output = 3, Gradient = 4, Saved = 5 }

/** An output index that stands for all outputs together. */
export const WHOLE = -1;
