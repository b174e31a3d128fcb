// The mapping in work: its text, what the peer says of it, and what is done to it.
import { Refused, call, segment, told } from "../api.js";
import { MapMode, batch, computed, effect, isolateHistory, redo, redoDepth, signal, undo, undoDepth } from "../libraries.js";
import { SchemaTree, keyOf } from "../schema.js";
import { say } from "../shell.js";
import { counted } from "../text.js";
import { addArrow, addBox, addLine, addNamespaces, align, linesOfBox, removeLines, writtenKind, writtenPart } from "./edits.js";

/**
 * @typedef {import("./edits.js").Side} Side
 * @typedef {import("../api.js").Fault} Fault
 * @typedef {{line: number, kind: "value" | "copy" | "each", sources: string[][], target: string[] | null, reading: import("./edits.js").Reading, sound: boolean,
 *   parts: import("./edits.js").Part[], carried: number | null, stale?: boolean}} Arrow `stale`: its line has other parts by now
 * @typedef {{name: string, value: string, arrows: number[]}} Value
 * @typedef {{tag: string, arrows: number[], attributes: Value[], content: (Value | ElementModel)[]}} ElementModel
 * @typedef {{text: string, tried: number, held: number, source: ElementModel | null, target: ElementModel | null, faults: Fault[]}} Example
 * @typedef {{text: string, arrows: number[]}} Rule
 * @typedef {{direction: string, text: string, hint: string | null, code: string | null, line: number | null}} Remark
 * @typedef {{file: string | null, root: string, prefixes: import("../schema.js").Prefixes, boxes: (import("../schema.js").Box & {line: number})[], selections: import("../schema.js").Selection[],
 *   own: boolean, keys: string[][], references: {source: string[], target: string[], inferred: boolean}[]}} SideModel
 * @typedef {{source: SideModel | null, target: SideModel | null, statements: {line: number, kind: string, text: string}[],
 *   arrows: Arrow[], faults: Fault[], rules: Rule[], against: Rule[], remarks: Remark[], example: Example | null}} MappingModel
 * @typedef {{id: number, name: string, text: string, files: Record<string, string>, before: string, saved: boolean,
 *   acquaintance: string | null, added: boolean}} Drawing `text` is what the editor began with, `before` what there was before the changes
 *   that would be lost, `saved` whether that is in the peer's folder, `added` whether files came
 *   since then
 */

/** How long the text rests before the peer is asked what it says, and after how long one that was away is asked again. */
const REST = 60;
/** How long the peer took for the last answer, up to a second: what is asked sooner would only wait. */
let lasted = 0;
const AGAIN = 2000;
const KEPT = "heptox-drawing";

/** @type {import("../libraries.js").Signal<Drawing | null>} */
export const drawing = signal(null);
export const text = signal("");
/** @type {import("../libraries.js").Signal<MappingModel | null>} */
export const mapping = signal(null);
/** Whether what is shown of the mapping is what its text says now. */
export const current = signal(true);
/** Whether the peer did not say what the text says. */
export const unchecked = signal(false);
/** @type {import("../libraries.js").Signal<{source: import("../schema.js").Schema | null, target: import("../schema.js").Schema | null}>} */
export const schemas = signal({ source: null, target: null });
/**
 * The document that the mapping is tried on; `null`: one that the peer makes, another for each seed.
 * @type {import("../libraries.js").Signal<{text: string | null, seed: number}>}
 */
export const sample = signal({ text: null, seed: 0 });
export const depths = signal({ undo: 0, redo: 0 });
/** The line of the arrow that is selected. @type {import("../libraries.js").Signal<number | null>} */
export const selected = signal(null);
/** @type {import("../libraries.js").Signal<Fault[]>} */
export const trouble = signal([]);
/** Whether somebody reads the remarks, which take long to be found where schemas are large. */
export const remarking = signal(false);

/** @type {any} the editor's view */
let view = null;
let opened = 0;
/** @type {AbortController | null} */
let asking = null;

export const unsaved = computed(() => drawing.value !== null && (drawing.value.added || text.value !== drawing.value.before));

/** Nodes that were selected by values, and of which no line speaks yet. @type {Record<Side, import("../libraries.js").Signal<import("../schema.js").Selection[]>>} */
export const pending = { source: signal([]), target: signal([]) };
/** Values of leaves in the peer's own documents, by the leaves' keys. @type {Record<Side, import("../libraries.js").Signal<Map<string, import("../schema.js").Values>>>} */
export const values = { source: signal(new Map()), target: signal(new Map()) };

/** @param {Side} side */
function treeOf(side) {
  const schema = schemas.value[side];
  const told = mapping.value?.[side];
  const known = new Set(told?.selections.map((one) => keyOf(one.path)));
  const selections = [...(told?.selections ?? []), ...pending[side].value.filter((one) => !known.has(keyOf(one.path)))];
  return schema && new SchemaTree(schema, told?.boxes, told?.prefixes, selections, values[side].value, told?.own);
}

export const trees = computed(() => ({ source: treeOf("source"), target: treeOf("target") }));

/** The faults of the text itself, and those of the schemas and the whole. */
export const faults = computed(() => mapping.value?.faults ?? []);

// -- opening and keeping ------------------------------------------------------------------------------------------

/** @param {{name: string, text: string, files: Record<string, string>, before?: string, saved?: boolean, acquaintance?: string | null, added?: boolean}} what */
export function open({ name, text: opening, files, before = opening, saved = false, acquaintance = null, added = false }) {
  opened += 1;
  batch(() => {
    drawing.value = { id: opened, name, text: opening, files, before, saved, acquaintance, added };
    for (const side of /** @type {Side[]} */ (["source", "target"])) {
      pending[side].value = [];
      values[side].value = new Map();
    }
    text.value = opening;
    mapping.value = null;
    schemas.value = { source: null, target: null };
    sample.value = { text: null, seed: 0 };
    selected.value = null;
    depths.value = { undo: 0, redo: 0 };
    trouble.value = [];
    unchecked.value = false;
  });
}

/** What was in work when the page was left. */
export function restore() {
  const kept = sessionStorage.getItem(KEPT);
  if (kept) open(JSON.parse(kept));
}

effect(() => {
  if (drawing.value) sessionStorage.setItem(KEPT, JSON.stringify({ ...drawing.value, text: text.value }));
});

/** Another drawing would be lost. */
const LOST = "HX7096";

/** What is saved under which name, and why that is asked about. @type {import("../libraries.js").Signal<{name: string, why: string} | null>} */
export const saving = signal(null);

/** One saving comes after the other, and knows what that has put there. @type {Promise<void>} */
let lastSaving = Promise.resolve();

/**
 * Keep the mapping in the peer's folder. What somebody else has put there is not lost unasked.
 * @param {string} [name] another name than it has @param {boolean} [replacing] whatever is there
 */
export function save(name, replacing = false) {
  const one = drawing.value;
  const kept = text.value;
  if (one) lastSaving = lastSaving.catch(() => {}).then(() => keep(drawing.value?.id === one.id ? drawing.value : one, kept, replacing, name));
}

/** @param {Drawing} one @param {string} kept its text @param {boolean} replacing @param {string} [name] */
async function keep(one, kept, replacing, name = one.name) {
  const same = one.saved && name === one.name;
  const body = { text: kept, files: one.files, new: !same && !replacing, before: same && !replacing ? one.before : null };
  try {
    await call("PUT", `/drawings/${segment(name)}`, body);
    batch(() => {
      const now = drawing.value;
      if (now?.id === one.id) drawing.value = { ...now, name, before: kept, saved: true, added: now.added && now.files !== one.files };
      trouble.value = [];
      saving.value = null;
    });
    say(`${name} is saved in the peer's folder: drawings/${name}/${name}.arrows`);
  } catch (error) {
    if (error instanceof Refused && error.faults.some((fault) => fault.code === LOST)) saving.value = { name, why: error.faults.map((fault) => fault.message).join(" ") };
    else refused(error);
  }
}

/** Show why something was not done. @param {unknown} error */
export function refused(error) {
  if (!(error instanceof Refused)) throw error;
  if (error.status === 401) return; // the page says that its session has ended, and what to do
  trouble.value = error.faults;
  say(error.faults.map(told).join(" "));
}

// -- what the peer says of it -------------------------------------------------------------------------------------

effect(() => {
  const one = drawing.value;
  const body = { text: text.value, files: one?.files, sample: sample.value.text, seed: sample.value.seed, remarks: remarking.value };
  if (!one) return;
  current.value = false;
  const timer = setTimeout(() => examine(body), mapping.peek() ? Math.max(REST, lasted) : 0);
  return () => clearTimeout(timer);
});

/** @param {{text: string}} body */
async function examine(body) {
  asking?.abort();
  const asked = new AbortController();
  asking = asked;
  try {
    const begun = performance.now();
    const found = await call("POST", "/mappings/examine", body, asked.signal);
    lasted = Math.min(performance.now() - begun, 1000);
    const read = { source: await schemaOf(found.source), target: await schemaOf(found.target) };
    if (asked.signal.aborted || body.text !== text.value) return; // it is asked anew
    batch(() => {
      const before = schemas.value;
      // what cannot be read while somebody types stays as it was
      const unread = (mapping.value?.arrows ?? []).filter((arrow) => !found.statements.some((/** @type {{line: number}} */ one) => one.line === arrow.line)
        && found.faults.some((/** @type {Fault} */ fault) => fault.position?.line === arrow.line && fault.position.file === null));
      mapping.value = { ...found, arrows: [...found.arrows, ...unread.map((arrow) => ({ ...arrow, sound: false, carried: null }))] };
      current.value = true;
      if (unchecked.value) trouble.value = [];
      unchecked.value = false;
      schemas.value = { source: read.source ?? before.source, target: read.target ?? before.target };
    });
  } catch (error) {
    if (asked.signal.aborted) return;
    const away = error instanceof Refused && [0, 401].includes(error.status);
    if (!away || !unchecked.value) refused(error); // that it is away is told once
    unchecked.value = true;
    if (away) setTimeout(() => asking === asked && examine(body), AGAIN);
  }
}

/** @type {Map<string, import("../schema.js").Schema>} */
const known = new Map();

/** @param {SideModel | null} side */
async function schemaOf(side) {
  const content = side?.file ? drawing.value?.files[side.file] : undefined;
  if (!side || content === undefined) return null;
  const key = `${side.root}\n${content}`;
  const found = known.get(key) ?? (await call("POST", "/schemas", { text: content, file: side.file, root: side.root }));
  known.set(key, found);
  return found;
}

/** Ask for the values of a leaf in the peer's own documents. @param {Side} side @param {import("../schema.js").Node} leaf */
export async function loadValues(side, leaf) {
  const one = drawing.value;
  const tree = trees.value[side];
  if (!one || !tree?.own) return;
  try {
    const found = await call("POST", "/mappings/values", { text: text.value, files: one.files, side, path: tree.written(leaf.path) });
    if (drawing.value?.id === one.id) values[side].value = new Map(values[side].value).set(leaf.key, found);
    const looked = found.documents < found.held ? ` in ${found.documents} of ${found.held} documents` : "";
    say(found.different > found.values.length ? `the ${found.values.length} most frequent of ${found.different} values${looked}` : `${found.different} values${looked}`);
  } catch (error) {
    refused(error);
  }
}

// -- changes ------------------------------------------------------------------------------------------------------

/** @param {any} editor the view of the editor that holds the text, `null` when it goes */
export function setView(editor) {
  view = editor;
}

/** @param {string} changed @param {any} update the change as the editor has it */
export function edited(changed, update) {
  batch(() => {
    text.value = changed;
    follow(update);
    depths.value = { undo: undoDepth(update.state), redo: redoDepth(update.state) };
  });
}

/** What is known of the mapping goes along with its lines until the peer has said what the text says now: otherwise the
 * next gesture would be about another line. @param {any} update */
function follow(update) {
  /** @param {number} line @returns {number | null} */
  const moved = (line) => {
    if (line > update.startState.doc.lines) return null;
    const { from, to } = update.startState.doc.line(line); // of which the one or the other may be replaced
    const place = update.changes.mapPos(from, 1, MapMode.TrackAfter) ?? update.changes.mapPos(to, -1, MapMode.TrackBefore);
    return place === null ? null : update.state.doc.lineAt(place).number;
  };
  /** @template {{line: number}} T @param {T[]} all @returns {T[]} */
  const kept = (all) => all.flatMap((one) => {
    const line = moved(one.line);
    return line === null ? [] : [{ ...one, line }];
  });
  /** @param {number[]} lines */
  const lines = (lines) => lines.map(moved).filter((line) => line !== null);
  /** @param {SideModel | null} side */
  const sideAfter = (side) => side && { ...side, boxes: kept(side.boxes) };
  const before = mapping.value;
  selected.value = selected.value === null ? null : moved(selected.value);
  if (!before) return;
  mapping.value = {
    ...before,
    source: sideAfter(before.source),
    target: sideAfter(before.target),
    statements: kept(before.statements),
    arrows: kept(before.arrows.map((arrow) => ({ ...arrow, ...partsAfter(arrow, update) }))),
    rules: before.rules.map((rule) => ({ ...rule, arrows: lines(rule.arrows) })),
    against: before.against.map((rule) => ({ ...rule, arrows: lines(rule.arrows) })),
    remarks: before.remarks.map((remark) => ({ ...remark, line: remark.line === null ? null : moved(remark.line) })),
    example: before.example && {
      ...before.example,
      source: before.example.source && withLines(before.example.source, lines),
      target: before.example.target && withLines(before.example.target, lines),
    },
  };
}

/** The parts of an arrow after a change of its line, until the peer has told them. @param {Arrow} arrow @param {any} update */
function partsAfter(arrow, update) {
  if (arrow.line > update.startState.doc.lines) return {};
  const line = update.startState.doc.line(arrow.line);
  if (!update.changes.touchesRange(line.from, line.to)) return {};
  const start = update.state.doc.lineAt(update.changes.mapPos(line.from, -1)).from;
  /** @param {number} place @param {1 | -1} side */
  const moved = (place, side) => Math.max(update.changes.mapPos(line.from + place, side) - start, 0);
  return { stale: true, parts: arrow.parts.map((part) => ({ ...part, begin: moved(part.begin, -1), end: moved(part.end, 1) })) };
}

/** An element with other lines for the arrows that carried what is in it.
 * @param {ElementModel} element @param {(lines: number[]) => number[]} lines @returns {ElementModel} */
function withLines(element, lines) {
  /** @param {Value} value */
  const changed = (value) => ({ ...value, arrows: lines(value.arrows) });
  return {
    ...element,
    arrows: lines(element.arrows),
    attributes: element.attributes.map(changed),
    content: element.content.map((part) => ("tag" in part ? withLines(part, lines) : changed(part))),
  };
}

/** One step that can be undone. @param {import("./edits.js").Change[]} changes @param {string} what it was */
function change(changes, what) {
  if (!view || !changes.length) return;
  view.dispatch({ changes, annotations: isolateHistory.of("full") });
  say(what);
}

/** @param {number} line @returns {string} */
export const lineText = (line) => text.value.split("\n")[line - 1] ?? "";

/** On what the arrows were tried. @param {Example} example */
export const triedOn = ({ tried, held }) => (tried ? `in ${tried < held ? `${tried} of the ` : ""}${counted(held, "document")} of this peer` : "in the example");

/** Changes in a line as such of the text. @param {number} line @param {import("./edits.js").Change[]} changes */
const inLine = (line, changes) => {
  const { from: start } = view.state.doc.line(line);
  return changes.map(({ from, to, insert }) => ({ from: start + from, to: start + to, insert }));
};

/** The part that is being written: what is typed in another one is a step of its own. */
let written = "";

/** Another text for a part of an arrow, as one types it. @param {Arrow} arrow @param {import("./edits.js").Part} part @param {string} content */
export function writePart(arrow, part, content) {
  if (!view || arrow.stale) return;
  const { changes, parts } = writtenPart(lineText(arrow.line), arrow.parts, part, content.replace(/\s*\n\s*/g, " "));
  const begins = written !== `${arrow.line} ${part.kind} ${part.node}`;
  written = `${arrow.line} ${part.kind} ${part.node}`;
  batch(() => {
    view.dispatch({ changes: inLine(arrow.line, changes), userEvent: "input.type", annotations: begins ? isolateHistory.of("before") : [] });
    if (!mapping.value) return;
    mapping.value = { ...mapping.value, arrows: mapping.value.arrows.map((one) => (one.line === arrow.line ? { ...one, parts, stale: false } : one)) };
  });
}

/** @param {Arrow} arrow @param {string} kind @param {import("./edits.js").Reading} reading */
export function writeKind(arrow, kind, reading) {
  if (view && !arrow.stale) change(inLine(arrow.line, writtenKind(lineText(arrow.line), arrow.parts, kind, reading)), "changed the arrow");
}

/** Put a file beside the mapping, in place of one of the same name. @param {string} name @param {string} content */
export function addFile(name, content) {
  if (drawing.value) drawing.value = { ...drawing.value, files: { ...drawing.value.files, [name]: content }, added: true };
}

/** The line of a place in the text. @param {number} offset */
const lineAt = (offset) => /** @type {number} */ (view.state.doc.lineAt(Math.min(offset, view.state.doc.length)).number);

/** @param {string[]} source @param {string[]} target @param {boolean} copies */
export function drawArrow(source, target, copies) {
  const { source: from, target: to } = trees.value;
  if (!from || !to) return;
  const kind = copies ? "copy" : "value";
  const same = mapping.value?.arrows.find((arrow) => arrow.kind === kind && arrow.target && keyOf(arrow.target) === keyOf(target)
    && arrow.sources.length === 1 && keyOf(arrow.sources[0] ?? []) === keyOf(source));
  if (same) {
    selected.value = same.line;
    say("this arrow is there");
    return;
  }
  /** @type {Record<Side, import("../schema.js").Prefixes>} */
  const needed = { source: {}, target: {} };
  const [begin, end] = [from.written(source, needed.source), to.written(target, needed.target)];
  const declared = addNamespaces(text.value, needed);
  const added = addArrow(text.value, begin, end, copies);
  change([...declared, added], `drew ${begin} ${copies ? "=>" : "->"} ${end}`);
  const before = declared.reduce((sum, one) => sum + one.insert.length, 0);
  const line = lineAt(before + added.from + added.insert.replace(/\n$/, "").length);
  // it is drawn at once; whether it is sound the peer says
  /** @type {Arrow} */
  const drawn = { line, kind, sources: [source], target, reading: "both", sound: true, parts: [], carried: null, stale: true };
  if (mapping.value) mapping.value = { ...mapping.value, arrows: [...mapping.value.arrows, drawn] };
  selected.value = line;
}

/** Draw an arrow as it is written, unless it is there: a second click may come before the peer has told of the first. @param {string} line */
export function drawLine(line) {
  const words = (/** @type {string} */ one) => one.trim().replace(/\s+/g, " ");
  if (text.value.split("\n").some((one) => words(one) === words(line))) {
    say("this arrow is there");
    return;
  }
  change([addLine(text.value, line)], `drew ${line}`);
}

/** @param {Side} side @param {string} name @param {string[]} parent @param {string[]} members */
export function drawBox(side, name, parent, members) {
  const tree = trees.value[side];
  if (!tree) return;
  /** @type {import("../schema.js").Prefixes} */
  const needed = {};
  const box = addBox(text.value, side, name, tree.written(parent, needed), members.map((member) => tree.writtenStep(member, needed)));
  change([...addNamespaces(text.value, { [side]: needed }), box], `drew the box ${name}`);
}

/** @param {number[]} lines */
export function erase(lines) {
  const what = lines.map((line) => text.value.split("\n")[line - 1]?.trim()).join(", ");
  change(removeLines(text.value, lines), `removed ${what}`);
  selected.value = null;
}

/** @param {Side} side @param {string} name */
export function eraseBox(side, name) {
  erase(linesOfBox(text.value, side, name));
}

export function tidy() {
  change(align(text.value), "aligned the arrows");
}

export function undoOne() {
  if (view && undo(view)) say("undone");
}

export function redoOne() {
  if (view && redo(view)) say("done again");
}

/** Go to a line of the text. @param {number} line @param {boolean} [focus] */
export function showLine(line, focus = false) {
  if (!view || line > view.state.doc.lines) return;
  const place = view.state.doc.line(line);
  view.dispatch({ selection: { anchor: place.from }, scrollIntoView: true });
  if (focus) view.focus();
}
