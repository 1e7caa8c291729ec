/** A long list of rows of one height, of which only those on screen are rendered. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const BEYOND = 12;

export function VirtualRows({
  count,
  height,
  render,
  focus,
  scroller,
  top = 0,
}: {
  readonly count: number;
  readonly height: number;
  readonly render: (index: number, style: { readonly top: string }) => ComponentChildren;
  /** A row to scroll into view when it changes, or -1. */
  readonly focus: number;
  readonly scroller: { readonly current: HTMLElement | null };
  readonly top?: number;
}): JSX.Element {
  const [window, setWindow] = useState({ from: 0, to: 60 });
  const last = useRef(-1);
  const measure = () => {
    const element = scroller.current;
    if (!element) return;
    const from = Math.max(0, Math.floor((element.scrollTop - top) / height) - BEYOND);
    const to = Math.min(count, Math.ceil((element.scrollTop + element.clientHeight) / height) + BEYOND);
    setWindow((was) => (was.from === from && was.to === to ? was : { from, to }));
  };
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", measure);
      observer.disconnect();
    };
  }, [count, height, top]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || focus < 0 || focus === last.current) return;
    last.current = focus;
    const at = focus * height;
    if (at < element.scrollTop || at + height > element.scrollTop + element.clientHeight - top)
      element.scrollTop = at - element.clientHeight / 2;
    measure();
  }, [focus]);
  const rows: ComponentChildren[] = [];
  for (let i = Math.min(window.from, count); i < Math.min(window.to, count); i++) rows.push(render(i, { top: `${top + i * height}px` }));
  return (
    <div role="presentation" style={{ height: `${top + count * height + 8}px`, position: "relative" }}>
      {rows}
    </div>
  );
}
