// A sample document and what exchange makes of it: each value in the colour of the arrow that carried it.
import { readText } from "../files.js";
import { html, signal } from "../libraries.js";
import { lineText, mapping, refused, sample, selected, triedOn } from "./drawing.js";
import { colourOf } from "./lane.js";
import { Text } from "../text.js";
import { hovered } from "./view.js";

/** @typedef {import("./drawing.js").ElementModel} ElementModel @typedef {import("./drawing.js").Value} Value */

const editing = signal(false);
/** How deep elements are indented, in characters. */
const INDENT = 2;
/** Characters of a value that are shown. */
const MOST = 300;

export function ExamplePanel() {
  const example = mapping.value?.example;
  if (!example) return html`<p class="hint">Both schemas have to be there before a document can be tried.</p>`;
  const given = sample.value.text !== null;
  return html`
    <div class="bar">
      <button onClick=${() => { sample.value = { text: null, seed: sample.value.seed + (given ? 0 : 1) }; editing.value = false; }}>
        ${given ? "Use a sample of the peer" : "Another sample"}</button>
      <button aria-pressed=${editing.value} onClick=${() => { editing.value = !editing.value; }}>${editing.value ? "Done" : "Edit it"}</button>
      <label class="button">A document of yours … <input type="file" accept=".xml,text/xml,application/xml" class="hidden-input" onChange=${read} /></label>
      <span class="faint">${given ? "your document" : example.held ? "of this peer's own records" : "made up"}; select an arrow to see what it carried</span>
    </div>
    ${example.faults.length ? html`<ul class="faults">${example.faults.slice(0, 8).map((fault) => html`<li>${fault.position ? `line ${fault.position.line}: ` : ""}${fault.code} <${Text} value=${fault.message} most=${MOST} /></li>`)}</ul>` : ""}
    <${Idle} example=${example} />
    <div class="documents">
      <section aria-label="The source document"><h3>A document of the source</h3>
        ${editing.value
          ? html`<textarea spellcheck="false" aria-label="The sample document" onInput=${(/** @type {Event} */ event) => {
              sample.value = { ...sample.value, text: /** @type {HTMLTextAreaElement} */ (event.target).value };
            }}>${sample.value.text ?? example.text}</textarea>`
          : html`<${Document} root=${example.source} />`}
      </section>
      <section aria-label="What exchange makes of it"><h3>What exchange makes of it</h3><${Document} root=${example.target} /></section>
    </div>`;
}

/** The arrows that give nothing. @param {{example: import("./drawing.js").Example}} props */
function Idle({ example }) {
  const idle = (mapping.value?.arrows ?? []).filter((arrow) => arrow.carried === 0);
  if (!idle.length) return null;
  return html`<ul class="idle" aria-label="Arrows that give nothing">${idle.map(({ line }) => html`<li key=${line}>
    <button class="quiet" onClick=${() => { selected.value = line; }}>line ${line} gives nothing ${triedOn(example)}: <code><${Text} value=${lineText(line).trim()} most=${MOST} /></code></button></li>`)}</ul>`;
}

/** @param {Event} event */
async function read(event) {
  const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
  if (!file) return;
  try {
    sample.value = { ...sample.value, text: await readText(file) };
  } catch (error) {
    refused(error);
  }
}

/** @param {{root: ElementModel | null}} props */
export function Document({ root }) {
  if (!root) return html`<p class="hint">nothing</p>`;
  return html`<div class="document mono" tabindex="0">${elementLines(root, 0)}</div>`;
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text as XML writes it. @param {string} text */
const escaped = (text) => text.replace(/[&<>"]/g, (character) => ESCAPES[/** @type {keyof typeof ESCAPES} */ (character)]);

/**
 * An element as lines; one that holds only text is one line. What is in an element that was copied whole came by the
 * arrows that copied it.
 * @param {ElementModel} element @param {number} depth @param {number[]} [copying] @returns {any[]}
 */
function elementLines(element, depth, copying = []) {
  const whole = [...copying, ...element.arrows.filter((line) => mapping.value?.arrows.some((arrow) => arrow.line === line && arrow.kind === "copy"))];
  /** @param {number[]} own */
  const carrying = (own) => (own.length ? own : whole);
  const begin = html`<span class="mark">${"<"}</span><${Carried} text=${element.tag} arrows=${carrying(element.arrows)} kind="tag" />${element.attributes.map(
    (one) => html` <span class="attribute-name"><${Text} value=${one.name} most=${MOST} /></span><span class="mark">="</span><${Carried} text=${escaped(one.value)} arrows=${carrying(one.arrows)} kind="value" /><span class="mark">"</span>`,
  )}`;
  const end = html`<span class="mark">${"</"}</span><${Text} value=${element.tag} most=${MOST} /><span class="mark">${">"}</span>`;
  if (!element.content.length) return [line(depth, html`${begin}<span class="mark">${"/>"}</span>`)];
  const flat = element.content.every((part) => !("tag" in part));
  if (flat) {
    const texts = /** @type {Value[]} */ (element.content).map((part) => html`<${Carried} text=${escaped(part.value)} arrows=${carrying(part.arrows)} kind="value" />`);
    return [line(depth, html`${begin}<span class="mark">${">"}</span>${texts}${end}`)];
  }
  const inner = element.content.flatMap((part) => ("tag" in part ? elementLines(part, depth + 1, whole)
    : [line(depth + 1, html`<${Carried} text=${escaped(part.value.trim())} arrows=${carrying(part.arrows)} kind="value" />`)]));
  return [line(depth, html`${begin}<span class="mark">${">"}</span>`), ...inner, line(depth, end)];
}

/** @param {number} depth @param {any} content */
const line = (depth, content) => html`<div class="line" style=${{ paddingLeft: `${depth * INDENT}ch` }}>${content}</div>`;

/** A value with the arrows that carried it. @param {{text: string, arrows: number[], kind: string}} props */
function Carried({ text, arrows, kind }) {
  const [first] = arrows;
  if (first === undefined) return html`<span class=${kind}><${Text} value=${text} most=${MOST} /></span>`;
  const now = arrows.includes(selected.value ?? -1) ? " selected" : arrows.includes(hovered.value ?? -1) ? " hovered" : "";
  const lines = arrows.length === 1 ? `line ${first}` : `lines ${arrows.join(", ")}`;
  return html`<span class=${`${kind} carried arrow-colour-${colourOf(first)}${now}`} title=${`carried by the arrow of ${lines}`} data-arrows=${arrows.join(" ")}
    onClick=${() => { selected.value = selected.value === first ? null : first; }}
    onPointerEnter=${() => { hovered.value = first; }} onPointerLeave=${() => { hovered.value = null; }}><${Text} value=${text} most=${MOST} /></span>`;
}
