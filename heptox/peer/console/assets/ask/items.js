// Items of answers: read as XML by a reader of our own, since a browser's makes documents of them. What is no item as a
// peer writes them is shown as the text that it is.

import { NAME } from "./names.js";

/**
 * @typedef {{name: string, attributes: [string, string][], content: (Element | string)[]}} Element
 * @typedef {[kind: string, text: string][]} Line a line by pieces, each with what it is
 */

const STEP = `(?:${NAME}:)?${NAME}`;
const TAG_NAME = new RegExp(STEP, "uy");
const ATTRIBUTE = new RegExp(`\\s+(${STEP})\\s*=\\s*("[^"<]*"|'[^'<]*')`, "uy");
const TAG_END = /\s*(\/?)>/y;
const END_TAG = new RegExp(`</(${STEP})\\s*>`, "uy");
const TEXT = /[^<]+/y;
const REFERENCE = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([\da-f]{1,6}));|&/gi;
const NO_CHARACTER = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Cs}/u;
/** @type {Record<string, string>} */
const NAMED = { lt: "<", gt: ">", amp: "&", quot: "\"", apos: "'" };
const ALONE = new RegExp(`^((?:Q\\{[^{}"<]*\\})?${STEP})="([^"<]*)"$`, "u");
/** What declares a namespace is no attribute. */
const DECLARES = /^xmlns(?::|$)/;
/** How deep an item may be to be shown as XML. */
const DEEPEST = 200;
/** Characters of a value in one line, where items are written as XML. */
const WIDEST = 1000;

/** Characters of an item that is looked into to be shown: a longer one is shown as its text, and the page stays quick. */
const LONGEST = 200_000;

/** Where an item is no XML. */
class Unread extends Error {}

/** @param {string} text @returns {string} */
function resolved(text) {
  return text.replace(REFERENCE, (_, name, decimal, hexadecimal) => {
    if (name) return NAMED[name] ?? unread();
    if (!decimal && !hexadecimal) return unread();
    const number = decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16);
    const found = number > 0 && number <= 0x10ffff ? String.fromCodePoint(number) : unread();
    return NO_CHARACTER.test(found) ? unread() : found;
  });
}

/** @returns {never} */
function unread() {
  throw new Unread();
}

/** @param {RegExp} pattern @param {string} text @param {number} at */
function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The element that an item is, or null: it is none, or not as a peer writes one. @param {string} item @returns {Element | null} */
export function elementOf(item) {
  if (!item.startsWith("<") || NO_CHARACTER.test(item)) return null;
  try {
    return read(item);
  } catch (error) {
    if (error instanceof Unread) return null;
    throw error;
  }
}

/** As elementOf, to be shown. @param {string} item @returns {Element | null} */
export const shownElement = (item) => (item.length > LONGEST ? null : elementOf(item));

/** @param {string} item @returns {Element} */
function read(item) {
  /** @type {Element} */
  const around = { name: "", attributes: [], content: [] };
  const open = [around];
  let at = 0;
  while (at < item.length) {
    const inside = open.at(-1) ?? unread();
    const text = matchAt(TEXT, item, at);
    const end = text ? null : matchAt(END_TAG, item, at);
    if (text) {
      if (inside === around) return unread();
      inside.content.push(resolved(text[0]));
      at += text[0].length;
    } else if (end) {
      if (end[1] !== inside.name || open.length === 1) return unread();
      open.pop();
      at += end[0].length;
    } else {
      const [element, after, empty] = startTag(item, at);
      if (inside === around && around.content.length) return unread();
      inside.content.push(element);
      if (!empty) open.push(element);
      if (open.length > DEEPEST) return unread();
      at = after;
    }
  }
  const [root] = around.content;
  return open.length === 1 && root && typeof root !== "string" ? root : unread();
}

/** @param {string} item @param {number} at @returns {[Element, number, boolean]} */
function startTag(item, at) {
  const name = matchAt(TAG_NAME, item, at + 1) ?? unread();
  at = TAG_NAME.lastIndex;
  /** @type {[string, string][]} */
  const attributes = [];
  for (let found = matchAt(ATTRIBUTE, item, at); found; found = matchAt(ATTRIBUTE, item, at)) {
    attributes.push([found[1] ?? "", resolved((found[2] ?? "").slice(1, -1))]);
    at = ATTRIBUTE.lastIndex;
  }
  const end = matchAt(TAG_END, item, at) ?? unread();
  if (new Set(attributes.map(([one]) => one)).size < attributes.length) unread();
  return [{ name: name[0], attributes, content: [] }, TAG_END.lastIndex, end[1] === "/"];
}

/**
 * The values of an item by where they stand: paths below its element, or the element's name where it is a leaf itself.
 * @param {string} item @param {Element | null} element the item, read @returns {[string, string][]}
 */
export function leavesOf(item, element) {
  if (!element) {
    const alone = ALONE.exec(item);
    return [alone ? [`@${alone[1]}`, attributeValue(alone[2] ?? "")] : ["value", item]];
  }
  /** @type {[string, string][]} */
  const leaves = [];
  gather(element, "", leaves);
  return leaves;
}

/** @param {string} text */
function attributeValue(text) {
  try {
    return resolved(text);
  } catch {
    return text;
  }
}

/** @param {Element} element @param {string} path @param {[string, string][]} leaves */
function gather(element, path, leaves) {
  const below = (/** @type {string} */ step) => (path ? `${path}/${step}` : step);
  for (const [name, value] of element.attributes) if (!DECLARES.test(name)) leaves.push([below(`@${name}`), value]);
  const text = element.content.filter((part) => typeof part === "string").join("");
  if (element.content.every((part) => typeof part === "string")) {
    leaves.push([path || element.name, text]);
    return;
  }
  if (text.trim()) leaves.push([below("text()"), text.trim()]);
  for (const part of element.content) if (typeof part !== "string") gather(part, below(part.name), leaves);
}

/** An item in lines as people write XML; white space between elements is theirs to give. @param {string} item @returns {Line[]} */
export function linesOf(item) {
  const element = shownElement(item);
  /** @type {Line[]} */
  const lines = [];
  if (element) write(element, "", lines);
  else for (const line of item.split("\n")) lines.push(...wrapped([["text", line]]));
  return lines;
}

/** @param {Element} element @param {string} indent @param {Line[]} lines */
function write(element, indent, lines) {
  const start = [...tag(element, indent)];
  const parts = element.content;
  if (!parts.length) {
    lines.push(...wrapped([...start, ["tag", "/>"]]));
  } else if (parts.every((part) => typeof part === "string")) {
    const text = escaped(parts.join("")).replace(/\s+/g, " ");
    lines.push(...wrapped([...start, ["tag", ">"], ["text", text], ["tag", `</${element.name}>`]]));
  } else {
    lines.push(...wrapped([...start, ["tag", ">"]]));
    for (const part of parts) {
      if (typeof part !== "string") write(part, `${indent}  `, lines);
      else if (part.trim()) lines.push(...wrapped([["text", `${indent}  ${escaped(part.trim()).replace(/\s+/g, " ")}`]]));
    }
    lines.push([["tag", `${indent}</${element.name}>`]]);
  }
}

/** @param {Element} element @param {string} indent @returns {Line} */
function tag(element, indent) {
  /** @type {Line} */
  const attributes = element.attributes.flatMap(([name, value]) => [["attribute", ` ${name}=`], ["value", `"${escaped(value, true)}"`]]);
  return [["tag", `${indent}<${element.name}`], ...attributes];
}

/** A line, or several where it is too wide. @param {Line} line @returns {Line[]} */
function wrapped(line) {
  if (line.reduce((sum, [, text]) => sum + text.length, 0) <= WIDEST) return [line];
  /** @type {Line[]} */
  const lines = [[]];
  let room = WIDEST;
  for (const [kind, text] of line) {
    for (let rest = text; rest;) {
      lines.at(-1)?.push([kind, rest.slice(0, room)]);
      const taken = Math.min(room, rest.length);
      rest = rest.slice(taken);
      room -= taken;
      if (room === 0) {
        lines.push([]);
        room = WIDEST;
      }
    }
  }
  return lines.filter((one) => one.length);
}

/** @param {string} text @param {boolean} [quoted] */
export function escaped(text, quoted = false) {
  const found = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\r", "&#13;");
  return quoted ? found.replaceAll("\"", "&quot;").replaceAll("\n", "&#10;").replaceAll("\t", "&#9;") : found;
}

/** A text of which nothing is left that XML has no place for. @param {string} text */
export const written = (text) => escaped(text.replace(new RegExp(NO_CHARACTER.source, "gu"), "\ufffd"), true);

/** Items as one XML document, each with where it came from. @param {import("./answer.js").Row[]} rows @param {string} query */
export function documentOf(rows, query) {
  const answers = rows.map(({ item, origin, repeated, element }) => {
    const from = `peer="${written(origin.peer)}" path="${written(origin.path.join(" > "))}"`;
    return `  <item ${from}${repeated ? " repeated=\"true\"" : ""}>${element ?? elementOf(item) ? item : written(item)}</item>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<answer query="${written(query)}">\n${answers.join("")}</answer>\n`;
}
