// Rows of one height of which only those are made that are seen, so that many stay smooth.
import { useLayoutEffect, useRef, useState } from "../libraries.js";

const BEYOND = 12;
/** What a browser can still scroll. */
const TALLEST = 16_000_000;

/**
 * Which rows of `count` are seen in a box that scrolls.
 * @param {number} count @param {number} height of a row, in pixels
 * @returns {{box: {current: HTMLDivElement | null}, onScroll: (event: Event) => void, first: number, last: number,
 *   above: number, below: number, count: number}} rows from `first` up to `last`, which is left out; pixels above and below
 */
export function useWindow(count, height) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [seen, setSeen] = useState({ top: 0, tall: 600 });
  useLayoutEffect(() => {
    const found = box.current;
    if (!found) return;
    const observer = new ResizeObserver(() => setSeen((before) => ({ ...before, tall: found.clientHeight })));
    observer.observe(found);
    return () => observer.disconnect();
  }, []);
  const shown = Math.min(count, Math.floor(TALLEST / height));
  const first = Math.max(0, Math.min(Math.floor(seen.top / height) - BEYOND, shown - 1));
  const last = Math.min(shown, Math.ceil((seen.top + seen.tall) / height) + BEYOND);
  return {
    box, first, last, above: first * height, below: (shown - last) * height, count: shown,
    onScroll: (event) => {
      const top = /** @type {HTMLElement} */ (event.currentTarget).scrollTop;
      // a row more or less at either end is no reason to draw
      setSeen((before) => (Math.floor(before.top / height) === Math.floor(top / height) ? before : { ...before, top }));
    },
  };
}
