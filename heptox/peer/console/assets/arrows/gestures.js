// What a person does with two nodes, by the mouse or the keyboard.
import { signal } from "../libraries.js";
import { keyOf } from "../schema.js";
import { say } from "../shell.js";
import { drawArrow, erase, eraseBox, mapping, selected } from "./drawing.js";
import { ends, marked, other, picked } from "./view.js";

/** @typedef {import("./view.js").Side} Side @typedef {import("./view.js").Node} Node */

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
  if (node.kind !== "element" && node.kind !== "leaf") return;
  const parent = keyOf(node.path.slice(0, -1));
  const keys = new Set([...marked[side].value].filter((key) => keyOf(key.split("\n").slice(0, -1)) === parent));
  if (keys.has(node.key)) keys.delete(node.key);
  else keys.add(node.key);
  marked[side].value = keys;
  say(keys.size ? `${keys.size} marked for a box` : "nothing is marked");
}

/** Remove what is selected: the arrow, or else the only one at a node, or a box. @param {Side} side @param {Node} node */
export function remove(side, node) {
  const here = ends[side].value.get(node.key) ?? [];
  const chosen = here.find((arrow) => arrow.line === selected.value) ?? (here.length === 1 ? here[0] : undefined);
  if (node.kind === "box" && chosen?.line !== selected.value) eraseBox(side, node.label.slice(1, -1));
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
  say(`${line?.text} (${place + 2 > here.length ? 1 : place + 2} of ${here.length} here; Delete removes it)`);
}
