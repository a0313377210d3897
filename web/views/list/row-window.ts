/** Which rows of a long table are in sight. All rows have the same height, so that none is measured. */
import { useLayoutEffect, useState } from 'preact/hooks';

/** Rows that are drawn above and below those in sight. */
const overscan = 6;

interface RowWindow {
  /** The first row that is drawn, and the one after the last. */
  readonly first: number;
  readonly end: number;
}

/** Rows that are drawn when the box is scrolled down by `top` pixels and is `height` pixels high. */
export function rowWindow(top: number, height: number, rowHeight: number, count: number): RowWindow {
  const inSight = Math.ceil(height / rowHeight);
  const above = Math.min(Math.floor(top / rowHeight), count - inSight);
  return {
    first: Math.max(0, above - overscan),
    end: Math.min(count, Math.max(0, above) + inSight + 1 + overscan),
  };
}

/** Draws the table anew when other rows come into sight. */
export function useRowWindow(
  box: { readonly current: HTMLElement | null },
  rowHeight: number,
  count: number,
): RowWindow {
  const [sight, setSight] = useState({ top: 0, height: innerHeight });
  useLayoutEffect(() => {
    const element = box.current!;
    const look = () => {
      const top = Math.floor(element.scrollTop / rowHeight) * rowHeight;
      const height = element.clientHeight;
      setSight((before) => (before.top === top && before.height === height ? before : { top, height }));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [rowHeight]);
  return rowWindow(sight.top, sight.height, rowHeight, count);
}

/** Scrolls as little as shows a row in whole. The head of the table stays above the rows, so it takes from their room. */
export function bringIntoSight(box: HTMLElement, top: number, rowHeight: number): void {
  const head = box.querySelector('thead')?.clientHeight ?? 0;
  const room = box.clientHeight - head - rowHeight;
  box.scrollTop = Math.max(Math.min(box.scrollTop, top), top - room);
}
