// What is seen of the two schemas: which nodes are open, where each tree is scrolled to, where the cursors are.
import { batch, computed, signal } from "../libraries.js";
import { isBelow, isLeaf, keyOf, pathOf } from "../schema.js";
import { drawing, loadValues, mapping, trees } from "./drawing.js";

/**
 * @typedef {import("./edits.js").Side} Side
 * @typedef {import("../schema.js").Node} Node
 * @typedef {{node: Node, depth: number, boxed: boolean}} Row `boxed`: it is in a box
 */

/** Pixels of a row. */
export const ROW = 24;
const MOST_ROWS = 20_000;
/** @type {Side[]} */
const SIDES = ["source", "target"];
/** @param {Side} side @returns {Side} */
export const other = (side) => (side === "source" ? "target" : "source");

/** @template T @param {() => T} make @returns {Record<Side, T>} */
const both = (make) => ({ source: make(), target: make() });

/** What is shown beside the drawing. */
export const panel = signal("Text");
/** Keys of the nodes that are unfolded. */
export const unfolded = both(() => signal(/** @type {Set<string>} */ (new Set([""]))));
export const scrolled = both(() => signal(0));
export const height = both(() => signal(0));
/** Keys of the nodes where the keyboard is. */
export const cursor = both(() => signal(""));
/** The tree in which somebody was last. */
export const side = signal(/** @type {Side} */ ("source"));
/** Siblings that are marked for a box. */
export const marked = both(() => signal(/** @type {Set<string>} */ (new Set())));
/** @type {import("../libraries.js").Signal<{side: Side, node: Node} | null>} the end of an arrow that waits for the other */
export const picked = signal(null);
/** The line of the arrow that the pointer is on. @type {import("../libraries.js").Signal<number | null>} */
export const hovered = signal(null);
/** @type {import("../libraries.js").Signal<{source: string[], target: string[], copies: boolean} | null>} a suggestion that is looked at */
export const ghost = signal(null);

/** The rows of each tree: its nodes as far as it is unfolded. */
export const rows = {
  source: computed(() => rowsOf("source")),
  target: computed(() => rowsOf("target")),
};

/** @param {Side} side @returns {Row[]} */
function rowsOf(side) {
  const tree = trees.value[side];
  if (!tree) return [];
  const open = unfolded[side].value;
  /** @type {Row[]} */
  const found = [];
  /** @param {Node} node @param {number} depth @param {boolean} boxed */
  const add = (node, depth, boxed) => {
    if (found.length >= MOST_ROWS) return;
    const inside = boxed || node.kind === "box";
    found.push({ node, depth, boxed: inside });
    if (open.has(node.key)) for (const child of tree.children(node)) add(child, depth + 1, inside);
  };
  add(tree.root, 0, false);
  return found;
}

/** The place of each row by its node's key. */
export const places = {
  source: computed(() => new Map(rows.source.value.map(({ node }, place) => [node.key, place]))),
  target: computed(() => new Map(rows.target.value.map(({ node }, place) => [node.key, place]))),
};

/** @typedef {{place: number, folded: boolean}} Place */

/** The place of a node's row, or of the nearest one above it that is seen. @param {Side} side @param {string[]} path
 * @returns {Place} */
export function placeOf(side, path) {
  const found = places[side].value;
  const place = found.get(keyOf(path));
  if (place !== undefined) return { place, folded: false };
  const above = trees.value[side]?.above(path) ?? [];
  let best = 0;
  for (const key of above) best = Math.max(best, found.get(key) ?? 0);
  return { place: best, folded: true };
}

/** Where both ends of each arrow are; while one only scrolls, that stays. */
export const arrowPlaces = computed(() =>
  (mapping.value?.arrows ?? []).flatMap((arrow) =>
    arrow.target && (arrow.sources.length || arrow.sound)
      ? [{ arrow, sources: arrow.sources.map((path) => placeOf("source", path)), target: placeOf("target", arrow.target) }] : []));

/** The arrows at each node, by its key. */
export const ends = {
  source: computed(() => endsOf("source")),
  target: computed(() => endsOf("target")),
};

/** @param {Side} side */
function endsOf(side) {
  /** @type {Map<string, import("./drawing.js").Arrow[]>} */
  const found = new Map();
  for (const arrow of mapping.value?.arrows ?? []) {
    for (const path of side === "source" ? arrow.sources : arrow.target ? [arrow.target] : []) {
      found.set(keyOf(path), [...(found.get(keyOf(path)) ?? []), arrow]);
    }
  }
  return found;
}

/** @param {Side} side @param {string} key @param {boolean} [open] */
export function unfold(side, key, open = true) {
  const keys = new Set(unfolded[side].value);
  const node = open ? trees.value[side]?.node(pathOf(key)) : null;
  if (node && isLeaf(node)) loadValues(side, node);
  if (open) keys.add(key);
  else keys.delete(key);
  unfolded[side].value = keys;
}

/** Show a box that was drawn open, and its members, which were, folded. @param {Side} side @param {string} box @param {Node[]} members */
export function unfoldBox(side, box, members) {
  const keys = new Set(unfolded[side].value);
  for (const member of members) keys.delete(member.key);
  unfolded[side].value = keys.add(box);
}

/** Unfold what is above a node, put the cursor on it, and scroll there. @param {Side} side @param {string[]} path */
export function reveal(side, path) {
  const tree = trees.value[side];
  if (!tree) return;
  batch(() => {
    unfolded[side].value = new Set([...unfolded[side].value, ...tree.above(path)]);
    cursor[side].value = keyOf(path);
  });
  scrollTo(side, keyOf(path));
}

/** Scroll as little as is needed for a row to be seen. @param {Side} side @param {string} key */
export function scrollTo(side, key) {
  const place = places[side].value.get(key);
  if (place === undefined) return;
  const top = place * ROW;
  const now = scrolled[side].value;
  if (top < now) scrolled[side].value = Math.max(0, top - ROW);
  else if (top + ROW > now + height[side].value) scrolled[side].value = top + 2 * ROW - height[side].value;
}

/** Unfold level by level as long as not too many rows come of it; last what has attributes alone. @param {Side} side
 * @param {number} [most] */
export function unfoldAll(side, most = 2000) {
  const tree = trees.value[side];
  if (!tree) return;
  const open = new Set([""]);
  /** @type {Node[]} */
  const values = [];
  let level = tree.children(tree.root);
  let count = 1 + level.length;
  while (level.length || values.length) {
    /** @type {Node[]} */
    const next = [];
    for (const node of level.length ? level : values.splice(0)) {
      if (!node.expandable || node.kind === "member" || isLeaf(node)) continue;
      if (level.length && !node.element?.children.length) {
        values.push(node);
        continue;
      }
      const below = tree.children(node);
      if (count + below.length > most) continue;
      count += below.length;
      open.add(node.key);
      next.push(...below);
    }
    level = next;
  }
  unfolded[side].value = open;
}

/** @param {Side} side */
export function foldAll(side) {
  unfolded[side].value = new Set([""]);
  cursor[side].value = "";
  scrolled[side].value = 0;
}

/** The siblings from one row to another: those below their common parent that lie between. @param {Side} side
 * @param {string} from @param {string} to @returns {Node[]} */
export function siblingsBetween(side, from, to) {
  const tree = trees.value[side];
  const list = rows[side].value;
  const begin = places[side].value.get(from);
  const end = places[side].value.get(to);
  if (!tree || begin === undefined || end === undefined) return [];
  const [first, last] = begin <= end ? [begin, end] : [end, begin];
  const shown = list.slice(first, last + 1);
  const depth = Math.min(...shown.map((row) => row.depth));
  const parent = shown.find((row) => row.depth === depth)?.node.path.slice(0, -1) ?? [];
  return shown
    .filter((row) => row.depth === depth && keyOf(row.node.path.slice(0, -1)) === keyOf(parent))
    .map((row) => row.node)
    .filter((node) => (node.kind === "element" || node.kind === "leaf") && isBelow(node.path, parent));
}

/** Show a mapping anew: both trees unfolded as far as they are small. */
function lookAnew() {
  batch(() => {
    for (const side of SIDES) {
      cursor[side].value = "";
      scrolled[side].value = 0;
      marked[side].value = new Set();
      unfoldAll(side, 300);
    }
    picked.value = null;
    hovered.value = null;
    ghost.value = null;
  });
}

/** Which drawing the trees were unfolded for. */
let shown = -1;

/** Unfold the trees of a drawing once they are there. @returns {boolean} whether they are there for the first time */
export function lookAtNew() {
  const one = drawing.value;
  if (!one || one.id === shown || !trees.value.source || !trees.value.target) return false;
  shown = one.id;
  lookAnew();
  return true;
}
