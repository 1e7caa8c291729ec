/** Numbers the weakly connected parts of a graph in the order of their first node. */
export function findComponents(nodeCount: number, source: Int32Array, target: Int32Array): { count: number; of: Int32Array } {
  const leader = new Int32Array(nodeCount);
  for (let v = 0; v < nodeCount; v++) leader[v] = v;
  const find = (v: number): number => {
    let root = v;
    while (leader[root] !== root) {
      leader[root] = leader[leader[root]];
      root = leader[root];
    }
    return root;
  };
  for (let e = 0; e < source.length; e++) {
    const a = find(source[e]);
    const b = find(target[e]);
    if (a < b) leader[b] = a;
    else leader[a] = b;
  }
  const of = new Int32Array(nodeCount);
  let count = 0;
  for (let v = 0; v < nodeCount; v++) of[v] = find(v) === v ? count++ : of[leader[v]];
  return { count, of };
}
