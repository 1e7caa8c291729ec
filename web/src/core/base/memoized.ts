/** The result of a function for an object, computed once and kept as long as the object exists. */
export function memoized<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const results = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    let result = results.get(key);
    if (!result) {
      result = { value: compute(key) };
      results.set(key, result);
    }
    return result.value;
  };
}

/** What a function says, worked out when it is first asked. */
export function once<Value>(compute: () => Value): () => Value {
  let result: { readonly value: Value } | undefined;
  return () => {
    result ??= { value: compute() };
    return result.value;
  };
}
