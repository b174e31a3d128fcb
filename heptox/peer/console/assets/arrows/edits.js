// A gesture on the drawing is a change of the mapping's text: the text is the mapping, and the only history.

/** @typedef {{from: number, to: number, insert: string}} Change */
/** @typedef {"source" | "target"} Side */

const SCHEMA = /^\s*(source|target)\s+"/;
const NAMESPACE = /^\s*(?:(?:source|target)\s+)?namespace\s+[^\s=]+\s*=/;
const DECLARATION = /^\s*(?:(?:source|target)\s+(?:box|key|reference)|source\s+join)\b(?!\s*(?:->|=>|\/))/;
const BOX = /^\s*(?:source|target)\s+box\b(?!\s*(?:->|=>|\/))/;

/** What a line of a mapping is. @param {string} line @returns {"schema" | "namespace" | "box" | "declaration" | "arrow" | "other"} */
function kindOf(line) {
  const code = line.replace(/#.*$/, "");
  if (NAMESPACE.test(code)) return "namespace";
  if (SCHEMA.test(code)) return "schema";
  if (BOX.test(code)) return "box";
  if (DECLARATION.test(code)) return "declaration";
  return /[-=]>/.test(code) ? "arrow" : "other";
}

/** The text of a new mapping. @param {{file: string, root: string}} source @param {{file: string, root: string}} target */
export function newText(source, target) {
  return `source "${source.file}" root ${source.root}\ntarget "${target.file}" root ${target.root}\n`;
}

/** Where the last line of some kinds ends, so that another can follow it; `null` where there is none.
 * @param {string} text @param {string[]} kinds @returns {{end: number, line: string} | null} */
function last(text, kinds) {
  let found = null;
  let offset = 0;
  for (const line of text.split("\n")) {
    offset += line.length + 1;
    if (kinds.includes(kindOf(line))) found = { end: offset - 1, line };
  }
  return found;
}

/** A line after the last of some kinds, else at the end after an empty line.
 * @param {string} text @param {string} line @param {string[]} after @returns {Change} */
function appended(text, line, after) {
  const place = last(text, after);
  if (place) return { from: place.end, to: place.end, insert: `\n${line}` };
  const end = text.replace(/\s+$/, "").length;
  return { from: end, to: text.length, insert: `${end ? "\n\n" : ""}${line}\n` };
}

/** Declarations of prefixes, after those that there are or the schemas.
 * @param {string} text @param {Partial<Record<Side, Record<string, string>>>} needed @returns {Change[]} */
export function addNamespaces(text, needed) {
  const place = last(text, ["schema", "namespace"]);
  const lines = Object.entries(needed).flatMap(([side, bound]) =>
    Object.entries(bound ?? {}).map(([prefix, namespace]) => `\n${side} namespace ${prefix} = "${namespace}"`));
  return place && lines.length ? [{ from: place.end, to: place.end, insert: lines.join("") }] : [];
}

/** A new arrow, after the last one and aligned with it.
 * @param {string} text @param {string} source @param {string} target @param {boolean} copies @returns {Change} */
export function addArrow(text, source, target, copies) {
  const sign = copies ? "=>" : "->";
  const before = last(text, ["arrow"])?.line ?? "";
  const column = /^(.*?)\s[-=]>/.exec(before)?.[1]?.length ?? 0;
  return appended(text, `${source.padEnd(column)} ${sign} ${target}`, ["arrow"]);
}

/** A line as it is, after the last arrow. @param {string} text @param {string} line @returns {Change} */
export function addLine(text, line) {
  return appended(text, line, [kindOf(line)]);
}

/** A new box, after the last one or the other declarations.
 * @param {string} text @param {Side} side @param {string} name @param {string} parent written, empty for the root
 * @param {string[]} members @returns {Change} */
export function addBox(text, side, name, parent, members) {
  const line = `${side} box ${name} = ${parent ? `${parent}/` : ""}(${members.join(" | ")})`;
  if (last(text, ["box"])) return appended(text, line, ["box"]);
  const place = last(text, ["schema", "namespace"]);
  if (!place) return appended(text, line, []);
  const follows = text.slice(place.end).trim() ? "" : "\n";
  return { from: place.end, to: place.end, insert: `\n\n${line}${follows}` };
}

/** Without some lines, counted from 1. @param {string} text @param {number[]} numbers @returns {Change[]} */
export function removeLines(text, numbers) {
  /** @type {Change[]} */
  const changes = [];
  let offset = 0;
  text.split("\n").forEach((line, place) => {
    const end = Math.min(offset + line.length + 1, text.length);
    if (numbers.includes(place + 1)) changes.push({ from: offset, to: end, insert: "" });
    offset += line.length + 1;
  });
  return changes;
}

/** The lines that speak of a box: its own, those of boxes in it, and those of arrows to any of them.
 * @param {string} text @param {Side} side @param {string} name @returns {number[]} */
export function linesOfBox(text, side, name) {
  const lines = text.split("\n").map((line) => line.replace(/#.*$/, ""));
  const names = [name];
  for (const inside of names) {
    const inner = new RegExp(`^\\s*${side}\\s+box\\s+(\\S+)\\s*=\\s*\\[${escaped(inside)}\\]`);
    for (const line of lines) {
      const found = inner.exec(line)?.[1];
      if (found && !names.includes(found)) names.push(found);
    }
  }
  const speaks = lines.map((line) => {
    const [source, target] = line.split(/[-=]>/);
    const end = (side === "source" ? source : target)?.trim() ?? "";
    return names.some((one) => new RegExp(`^\\s*${side}\\s+box\\s+${escaped(one)}\\s*=`).test(line)
      || (kindOf(line) === "arrow" && (end === `[${one}]` || end.startsWith(`[${one}]/`))));
  });
  return speaks.flatMap((found, place) => (found ? [place + 1] : []));
}

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The signs of arrows that follow each other line by line below each other.
 * @param {string} text @returns {Change[]} */
export function align(text) {
  const lines = text.split("\n");
  /** @type {Change[]} */
  const changes = [];
  let offset = 0;
  /** @type {{offset: number, line: string, parts: RegExpExecArray}[]} */
  let block = [];
  const close = () => {
    const width = Math.max(0, ...block.map(({ parts }) => (parts[1] ?? "").length));
    for (const { offset: from, line, parts } of block) {
      const insert = `${(parts[1] ?? "").padEnd(width)} ${parts[2]} ${parts[3]}`;
      if (insert !== line) changes.push({ from, to: from + line.length, insert });
    }
    block = [];
  };
  for (const line of lines) {
    const parts = kindOf(line) === "arrow" ? /^\s*(\S+)\s*([-=]>)\s*(.*)$/.exec(line) : null;
    if (parts) block.push({ offset, line, parts });
    else close();
    offset += line.length + 1;
  }
  close();
  return changes;
}
