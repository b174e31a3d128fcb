// The form of an arrow: each field is a part of its line, so that what is written in one is what the text says.
import { call, told } from "../api.js";
import { fileName, readText } from "../files.js";
import { effect, html, signal, useEffect, useRef } from "../libraries.js";
import { Text, counted, plain } from "../text.js";
import { addFile, drawing, faults, lineText, mapping, redoOne, refused, selected, triedOn, undoOne, writeKind, writePart } from "./drawing.js";
import { absentPart, partText } from "./edits.js";
import { editing } from "./gestures.js";
import { focusTree } from "./tree.js";
import { panel, side } from "./view.js";

/** @typedef {import("./drawing.js").Arrow} Arrow @typedef {import("./edits.js").Part} Part */
/** @typedef {{name: string, before: string, after: string, meaning: string}} ValueFunction */

/** Lines of a table that are shown. */
const ROWS = 6;
const KINDS = { value: "-> the value goes there", copy: "=> the subtree is copied", each: "each node makes one of its own" };
const READINGS = { both: "in both directions", along: "oneway: only along", against: "mirrored: only against" };
/** @type {Record<string, string>} */
const LABELS = { condition: "Where", value: "Value", otherwise: "Otherwise", target: "To", inverse: "Inverse, of ." };

/** @type {import("../libraries.js").Signal<ValueFunction[]>} */
const functions = signal([]);
effect(() => {
  if (panel.value === "Form" && !functions.peek().length) call("GET", "/mappings/functions").then((found) => { functions.value = found; }, refused);
});

export function FormPanel() {
  const arrow = mapping.value?.arrows.find(({ line }) => line === selected.value);
  if (!arrow) return html`<p class="hint">Select an arrow: by a click on it, or by n at one of its nodes.</p>`;
  return html`<${Form} key=${drawing.value?.id} arrow=${arrow} />`;
}

/** The parts that can be written, those that are not there yet among them. @param {Arrow} arrow @returns {Part[]} */
function fields({ kind, parts, sources }) {
  const shown = parts.filter((part) => part.kind !== "source" && part.kind !== "table");
  if (kind !== "value" || !parts.length) return shown;
  const inverses = parts.filter((part) => part.kind === "inverse").length;
  return [...(parts.some((part) => part.kind === "condition") ? [] : [absentPart(parts, "condition")]), ...shown,
    ...(inverses < sources.length ? [absentPart(parts, "inverse")] : [])];
}

/** @param {{arrow: Arrow}} props */
function Form({ arrow }) {
  const place = useRef(/** @type {HTMLFormElement | null} */ (null));
  const comes = editing.value && !arrow.stale;
  useEffect(() => {
    if (!comes) return;
    editing.value = false;
    /** @type {HTMLElement | null} */ (place.current?.querySelector("[name=value]"))?.focus();
  }, [comes]);
  const line = lineText(arrow.line);
  const found = faults.value.filter(({ position }) => position?.line === arrow.line && position.file === null);
  // columns count characters, parts 16-bit units
  const wrong = found.map(({ position }) => [...line].slice(0, (position?.column ?? 1) - 1).join("").length);
  const shown = fields(arrow);
  const table = arrow.parts.find((part) => part.kind === "table");
  /** @param {Part} part */
  const isWrong = (part) => wrong.some((place) => part.begin <= place && place < Math.max(part.end, part.begin + 1));
  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @param {KeyboardEvent} event */
  const press = (event) => {
    const key = event.key.toLowerCase();
    if (event.key === "Escape") focusTree(side.value);
    else if ((event.ctrlKey || event.metaKey) && key === "z") (event.shiftKey ? redoOne : undoOne)();
    else if ((event.ctrlKey || event.metaKey) && key === "y") redoOne();
    else if (event.key !== "Enter" || !(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
  };
  return html`
    <form class="arrow-form" ref=${place} aria-label="The arrow" onKeyDown=${press} onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <div class="row">
        <${Choice} label="Kind" value=${arrow.kind} options=${KINDS} onChoose=${(/** @type {string} */ kind) => writeKind(arrow, kind, arrow.reading)} />
        <${Choice} label="Reading" value=${arrow.reading} options=${READINGS} onChoose=${(/** @type {Arrow["reading"]} */ reading) => writeKind(arrow, arrow.kind, reading)} />
      </div>
      <p class=${arrow.carried === 0 ? "carries warn" : "carries faint"}>Line ${arrow.line}${carries(arrow)}</p>
      ${shown.map((part) => {
        const label = part.kind === "conditions" ? `Conditions of ${part.node}` : part.kind === "value" && arrow.kind !== "value" ? "From" : LABELS[part.kind] ?? part.kind;
        const count = (counts.get(label) ?? 0) + 1;
        counts.set(label, count);
        return html`<${Field} key=${`${label} ${count}`} label=${label} kind=${part.kind} text=${partText(line, part)} stale=${arrow.stale} wrong=${isWrong(part)}
          write=${(/** @type {string} */ written) => writePart(arrow, part, written)} />
          ${part.kind === "value" && arrow.kind === "value" ? html`<${Functions} apply=${(/** @type {ValueFunction} */ one) => writePart(arrow, part, one.before + partText(line, part) + one.after)} />` : ""}`;
      })}
      ${table ? html`<${Table} name=${partText(line, table).slice(1, -1)} choose=${(/** @type {string} */ name) => writePart(arrow, table, `"${name}"`)} />` : ""}
      ${arrow.stale && arrow.parts.length ? html`<p class="hint">The line was changed elsewhere.</p>` : ""}
      <ul class="faults" aria-label="Faults of the arrow">${found.map((fault) => html`<li><${Text} value=${told(fault)} /></li>`)}</ul>
    </form>`;
}

/** What an arrow has carried. @param {Arrow} arrow */
function carries({ carried }) {
  const example = mapping.value?.example;
  if (carried === null || !example) return "";
  return `: ${carried ? `carries ${counted(carried, "value")}` : "gives nothing"} ${triedOn(example)}`;
}

/** @param {{label: string, value: string, options: Record<string, string>, onChoose: (value: any) => void}} props */
function Choice({ label, value, options, onChoose }) {
  return html`<select aria-label=${label} value=${value} onChange=${(/** @type {Event} */ event) => onChoose(/** @type {HTMLSelectElement} */ (event.target).value)}>
    ${Object.entries(options).map(([one, text]) => html`<option key=${one} value=${one} selected=${one === value}>${plain(text)}</option>`)}</select>`;
}

/** @param {{label: string, kind: string, text: string, stale?: boolean, wrong: boolean, write: (text: string) => void}} props */
function Field({ label, kind, text, stale = false, wrong, write }) {
  return html`<label class="field"><span title=${plain(label)}><${Text} value=${label} most=${200} /></span>
    <textarea name=${kind} rows="1" spellcheck=${false} readonly=${stale} aria-invalid=${wrong} value=${text}
      onInput=${(/** @type {Event} */ event) => write(/** @type {HTMLTextAreaElement} */ (event.target).value)}></textarea></label>`;
}

/** Applies a function to the value. @param {{apply: (one: ValueFunction) => void}} props */
function Functions({ apply }) {
  /** @param {Event} event */
  const choose = (event) => {
    const list = /** @type {HTMLSelectElement} */ (event.target);
    const one = functions.value[list.selectedIndex - 1];
    list.selectedIndex = 0;
    if (one) apply(one);
  };
  return html`<select class="functions" aria-label="Apply a function" onChange=${choose}><option>Apply a function …</option>
    ${functions.value.map(({ name, before, meaning }) => html`<option key=${before + name} title=${plain(meaning)}>${plain(`${name}: ${meaning}`)}</option>`)}</select>`;
}

/** The table of codes that values are looked up in. @param {{name: string, choose: (name: string) => void}} props */
function Table({ name, choose }) {
  const files = drawing.value?.files ?? {};
  const known = Object.keys(files).filter((file) => file.endsWith(".csv"));
  const lines = (files[name] ?? "").split("\n").filter((line) => line.trim());
  /** @param {Event} event */
  const read = async (event) => {
    const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
    if (!file) return;
    try {
      const content = await readText(file);
      const given = fileName(file.name, "codes.csv");
      const kept = given.endsWith(".csv") ? given : `${given}.csv`;
      addFile(kept, content);
      if (kept !== name) choose(kept);
    } catch (error) {
      refused(error);
    }
  };
  return html`<div class="row" role="group" aria-label="The table of codes">
    <${Choice} label="Table" value=${name} options=${Object.fromEntries([...new Set([name, ...known])].map((one) => [one, files[one] === undefined ? `${one} (not here)` : one]))} onChoose=${choose} />
    <label class="button">A CSV file … <input type="file" accept=".csv,text/csv" class="hidden-input" onChange=${read} /></label>
    <span class="faint">${lines.length ? counted(lines.length, "row") : "CODE,VALUE in each row"}</span></div>
    ${lines.length ? html`<pre class="table" tabindex="0"><${Text} value=${[...lines.slice(0, ROWS), ...(lines.length > ROWS ? ["…"] : [])].join("\n")} /></pre>` : ""}`;
}
