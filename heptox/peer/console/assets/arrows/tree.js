// One schema as a tree: its rows, and what the keyboard does there.
import { html, signal, useEffect, useMemo, useRef } from "../libraries.js";
import { keyOf, pathOf } from "../schema.js";
import { say } from "../shell.js";
import { Text, plain } from "../text.js";
import { mapping, selected, trees } from "./drawing.js";
import { boxing, called, editArrow, mark, nextArrow, pick, remove } from "./gestures.js";
import {
  ROW, cursor, ends, foldAll, height, marked, other, picked, places, reveal, rows, scrollTo, scrolled, side as lastSide, unfold, unfoldAll, unfolded,
} from "./view.js";

/** @typedef {import("./view.js").Side} Side @typedef {import("./view.js").Node} Node @typedef {import("./view.js").Row} Row */

const MARGIN = 6;
/** Rows beyond the edges that are drawn already. */
const FOUND = 200;
/** Characters of a name that are shown. */
const MOST = 200;

/** What the page calls a row. @param {Side} side @param {string} key */
const rowId = (side, key) => `${side}:${key.replaceAll("\n", "/")}`;

/** @param {{side: Side}} props */
export function Tree({ side }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => { height[side].value = element.clientHeight; });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (place.current && Math.abs(place.current.scrollTop - scrolled[side].value) > 1) place.current.scrollTop = scrolled[side].value;
  }, [scrolled[side].value]);
  const list = rows[side].value;
  // while one scrolls, a row that is there already is the same, and is not made again
  const made = useMemo(() => /** @type {Map<number, any>} */ (new Map()), [list]);
  /** @param {Row} row @param {number} place */
  const drawn = (row, place) => {
    const known = made.get(place) ?? html`<${TreeRow} key=${row.node.key} side=${side} row=${row} place=${place} />`;
    made.set(place, known);
    return known;
  };
  const first = Math.max(0, Math.floor(scrolled[side].value / ROW) - MARGIN);
  const last = Math.min(list.length, Math.ceil((scrolled[side].value + height[side].value) / ROW) + MARGIN);
  const name = mapping.value?.[side]?.file ?? side;
  return html`
    <div class="schema">
      <${Search} side=${side} />
      <div class="tree" role="tree" tabindex="0" ref=${place} data-side=${side}
        aria-label=${`The ${side} schema, ${plain(name)}`} aria-activedescendant=${rowId(side, cursor[side].value)}
        onFocus=${() => { lastSide.value = side; }} onKeyDown=${(/** @type {KeyboardEvent} */ event) => key(event, side)}
        onScroll=${(/** @type {Event} */ event) => { scrolled[side].value = /** @type {HTMLElement} */ (event.target).scrollTop; }}>
        <div class="rows" style=${{ height: `${list.length * ROW}px` }}>
          ${list.slice(first, last).map((row, offset) => drawn(row, first + offset))}
        </div>
      </div>
      <${About} side=${side} />
    </div>`;
}

/** @param {{side: Side, row: Row, place: number}} props */
function TreeRow({ side, row, place }) {
  const { node, depth, boxed } = row;
  const open = unfolded[side].value.has(node.key);
  const arrows = ends[side].value.get(node.key) ?? [];
  const chosen = arrows.some((arrow) => arrow.line === selected.value);
  const faulty = arrows.some((arrow) => !arrow.sound);
  const classes = ["node-row", node.kind, ...(node.selection ? ["selection"] : []), ...(boxed ? ["boxed"] : []), ...(cursor[side].value === node.key ? ["cursor"] : []), ...(chosen ? ["chosen"] : []),
    ...(marked[side].value.has(node.key) ? ["marked"] : []), ...(faulty ? ["faulty"] : []),
    ...(picked.value?.side === side && picked.value.node.key === node.key ? ["picked"] : [])];
  return html`
    <div class=${classes.join(" ")} id=${rowId(side, node.key)} role="treeitem" aria-level=${depth + 1} aria-label=${described(side, node, arrows.length)}
      aria-expanded=${node.expandable ? open : undefined} aria-selected=${chosen} data-key=${node.key} data-side=${side}
      title=${plain(node.documentation)} style=${{ top: `${place * ROW}px`, paddingLeft: `${depth * 14 + 6}px` }}>
      <span class="fold" data-fold=${node.expandable ? "" : undefined} aria-hidden="true">${node.expandable ? (open ? "▾" : "▸") : ""}</span>
      <span class="label"><${Text} value=${node.label} most=${MOST} /></span><span class="cardinality">${node.cardinality === "1" ? "" : node.cardinality}</span>
      <${Remarks} side=${side} node=${node} />
      <span class="grow"></span>
      ${side === "target" && arrows.length > 1 && node.kind !== "box" ? html`<span class="remark" title="Several arrows into one leaf are alternatives">${arrows.length} alternatives</span>` : ""}
    </div>`;
}

/** Types, keys, references, members. @param {{side: Side, node: Node}} props */
function Remarks({ side, node }) {
  const told = mapping.value?.[side];
  const reference = told?.references.find((one) => keyOf(one.source) === node.key);
  const key = node.type === "ID" || told?.keys.some((path) => keyOf(path) === node.key);
  const { values } = node;
  const box = node.kind === "box" ? told?.boxes.find((one) => node.key === keyOf([...one.parent, `[${one.name}]`])) : undefined;
  return html`
    ${values.length ? html`<span class="remark" title=${plain(values.join(" | "))}>(<${Text} value=${values.join(" | ")} most=${MOST} />)</span>`
      : node.type && node.type !== "CDATA" ? html`<span class="remark"><${Text} value=${node.type} most=${MOST} /></span>` : ""}
    ${key ? html`<span class="remark key" title="Its value identifies the element above it">key</span>` : ""}
    ${reference ? html`<span class="remark">→ <${Text} value=${reference.target.join("/")} most=${MOST} /></span>` : ""}
    ${box ? html`<span class="remark members"><${Text} value=${box.members.join(" | ")} most=${MOST} /></span>` : ""}
    ${node.kind === "leaf" && !node.type && !values.length ? html`<span class="remark">text</span>` : ""}
    ${node.element?.open ? html`<span class="remark" title="Anything else may stand here as well; no arrow leads into it">anything</span>` : ""}
    ${node.kind === "member" ? html`<span class="remark">this member only</span>` : ""}
    ${node.count === undefined ? "" : html`<span class="remark" title="How often it stands there in the peer's own documents">${node.count.toLocaleString("en")}</span>`}
    ${node.recursive ? html`<span class="remark" title="It contains itself; => copies it whole">recursive</span>` : ""}`;
}

/** What the schema says of the node at the cursor, where it says something of any. @param {{side: Side}} props */
function About({ side }) {
  const tree = trees.value[side];
  if (!tree?.documented) return null;
  const node = tree.node(pathOf(cursor[side].value));
  return html`<p class="about" title=${plain(node?.documentation ?? "", 2000)}><b class="mono"><${Text} value=${node?.label ?? ""} most=${MOST} /></b>
    ${node?.documentation ? html` <${Text} value=${node.documentation} most=${600} />` : html` <span class="faint">nothing is said of it</span>`}</p>`;
}

const OFTEN = { "1": "", "?": ", optional", "*": ", any number", "+": ", one or more" };

/** What a screen reader says of a row. @param {Side} side @param {Node} node @param {number} arrows */
function described(side, node, arrows) {
  const marks = marked[side].value.has(node.key) ? `, marked for a ${node.kind === "value" ? "selection" : "box"}` : "";
  if (node.kind === "value") return `value ${plain(node.label)}${node.count === undefined ? "" : `, ${node.count} times`}${marks}`;
  return `${plain(node.label)}${OFTEN[node.cardinality]}${node.type ? `, ${plain(node.type)}` : ""}${arrows ? `, ${arrows} ${arrows === 1 ? "arrow" : "arrows"}` : ""}${marks}`;
}

// -- search -------------------------------------------------------------------------------------------------------

/** @param {{side: Side}} props */
function Search({ side }) {
  const wanted = useSearch(side);
  const tree = trees.value[side];
  const { nodes: found, all } = useMemo(() => (tree && wanted.value ? tree.search(wanted.value, FOUND) : { nodes: [], all: true }), [tree, wanted.value]);
  /** @param {number} step */
  const go = (step) => {
    if (!found.length) return;
    const here = found.findIndex((node) => node.key === cursor[side].value);
    const next = found[(here + step + found.length) % found.length];
    if (next) reveal(side, next.path);
    const number = next ? found.indexOf(next) + 1 : 0;
    say(`${number} of ${all ? "" : "the first "}${found.length}: ${next ? called(next) : ""}`);
  };
  /** @param {KeyboardEvent} event */
  const press = (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      wanted.value = "";
      focusTree(side);
    } else if (event.key === "ArrowDown") focusTree(side);
    else return;
    event.preventDefault();
  };
  return html`
    <div class="search">
      <input type="search" id=${`search-${side}`} placeholder=${`${side}: ${plain(tree?.root.label ?? "…")}  (press / to search)`} aria-label=${`Search the ${side} schema`}
        value=${wanted.value} onKeyDown=${press}
        onInput=${(/** @type {Event} */ event) => {
          wanted.value = /** @type {HTMLInputElement} */ (event.target).value;
        }} />
      ${wanted.value ? html`<span class="faint" role="status">${found.length}${all ? "" : "+"} found</span>` : ""}
      <button class="quiet" onClick=${() => unfoldAll(side)} title="Unfold all, as far as it is not too much" aria-label=${`Unfold the ${side} schema`}>▾▾</button>
      <button class="quiet" onClick=${() => foldAll(side)} title="Fold all" aria-label=${`Fold the ${side} schema`}>▸</button>
    </div>`;
}

const searches = { source: signal(""), target: signal("") };
/** @param {Side} side */
const useSearch = (side) => searches[side];

// -- keyboard -----------------------------------------------------------------------------------------------------

/** @param {Side} side */
export function focusTree(side) {
  /** @type {HTMLElement | null} */ (document.querySelector(`.tree[data-side="${side}"]`))?.focus();
}

/** @param {Side} side @param {string} to the key of a node */
function move(side, to) {
  cursor[side].value = to;
  scrollTo(side, to);
}

/** @param {KeyboardEvent} event @param {Side} side */
function key(event, side) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const list = rows[side].value;
  const here = places[side].value.get(cursor[side].value) ?? 0;
  const row = list[here];
  if (!row) return;
  const { node } = row;
  const page = Math.max(1, Math.floor(height[side].value / ROW) - 1);
  /** @param {number} to */
  const goTo = (to) => move(side, list[Math.min(Math.max(to, 0), list.length - 1)]?.node.key ?? "");
  /** @type {Record<string, () => void>} */
  const commands = {
    ArrowDown: () => goTo(here + 1),
    ArrowUp: () => goTo(here - 1),
    PageDown: () => goTo(here + page),
    PageUp: () => goTo(here - page),
    Home: () => goTo(0),
    End: () => goTo(list.length - 1),
    ArrowRight: () => {
      if (node.expandable && !unfolded[side].value.has(node.key)) unfold(side, node.key);
      else goTo(here + 1);
    },
    ArrowLeft: () => {
      if (unfolded[side].value.has(node.key) && node.key !== "") unfold(side, node.key, false);
      else {
        const above = list.slice(0, here).findLastIndex((one) => one.depth < row.depth);
        if (above >= 0) goTo(above);
      }
    },
    Enter: () => {
      const joins = picked.value !== null && picked.value.side !== side;
      pick(side, node);
      if (!joins && node.kind !== "value") focusTree(other(side));
    },
    " ": () => mark(side, node),
    b: () => boxMarked(side),
    n: () => nextArrow(side, node),
    e: () => editArrow(side, node),
    Delete: () => remove(side, node),
    Backspace: () => remove(side, node),
    Escape: () => {
      picked.value = null;
      selected.value = null;
      marked[side].value = new Set();
      say("");
    },
    "/": () => document.getElementById(`search-${side}`)?.focus(),
  };
  const command = commands[event.key];
  if (!command) return;
  command();
  event.preventDefault();
}

/** @param {Side} side */
function boxMarked(side) {
  const tree = trees.value[side];
  const members = [...marked[side].value].map((one) => tree?.node(one.split("\n"))).filter((node) => node != null && node.kind !== "value");
  if (members.length) boxing.value = { side, members: /** @type {Node[]} */ (members) };
  else say("mark the members of the box first: Space marks a sibling");
}

