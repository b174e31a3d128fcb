// The way of a query through the network as a drawing: a card for each peer on it, from the own peer on the left.
import { html, useMemo, useState } from "../libraries.js";
import { Text, counted, duration, plain } from "../text.js";
import { Code } from "./code.js";
import { Hop } from "./hop.js";
import { Badge } from "./origins.js";
import { Status, meaning, mood } from "./receipt.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./answer.js").Receipt} Receipt
 * @typedef {import("./answer.js").ReceiptLine} ReceiptLine
 * @typedef {{line: ReceiptLine, depth: number, parent: Node | null, children: Node[], row: number}} Node
 */

const WIDTH = 256;
const LOWEST = 132;
const HIGHEST = 300;
/** Characters beside each other in a card, and pixels of a line. */
const ACROSS = 33;
const LINE = 17;
const GAP = 76;
const BELOW = 18;
const EDGE = 12;
const PREFIX = "hop-";

/**
 * The lines of a receipt as a tree. A path tells names only: of two neighbours of one name the first is taken.
 * @param {ReceiptLine[]} lines @returns {Node[]} in the order in which one reads them
 */
export function treeOf(lines) {
  const sorted = [...lines].sort((one, other) => one.path.length - other.path.length);
  /** @type {Map<string, Node>} */
  const known = new Map();
  const roots = [];
  for (const line of sorted) {
    const parent = known.get(line.path.slice(0, -1).join("\n")) ?? null;
    /** @type {Node} */
    const node = { line, depth: line.path.length - 1, parent, children: [], row: 0 };
    if (parent) parent.children.push(node);
    else roots.push(node);
    const key = line.path.join("\n");
    if (!known.has(key)) known.set(key, node);
  }
  /** @type {Node[]} */
  const order = [];
  let row = 0;
  for (const root of roots) row = arrange(root, row, order);
  return order;
}

/** Give a node and those below it their rows; the next one that is free. @param {Node} node @param {number} row @param {Node[]} order */
function arrange(node, row, order) {
  node.row = row;
  order.push(node);
  let next = row;
  for (const child of node.children) next = arrange(child, next, order);
  return Math.max(next, row + 1);
}

/** How tall cards are, so that most texts are seen. @param {Node[]} nodes */
function heightOf(nodes) {
  const lines = nodes.map(({ line }) => line.text.split("\n").reduce((sum, one) => sum + Math.max(1, Math.ceil(one.length / ACROSS)), 0));
  return Math.min(HIGHEST, Math.max(LOWEST, 96 + LINE * Math.max(...lines)));
}

const left = (/** @type {Node} */ node) => EDGE + node.depth * (WIDTH + GAP);
const top = (/** @type {Node} */ node, /** @type {number} */ height) => EDGE + node.row * (height + BELOW);

/** @param {{answer: Answer, receipt: Receipt}} props */
export function Hops({ answer, receipt }) {
  const nodes = useMemo(() => treeOf(receipt.lines), [receipt]);
  const [current, setCurrent] = useState(0);
  const [open, setOpen] = useState(/** @type {Node | null} */ (null));
  const tall = useMemo(() => heightOf(nodes), [nodes]);
  const width = Math.max(...nodes.map(left)) + WIDTH + EDGE;
  const height = Math.max(...nodes.map((node) => top(node, tall))) + tall + EDGE;
  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    const card = event.target instanceof Element && event.target.closest("[role=treeitem]");
    const here = card && nodes[Number(card.id.slice(PREFIX.length))];
    if (!here || open) return;
    const next = neighbour(nodes, here, event.key);
    if (event.key === "Enter" || event.key === " ") setOpen(here);
    else if (next) {
      setCurrent(nodes.indexOf(next));
      document.getElementById(`${PREFIX}${nodes.indexOf(next)}`)?.focus();
    } else return;
    event.preventDefault();
  };
  return html`<div class="scroll hops">
    <div class="drawing" role="tree" aria-label="The way of the query" style=${{ width: `${width}px`, height: `${height}px` }} onKeyDown=${walk}>
      <svg width=${width} height=${height} aria-hidden="true">${nodes.map((node, place) => (node.parent ? html`<${Edge} key=${place} node=${node} parent=${node.parent} tall=${tall} />` : null))}</svg>
      ${nodes.map((node, place) => html`<${Card} key=${place} node=${node} place=${place} tall=${tall} current=${place === current} explained=${answer.explained}
        onOpen=${() => { setCurrent(place); setOpen(node); }} />`)}
    </div>
    <p class="faint padded">Arrow keys walk from peer to peer, Enter opens one.</p>
    ${open ? html`<${Hop} answer=${answer} line=${open.line} onClose=${() => setOpen(null)} />` : null}
  </div>`;
}

/** Where an arrow key leads. @param {Node[]} nodes @param {Node} here @param {string} key @returns {Node | undefined} */
function neighbour(nodes, here, key) {
  const beside = nodes.filter(({ depth }) => depth === here.depth);
  if (key === "ArrowRight") return here.children[0];
  if (key === "ArrowLeft") return here.parent ?? undefined;
  if (key === "ArrowDown") return beside[beside.indexOf(here) + 1];
  if (key === "ArrowUp") return beside[beside.indexOf(here) - 1];
  if (key === "Home") return nodes[0];
  return key === "End" ? nodes.at(-1) : undefined;
}

/** What went along an edge: whether it was asked, and what came back. @param {{node: Node, parent: Node, tall: number}} props */
function Edge({ node, parent, tall }) {
  const from = left(parent) + WIDTH;
  const to = left(node);
  const start = top(parent, tall) + tall / 2;
  const end = top(node, tall) + tall / 2;
  const { line } = node;
  const asked = !["nothing to say", "refused"].includes(line.status);
  const middle = (from + 14 + to) / 2;
  return html`<g class=${`edge ${mood(line)} ${asked ? "" : "unasked"}`}>
    <path d=${`M ${from} ${start} h 10 V ${end} H ${to - 6}`} />
    <path class="tip" d=${`M ${to - 8} ${end - 4} L ${to - 1} ${end} L ${to - 8} ${end + 4} z`} />
    <text x=${middle} y=${end - 7}>${asked ? "asked" : "not asked"}</text>
    ${asked && (mood(line) !== "fault" || line.items) ? html`<text x=${middle} y=${end + 16}>${`← ${line.items.toLocaleString("en")}`}</text>` : null}
  </g>`;
}

/** @param {{node: Node, place: number, tall: number, current: boolean, explained: boolean, onOpen: () => void}} props */
function Card({ node, place, tall, current, explained, onOpen }) {
  const { line } = node;
  const numbers = [counted(line.items, "item"), duration(line.milliseconds), ...(line.losses.length ? [counted(line.losses.length, "loss", "losses")] : [])];
  return html`<article id=${`${PREFIX}${place}`} role="treeitem" class=${`hop ${mood(line)}`} tabindex=${current ? 0 : -1} aria-level=${node.depth + 1}
    aria-selected=${current} aria-label=${plain(`${line.name}: ${line.status}, ${numbers.join(", ")}`)} onClick=${onOpen}
    style=${{ left: `${left(node)}px`, top: `${top(node, tall)}px`, width: `${WIDTH}px`, height: `${tall}px` }}>
    <header><${Badge} ...${line} /><b><${Text} value=${line.name} most=${80} /></b></header>
    <p class="numbers"><${Status} line=${line} /><span class="faint">${numbers.join(" · ")}</span></p>
    ${line.text ? html`<pre><${Code} text=${line.text} /></pre>`
      : html`<p class="faint why">${line.reason ? html`<${Text} value=${line.reason} most=${300} />` : line.losses.length ? html`<${Text} value=${line.losses[0] ?? ""} most=${300} />`
        : explained ? meaning(line.status) : "Its text was not asked for: ask with “Explain”."}</p>`}
  </article>`;
}
