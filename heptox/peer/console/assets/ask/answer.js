// An answer as it comes: its items, its columns, and its receipt.
import { signal } from "../libraries.js";
import { leavesOf, shownElement } from "./items.js";

/**
 * @typedef {import("./origins.js").Origin} Origin
 * @typedef {import("./items.js").Element} Element
 * @typedef {Origin & {status: string, complete: boolean, items: number, losses: string[], reason: string, text: string,
 *   milliseconds: number, beyond: boolean}} ReceiptLine
 * @typedef {{lack: string, peers: number, behind: number, named: string[], costs: string, mend: string}} Shortfall how an answer lacks something
 * @typedef {{query: string, complete: boolean, items: number, lines: ReceiptLine[], missing: Shortfall[]}} Receipt
 * @typedef {{item: string, origin: Origin, repeated: boolean, element: Element | null, cells: Map<string, string>}} Row
 * @typedef {{name: string, width: number}} Column `width` in characters
 * @typedef {"asking" | "ended" | "refused" | "lost"} State `ended`: there is a receipt
 */

/** Columns beside each other at most; the others are in the XML. */
export const MOST_COLUMNS = 40;
const WIDEST = 44;
/** From so many items on columns stay as wide as they are, so that nothing moves under the eyes. */
const SETTLED = 200;

export class Answer {
  /** @param {string} query @param {boolean} explained whether texts and times were asked for */
  constructor(query, explained) {
    this.query = query;
    this.explained = explained;
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Set<string>} names of columns */
    this.named = new Set();
    /** @type {Set<string>} peers that items came from */
    this.peers = new Set();
    this.repeated = 0;
    this.begun = performance.now();
    this.milliseconds = 0;
    this.cancelled = false;
    /** @type {import("../libraries.js").Signal<State>} */
    this.state = signal("asking");
    /** @type {import("../libraries.js").Signal<Receipt | null>} */
    this.receipt = signal(null);
    /** How many rows are shown: it follows them once a frame. */
    this.shown = signal(0);
    this.frame = 0;
  }

  /** @param {{item: string, origin: Origin, repeated: boolean}} line */
  take({ item, origin, repeated }) {
    const element = shownElement(item);
    /** @type {Map<string, string>} */
    const cells = new Map();
    let before = -1;
    for (const [name, value] of leavesOf(item, element)) {
      cells.set(name, cells.has(name) ? `${cells.get(name)} · ${value}` : value);
      before = this.place(name, before);
    }
    if (this.rows.length < SETTLED) this.widen(cells);
    this.rows.push({ item, origin, repeated, element, cells });
    this.repeated += Number(repeated);
    this.peers.add(origin.peer);
    if (!this.frame) this.frame = requestAnimationFrame(() => this.show());
  }

  show() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.shown.value = this.rows.length;
  }

  /** Where a column is; a new one stands behind the one before it in its item. @param {string} name @param {number} before */
  place(name, before) {
    if (this.named.has(name)) return this.columns.findIndex((column) => column.name === name);
    if (this.named.size >= MOST_COLUMNS) return before;
    this.named.add(name);
    const place = before < 0 ? this.columns.length : before + 1;
    this.columns.splice(place, 0, { name, width: Math.min(name.length + 2, WIDEST) });
    return place;
  }

  /** @param {Map<string, string>} cells */
  widen(cells) {
    for (const column of this.columns) column.width = Math.max(column.width, Math.min((cells.get(column.name) ?? "").length + 1, WIDEST));
  }

  /** @param {State} state @param {Receipt | null} receipt */
  end(state, receipt) {
    this.milliseconds = performance.now() - this.begun;
    this.receipt.value = receipt;
    this.state.value = state;
    this.show();
  }
}
