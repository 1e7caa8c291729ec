/** Ops that only spread or convert a value. */
export const SPREADS = new Set([
  "broadcast",
  "broadcast_in_dim",
  "convert",
  "reshape",
  "bitcast",
  "bitcast-convert",
  "expand",
  "convert_element_type",
  "copy",
  "_to_copy",
]);
