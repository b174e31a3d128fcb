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

// -- the parts of an arrow -------------------------------------------------------------------------------------------

/**
 * @typedef {"both" | "along" | "against"} Reading
 * @typedef {{kind: string, begin: number, end: number, node: string}} Part of an arrow's line
 * @typedef {{changes: Change[], parts: Part[]}} Written changes in the line, and where its parts are then
 */

const ELSE = " else ()";
const INVERSE = " inverse ";
const READINGS = { both: "", along: " oneway", against: " mirrored" };

/** @param {Part[]} parts @param {string} kind @returns {Part} */
const partOf = (parts, kind) => parts.find((part) => part.kind === kind) ?? { kind, begin: 0, end: 0, node: "" };

/** Where an arrow ends, and its last inverse. @param {Part[]} parts */
const endOf = (parts) => Math.max(...parts.filter(({ kind }) => kind === "target" || kind === "inverse").map(({ end }) => end));

/** A part that could be there: a condition of the value, or one inverse more. @param {Part[]} parts @param {"condition" | "inverse"} kind @returns {Part} */
export function absentPart(parts, kind) {
  const place = kind === "inverse" ? endOf(parts) : partOf(parts, "value").begin;
  return { kind, begin: place, end: place, node: "" };
}

/** What a form shows of a part: conditions without their brackets. @param {string} line @param {Part} part */
export const partText = (line, part) => line.slice(part.begin, part.end).replace(part.kind === "conditions" ? /^\[|\]$/g : /^$/, "");

/** The parts of a line after a change: `holds` says whether one that ends there, or begins there, has what is inserted.
 * @param {Part[]} parts @param {Change} change @param {(part: Part) => boolean} holds @param {boolean} [moves] whether the others that
 * begin there move on @returns {Part[]} */
function partsAfter(parts, { from, to, insert }, holds, moves = from < to) {
  const by = insert.length - (to - from);
  return parts.map((part) => {
    const begin = part.begin > to || (part.begin === to && moves && !holds(part)) ? part.begin + by : Math.min(part.begin, from);
    const end = part.end > to || (part.end === to && (holds(part) || begin > part.begin)) ? part.end + by : Math.min(part.end, from);
    return { ...part, begin, end };
  });
}

/** Another text for a part of a line, which need not be there before, nor afterwards.
 * @param {string} line @param {Part[]} parts @param {Part} part @param {string} written @returns {Written} */
export function writtenPart(line, parts, part, written) {
  const isThere = parts.includes(part);
  if (!isThere && !written) return { changes: [], parts };
  const [value, source] = [partOf(parts, "value"), partOf(parts, "source")];
  /** @param {number} from @param {number} to @param {string} insert */
  const put = (from, to, insert) => ({ from, to, insert });
  /** @param {Part} one */
  const isSource = (one) => one.kind === "source";
  if (part.kind === "condition" && !isThere) {
    const [before, after] = [put(value.begin, value.begin, `if (${written}) then `), put(value.end, value.end, ELSE)];
    const begin = value.begin + before.insert.indexOf("(") + 1;
    const end = value.end + before.insert.length + ELSE.length;
    return { changes: [before, after], parts: [{ ...part, begin, end: begin + written.length },
      ...partsAfter(partsAfter(parts, after, isSource), before, isSource, true), { kind: "otherwise", begin: end - 2, end, node: "" }] };
  }
  if (part.kind === "condition" && !written && partText(line, partOf(parts, "otherwise")) === "()") {
    const changes = [put(source.begin, value.begin, ""), put(value.end, source.end, "")];
    const kept = parts.filter((one) => isSource(one) || one.begin >= source.end || (one.begin >= value.begin && one.end <= value.end));
    return { changes, parts: changes.reduceRight((found, change) => partsAfter(found, change, isSource), kept) };
  }
  if (part.kind === "inverse" && !isThere) {
    const begin = part.begin + INVERSE.length;
    return { changes: [put(part.begin, part.begin, INVERSE + written)], parts: [...parts, { ...part, begin, end: begin + written.length }] };
  }
  if (part.kind === "inverse" && !written) {
    const removed = put(endOf(parts.slice(0, parts.indexOf(part))), part.end, "");
    return { changes: [removed], parts: partsAfter(parts.filter((one) => one !== part), removed, isSource) };
  }
  const changed = put(part.begin, part.end, part.kind === "conditions" && written ? `[${written}]` : written);
  /** @param {Part} one */
  const holds = (one) => one === part || (one.begin <= part.begin && one.end >= part.end && one.begin < one.end);
  return { changes: [changed], parts: partsAfter(parts.filter((one) => holds(one) || one.end < part.begin || one.begin > part.end), changed, holds) };
}

/** Another kind of arrow, or another reading. @param {string} line @param {Part[]} parts @param {string} kind @param {Reading} reading @returns {Change[]} */
export function writtenKind(line, parts, kind, reading) {
  const [source, target] = [partOf(parts, "source"), partOf(parts, "target")];
  const [before, between, behind] = [line.slice(0, source.begin), line.slice(source.end, target.begin), line.slice(endOf(parts))];
  const wanted = {
    before: before.replace(/each\s+$/, "") + (kind === "each" ? "each " : ""),
    between: between.replace(/[-=]>/, kind === "copy" ? "=>" : "->"),
    behind: behind.replace(/^(\s+(oneway|mirrored))?/, READINGS[reading]),
  };
  return [
    { from: 0, to: source.begin, insert: wanted.before },
    { from: source.end, to: target.begin, insert: wanted.between },
    { from: endOf(parts), to: line.length, insert: wanted.behind },
  ].filter(({ from, to, insert }) => line.slice(from, to) !== insert);
}
