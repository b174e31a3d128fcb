// The arrows between the two trees.
import { html } from "../libraries.js";
import { selected } from "./drawing.js";
import { ROW, arrowPlaces, ghost, height, hovered, panel, placeOf, reveal, scrolled } from "./view.js";

/** @typedef {import("./view.js").Side} Side @typedef {import("./drawing.js").Arrow} Arrow */

export const COLOURS = 8;
/** The lane's own units across. */
const WIDTH = 100;

/** The number of the colour of a line's arrow: neighbours differ, and an arrow keeps its own while others come and go
 * below it. @param {number} line */
export function colourOf(line) {
  return Math.max(arrowPlaces.value.findIndex(({ arrow }) => arrow.line === line), 0) % COLOURS;
}

/** Where a place is in the lane: its height in pixels, whether that is not the node itself, and whether it is beyond an edge.
 * @param {Side} side @param {import("./view.js").Place} place */
export function heightOf(side, { place, folded }) {
  const y = place * ROW + ROW / 2 - scrolled[side].value;
  const hidden = y < 0 || y > height[side].value;
  return { y: Math.min(Math.max(y, 1), Math.max(height[side].value - 1, 1)), away: folded || hidden, hidden };
}

/** @param {number} from @param {number} to */
export const curve = (from, to) => `M0,${from} C${WIDTH * 0.45},${from} ${WIDTH * 0.55},${to} ${WIDTH},${to}`;

export function Lane() {
  const tall = Math.max(height.source.value, height.target.value, 1);
  const lines = arrowPlaces.value.flatMap(({ arrow, sources, target }, number) => {
    const begins = sources.map((source) => heightOf("source", source));
    const end = heightOf("target", target);
    if (end.hidden && begins.every((begin) => begin.hidden && begin.y === end.y)) return []; // all ends are beyond the same edge
    return [html`<${ArrowLine} key=${arrow.line} arrow=${arrow} colour=${number % COLOURS} begins=${begins} end=${end} />`];
  });
  return html`
    <svg class="lane" viewBox=${`0 0 ${WIDTH} ${tall}`} preserveAspectRatio="none" aria-hidden="true">
      ${lines}
      ${ghost.value ? html`<path class="ghost" d=${curve(endOf("source", ghost.value.source), endOf("target", ghost.value.target))} />` : ""}
      <path class="drawn" id="drawn" />
    </svg>`;
}

/** Where an arrow would end at a node. @param {Side} side @param {string[]} path */
export const endOf = (side, path) => heightOf(side, placeOf(side, path)).y;

/** @typedef {ReturnType<typeof heightOf>} End */

/** @param {{arrow: Arrow, colour: number, begins: End[], end: End}} props what leads out of a string begins nowhere */
function ArrowLine({ arrow, colour, begins, end }) {
  const path = begins.map((begin) => curve(begin.y, end.y)).join(" ") || `M${WIDTH * 0.8},${end.y} L${WIDTH},${end.y}`;
  const middle = ((begins[0] ?? end).y + end.y) / 2;
  const classes = ["arrow", `arrow-colour-${colour}`, ...(arrow.sound ? [] : ["faulty"]), ...(arrow.kind === "copy" ? ["copies"] : []),
    ...(arrow.kind === "each" ? ["each"] : []), ...(arrow.carried === 0 ? ["idle"] : []), ...([...begins, end].some(({ away }) => away) ? ["away"] : []), ...(selected.value === arrow.line ? ["selected"] : []), ...(hovered.value === arrow.line ? ["hovered"] : [])];
  const choose = () => {
    selected.value = selected.value === arrow.line ? null : arrow.line;
    if (panel.value === "Text") panel.value = "Form";
    begins.forEach((begin, place) => begin.away && reveal("source", /** @type {string[]} */ (arrow.sources[place])));
    if (end.away) reveal("target", /** @type {string[]} */ (arrow.target));
  };
  return html`
    <g class=${classes.join(" ")} data-line=${arrow.line} onClick=${choose}
      onPointerEnter=${() => { hovered.value = arrow.line; }} onPointerLeave=${() => { hovered.value = null; }}>
      <path class="near" d=${path} /><path class="line" d=${path} />
      <path class="head" d=${`M${WIDTH - 6},${end.y - 4} L${WIDTH},${end.y} L${WIDTH - 6},${end.y + 4}`} />
      ${arrow.sound ? "" : html`<path class="cross" d=${`M${WIDTH / 2 - 4},${middle - 5} l8,10 m0,-10 l-8,10`} />`}
    </g>`;
}
