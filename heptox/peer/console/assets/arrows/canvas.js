// The two trees and the arrows between them, and what the mouse does there: from row to row across draws an arrow, from
// row to row in one tree draws a box around the siblings between.
import { html, useRef } from "../libraries.js";
import { trees } from "./drawing.js";
import { boxing, join, select } from "./gestures.js";
import { Lane, curve, endOf } from "./lane.js";
import { Tree, focusTree } from "./tree.js";
import { ROW, cursor, height, marked, placeOf, scrolled, siblingsBetween, unfold, unfolded } from "./view.js";

/** @typedef {import("./view.js").Side} Side @typedef {import("./view.js").Node} Node */
/** @typedef {{side: Side, node: Node, x: number, y: number, moved: boolean, over: {side: Side, node: Node} | null, point: {x: number, y: number}}} Drag */

/** Pixels before a press becomes a drag. */
const THRESHOLD = 4;
/** Pixels from an edge at which a tree begins to scroll. */
const EDGE = 30;
/** How long one rests on a folded node until it unfolds. */
const REST = 600;

export function Canvas() {
  const drag = useRef(/** @type {Drag | null} */ (null));
  const timers = useRef({ unfold: 0, frame: 0 });

  /** @param {PointerEvent} event */
  const press = (event) => {
    const found = rowAt(event.target);
    if (!found || event.button !== 0) return;
    const { side, node } = found;
    if (/** @type {HTMLElement} */ (event.target).dataset["fold"] !== undefined) {
      unfold(side, node.key, !unfolded[side].value.has(node.key));
      return;
    }
    cursor[side].value = node.key;
    drag.current = { side, node, x: event.clientX, y: event.clientY, moved: false, over: null, point: { x: event.clientX, y: event.clientY } };
    /** @type {HTMLElement} */ (event.currentTarget).setPointerCapture(event.pointerId);
    event.preventDefault();
    focusTree(side);
  };

  /** @param {PointerEvent} event */
  const move = (event) => {
    const one = drag.current;
    if (!one) return;
    one.point = { x: event.clientX, y: event.clientY };
    if (Math.hypot(event.clientX - one.x, event.clientY - one.y) > THRESHOLD) one.moved = true;
    if (!one.moved) return;
    const over = rowAt(document.elementFromPoint(event.clientX, event.clientY));
    if (over?.node.key !== one.over?.node.key || over?.side !== one.over?.side) restOn(over);
    one.over = over;
    show(one);
    if (!timers.current.frame) scroll();
  };

  /** @param {{side: Side, node: Node} | null} over */
  const restOn = (over) => {
    clearTimeout(timers.current.unfold);
    if (over?.node.expandable && !unfolded[over.side].value.has(over.node.key)) {
      timers.current.unfold = setTimeout(() => unfold(over.side, over.node.key), REST);
    }
  };

  const scroll = () => {
    const one = drag.current;
    timers.current.frame = 0;
    if (!one?.moved) return;
    for (const side of /** @type {Side[]} */ (["source", "target"])) {
      const area = document.querySelector(`.tree[data-side="${side}"]`)?.getBoundingClientRect();
      if (!area || one.point.x < area.left || one.point.x > area.right) continue;
      const step = one.point.y < area.top + EDGE ? -ROW / 3 : one.point.y > area.bottom - EDGE ? ROW / 3 : 0;
      if (step) scrolled[side].value = Math.max(0, scrolled[side].value + step);
    }
    show(one);
    timers.current.frame = requestAnimationFrame(scroll);
  };

  const end = () => {
    clearTimeout(timers.current.unfold);
    cancelAnimationFrame(timers.current.frame);
    timers.current.frame = 0;
    document.getElementById("drawn")?.setAttribute("d", "");
    const one = drag.current;
    drag.current = null;
    return one;
  };

  /** @param {PointerEvent} event */
  const release = (event) => {
    const one = end();
    if (!one?.moved) return;
    const over = rowAt(document.elementFromPoint(event.clientX, event.clientY));
    if (one.node.kind === "value") {
      if (over?.side === one.side) select(one.side, one.node, over.node);
      return;
    }
    if (over && over.side !== one.side) join(one, over);
    else if (over && over.node.key !== one.node.key) {
      const members = siblingsBetween(one.side, one.node.key, over.node.key);
      if (members.length) boxing.value = { side: one.side, members };
    }
    if (boxing.value === null) marked[one.side].value = new Set();
  };

  /** @param {MouseEvent} event */
  const twice = (event) => {
    const found = rowAt(document.elementFromPoint(event.clientX, event.clientY)); // the press has captured the target
    if (found?.node.expandable) unfold(found.side, found.node.key, !unfolded[found.side].value.has(found.node.key));
  };

  return html`
    <div class="canvas" onPointerDown=${press} onPointerMove=${move} onPointerUp=${release} onPointerCancel=${end} onDblClick=${twice}>
      <${Tree} side="source" /><${Lane} /><${Tree} side="target" />
    </div>`;
}

/** The node of the row that an element of the page belongs to. @param {EventTarget | null} target @returns {{side: Side, node: Node} | null} */
function rowAt(target) {
  const row = target instanceof Element ? target.closest(".node-row") : null;
  if (!(row instanceof HTMLElement)) return null;
  const side = /** @type {Side} */ (row.dataset["side"]);
  const key = row.dataset["key"] ?? "";
  const node = trees.value[side]?.node(key ? key.split("\n") : []);
  return node ? { side, node } : null;
}

/** Show what a drag would draw. It moves with the pointer, frame by frame, and is not the state of anything.
 * @param {Drag} one */
function show(one) {
  if (one.node.kind === "value") return;
  const across = !one.over || one.over.side !== one.side;
  marked[one.side].value = across || !one.over ? new Set()
    : new Set(siblingsBetween(one.side, one.node.key, one.over.node.key).map((node) => node.key));
  const line = document.getElementById("drawn");
  const lane = line?.closest("svg")?.getBoundingClientRect();
  if (!line || !lane) return;
  const begin = placeOf(one.side, one.node.path).place * ROW + ROW / 2 - scrolled[one.side].value;
  const pointer = Math.min(Math.max(one.point.y - lane.top, 0), height[one.side].value);
  const there = one.over && one.over.side !== one.side ? endOf(one.over.side, one.over.node.path) : pointer;
  line.setAttribute("d", !across ? "" : one.side === "source" ? curve(begin, there) : curve(there, begin));
}
