// Peers by letter and colour, the same ones as long as the tab is there: A is the own peer.
import { html } from "../libraries.js";
import { Text, plain } from "../text.js";

/** @typedef {{peer: string, name: string, path: string[]}} Origin */

const KEPT = "heptox-origins";
const COLOURS = 8;
/** @type {string[]} */
let known = kept();

/** @returns {string[]} */
function kept() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(found) ? found.map(String) : [];
  } catch {
    return [];
  }
}

/** The place of a peer among those that were met. @param {string} peer */
export function placeOf(peer) {
  const found = known.indexOf(peer);
  if (found >= 0) return found;
  known = [...known, peer];
  if (known.length <= 500) sessionStorage.setItem(KEPT, JSON.stringify(known));
  return known.length - 1;
}

/** Its letter: A to Z, then AA. @param {string} peer */
export function letterOf(peer) {
  let place = placeOf(peer);
  let letters = "";
  do {
    letters = String.fromCharCode(65 + (place % 26)) + letters;
    place = Math.floor(place / 26) - 1;
  } while (place >= 0);
  return letters;
}

/** The letter of a peer on its colour. @param {{peer: string, name: string}} props */
export function Badge({ peer, name }) {
  return html`<span class=${`badge colour-${placeOf(peer) % COLOURS}`} title=${plain(`${name} · ${peer}`)}>${letterOf(peer)}</span>`;
}

/** Where something came from: the peer, and the way to it. @param {{origin: Origin}} props */
export function From({ origin }) {
  const between = origin.path.slice(1, -1);
  return html`<span class="from"><${Badge} ...${origin} /> <${Text} value=${origin.name} most=${80} />${between.length
    ? html`<span class="faint"> via <${Text} value=${between.join(", ")} most=${120} /></span>` : null}</span>`;
}
