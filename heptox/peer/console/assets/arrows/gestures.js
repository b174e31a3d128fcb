// What a person does with two nodes, by the mouse or the keyboard.
import { signal } from "../libraries.js";
import { isBelow, keyOf, selectionStep } from "../schema.js";
import { say } from "../shell.js";
import { drawArrow, erase, eraseBox, mapping, pending, selected, trees } from "./drawing.js";
import { ends, marked, other, panel, picked, reveal, unfold } from "./view.js";

/** @typedef {import("./view.js").Side} Side @typedef {import("./view.js").Node} Node */

/** Whether the keyboard is to come to the form, as soon as it is there. */
export const editing = signal(false);
/** @type {import("../libraries.js").Signal<{side: Side, members: Node[]} | null>} siblings around which a box is to be drawn */
export const boxing = signal(null);

/** Whether a node is copied whole where an arrow joins it; what has attributes besides its text is a value. @param {Node} node */
const isInner = (node) => node.kind === "root" || (node.kind === "element" && !(node.element?.text && !node.element.children.length));

/** What an arrow calls a node. @param {Node} node */
export const called = (node) => node.path.join("/") || node.label;

/** Draw an arrow between nodes of the two sides, whichever comes first. @param {{side: Side, node: Node}} one @param {{side: Side, node: Node}} two */
export function join(one, two) {
  const [source, target] = one.side === "source" ? [one.node, two.node] : [two.node, one.node];
  if (source.kind === "root" || target.kind === "root") {
    say("no arrow leads from a root or to one: its leaves have arrows of their own");
    return;
  }
  drawArrow(source.path, target.path, isInner(source) && isInner(target));
}

/** Take an end of an arrow, or join it with the one that was taken. @param {Side} side @param {Node} node */
export function pick(side, node) {
  if (node.kind === "value") {
    select(side, node);
    return;
  }
  const before = picked.value;
  if (before && before.side !== side) {
    join(before, { side, node });
    picked.value = null;
  } else {
    picked.value = { side, node };
    say(`an arrow ${side === "source" ? "from" : "to"} ${called(node)}: choose its other end in the ${other(side)} schema`);
  }
}

/** Mark a sibling for a box, or take the mark away. @param {Side} side @param {Node} node */
export function mark(side, node) {
  if (node.kind !== "element" && node.kind !== "leaf" && node.kind !== "value") return;
  const parent = keyOf(node.path.slice(0, -1));
  const keys = new Set([...marked[side].value].filter((key) => keyOf(key.split("\n").slice(0, -1)) === parent));
  if (keys.has(node.key)) keys.delete(node.key);
  else keys.add(node.key);
  marked[side].value = keys;
  say(keys.size ? `${keys.size} marked for a ${node.kind === "value" ? "selection" : "box"}` : "nothing is marked");
}

/** Remove what is selected: the arrow, or else the only one at a node, or a box. @param {Side} side @param {Node} node */
export function remove(side, node) {
  const here = ends[side].value.get(node.key) ?? [];
  const chosen = here.find((arrow) => arrow.line === selected.value) ?? (here.length === 1 ? here[0] : undefined);
  if (node.selection && pending[side].value.includes(node.selection)) {
    pending[side].value = pending[side].value.filter((one) => one !== node.selection);
    reveal(side, node.path.slice(0, -1));
    say(`${node.label} is no node of its own any more`);
  } else if (node.kind === "box" && chosen?.line !== selected.value) eraseBox(side, node.label.slice(1, -1));
  else if (chosen) erase([chosen.line]);
  else if (here.length) nextArrow(side, node);
  else say("no arrow is here");
}

/** Select the next arrow at a node. @param {Side} side @param {Node} node */
export function nextArrow(side, node) {
  const here = ends[side].value.get(node.key) ?? [];
  if (!here.length) {
    say("no arrow is here");
    return;
  }
  const place = here.findIndex((arrow) => arrow.line === selected.value);
  const next = here[(place + 1) % here.length];
  selected.value = next?.line ?? null;
  const line = mapping.value?.statements.find((statement) => statement.line === next?.line);
  say(`${line?.text} (${place + 2 > here.length ? 1 : place + 2} of ${here.length} here; e edits it, Delete removes it)`);
}

/** Go to the form of the arrow that is selected, or else of the next one at a node. @param {Side} side @param {Node} node */
export function editArrow(side, node) {
  if (selected.value === null) nextArrow(side, node);
  if (selected.value === null) return;
  panel.value = "Form";
  editing.value = true;
}

/**
 * Select the nodes that have a value: they are a node of their own, beside the one that they are selected from.
 * @param {Side} side @param {Node} value, or all that are marked beside it @param {Node | null} [onto] the nearest node that repeats,
 * at that or above it: where the value is dropped, or else at its leaf
 */
export function select(side, value, onto = null) {
  const tree = trees.value[side];
  const leaf = tree?.node(value.path.slice(0, -1));
  if (!tree || !leaf) return;
  const path = leaf.path;
  /** @param {Node} node */
  const downTo = (node) => node.path.map((_, place) => tree.node(node.path.slice(0, place + 1))).filter((one) => one !== null);
  /** @param {Node} node */
  const repeats = (node) => node.cardinality === "*" || node.cardinality === "+";
  const node = downTo(onto && onto.kind !== "value" ? onto : leaf).findLast(repeats);
  if (!node || node.kind === "box" || node.kind === "member" || !isBelow(tree.plain(path), tree.plain(node.path))) {
    say(`no node is selected by it: it is dropped on one that repeats, at ${called(leaf)} or above it`);
    return;
  }
  const among = downTo(leaf).slice(node.path.length).find(repeats);
  if (among) {
    say(`${called(among)} repeats below ${called(node)}, which has several: drop it there`);
    return;
  }
  const chosen = marked[side].value.has(value.key) ? tree.children(leaf).filter((one) => marked[side].value.has(one.key)) : [value];
  const below = path.slice(node.path.length);
  const before = node.selection?.tests ?? [];
  const same = before.find((test) => test.test === "=" && keyOf(test.leaf) === keyOf(below));
  const compared = { test: "=", leaf: below, values: [...new Set([...(same?.values ?? []), ...chosen.map((one) => one.label)])].sort() };
  if (compared.values.some((one) => /[\r\n]/.test(one))) {
    say("a value with a line end cannot be written in a mapping");
    return;
  }
  /** @param {import("../schema.js").Condition} test */
  const order = ({ test, leaf }) => [test, ...leaf].join("\n");
  const tests = [...before.filter((test) => test !== same), compared].sort((one, two) => (order(one) < order(two) ? -1 : 1));
  const name = node.selection?.name ?? node.label;
  const selection = { path: [...node.path.slice(0, -1), selectionStep(name, tests)], name, tests };
  pending[side].value = [...pending[side].value.filter((one) => one !== node.selection && keyOf(one.path) !== keyOf(selection.path)), selection];
  marked[side].value = new Set();
  reveal(side, selection.path);
  unfold(side, keyOf(selection.path));
  say(`${called({ ...node, path: selection.path })} is a node of its own: draw arrows from it`);
}
