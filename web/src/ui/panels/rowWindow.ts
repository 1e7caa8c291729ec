/** Rows of a long list that come from the engine: those on screen are asked for, and kept until the list is another one. */
import { useEffect, useRef, useState } from "preact/hooks";

/** So many rows are asked for together. */
const PAGE = 100;

/** `list` identifies the list: an object that changes with it. The result gives a row, or undefined while it is on its way. */
export function useRows<Row>(
  list: unknown,
  ask: (from: number, to: number) => Promise<readonly Row[]>,
): (index: number) => Row | undefined {
  const [, again] = useState(0);
  const pages = useRef({ list, rows: new Map<number, readonly Row[] | undefined>() });
  if (pages.current.list !== list) pages.current = { list, rows: new Map() };
  const gone = useRef(false);
  useEffect(
    () => () => {
      gone.current = true;
    },
    [],
  );
  const now = pages.current;
  return (index) => {
    const page = Math.floor(index / PAGE);
    if (!now.rows.has(page)) {
      now.rows.set(page, undefined);
      void ask(page * PAGE, (page + 1) * PAGE)
        .then((rows) => {
          now.rows.set(page, rows);
          if (!gone.current && pages.current === now) again((count) => count + 1);
        })
        .catch(() => undefined);
    }
    return now.rows.get(page)?.[index - page * PAGE];
  };
}
