// Arrows that the peer suggests: looked at, accepted or refused one by one; nothing is drawn unasked.
import { call } from "../api.js";
import { readText } from "../files.js";
import { html, signal } from "../libraries.js";
import { drawLine, drawing, mapping, refused, sample, text } from "./drawing.js";
import { Text, plain } from "../text.js";
import { focusTree } from "./tree.js";
import { ghost, reveal } from "./view.js";

/** @typedef {{arrow: string, source: string[], target: string[], copies: boolean, confidence: number, reasons: {kind: string, text: string}[]}} Suggestion */

/** @type {import("../libraries.js").Signal<{of: number, found: Suggestion[]} | null>} */
const suggestions = signal(null);
/** Arrows that were refused, by the drawing they were refused for. @type {Map<number, Set<string>>} */
const refusals = new Map();
const looking = signal(false);
/** Documents of either side of a drawing, to compare values. @type {import("../libraries.js").Signal<{of: number, source: string[], target: string[]}>} */
const given = signal({ of: 0, source: [], target: [] });
const MOST = 8;

/** The documents of what is drawn now. */
const samples = () => (given.value.of === drawing.value?.id ? given.value : { of: drawing.value?.id ?? 0, source: [], target: [] });

export async function suggest() {
  const one = drawing.value;
  if (!one) return;
  looking.value = true;
  try {
    const { source, target } = samples();
    const tried = sample.value.text === null ? [] : [sample.value.text];
    const body = { text: text.value, files: one.files, source_samples: [...source, ...tried].slice(0, MOST), target_samples: target.slice(0, MOST) };
    const { suggestions: found } = await call("POST", "/mappings/suggest", body);
    suggestions.value = { of: one.id, found };
  } catch (error) {
    refused(error);
  }
  looking.value = false;
}

/** @param {import("./edits.js").Side} side @param {Event} event */
async function read(side, event) {
  const files = /** @type {HTMLInputElement} */ (event.target).files ?? [];
  try {
    const texts = await Promise.all([...files].map(readText));
    given.value = { ...samples(), [side]: texts };
  } catch (error) {
    refused(error);
    return;
  }
  await suggest();
}

/** @param {{side: import("./edits.js").Side}} props */
function Samples({ side }) {
  const count = samples()[side].length;
  return html`<label class="button">Documents of the ${side} …${count ? ` (${count})` : ""}
    <input type="file" multiple accept=".xml,text/xml,application/xml" class="hidden-input" onChange=${(/** @type {Event} */ event) => read(side, event)} /></label>`;
}

/** What is suggested and neither drawn nor refused. */
function open() {
  const one = drawing.value;
  if (!one || suggestions.value?.of !== one.id) return null;
  const drawn = new Set((mapping.value?.statements ?? []).map((statement) => statement.text));
  return suggestions.value.found.filter((each) => !drawn.has(each.arrow) && !refusals.get(one.id)?.has(each.arrow));
}

/** @param {Suggestion} one */
function look(one) {
  ghost.value = one;
}

/** @param {Suggestion} one @param {boolean} accepted @param {MouseEvent} event */
function decide(one, accepted, event) {
  if (event.detail > 1) return; // the second half of a double click may meet the next suggestion
  const button = /** @type {Element} */ (event.target);
  const next = button.closest("li")?.nextElementSibling ?? button.closest("li")?.previousElementSibling;
  const following = /** @type {HTMLElement | null | undefined} */ (next?.querySelector("button"));
  if (following) following.focus();
  else focusTree("source");
  ghost.value = null;
  if (accepted) drawLine(one.arrow);
  else {
    const id = drawing.value?.id ?? 0;
    refusals.set(id, new Set([...(refusals.get(id) ?? []), one.arrow]));
    if (suggestions.value) suggestions.value = { ...suggestions.value };
  }
}

export function SuggestionsPanel() {
  const found = open();
  return html`
    <div class="bar">
      <button onClick=${suggest} disabled=${looking.value}>${looking.value ? "Looking …" : found ? "Look again" : "Suggest arrows"}</button>
      <${Samples} side="source" /><${Samples} side="target" />
      <span class="faint">By names, structure and, where there are documents, values; the peer's own are looked at. What is drawn counts: look again when some is.</span>
    </div>
    ${found && !found.length ? html`<p class="hint">Nothing more is suggested.</p>` : ""}
    <ul class="suggestions" onPointerLeave=${() => { ghost.value = null; }}>
      ${(found ?? []).map((one) => html`
        <li key=${one.arrow} onPointerEnter=${() => look(one)} onFocusIn=${() => look(one)}>
          <div class="what"><meter min="0" max="1" value=${one.confidence} aria-label="confidence"></meter><span class="confidence">${Math.round(one.confidence * 100)} %</span>
            <code><${Text} value=${one.arrow} /></code></div>
          <p class="faint grow"><${Text} value=${one.reasons.map((reason) => reason.text).join(" ")} /></p>
          <button aria-label=${`Accept ${plain(one.arrow)}`} onClick=${(/** @type {MouseEvent} */ event) => decide(one, true, event)}>Accept</button>
          <button aria-label=${`Refuse ${plain(one.arrow)}`} onClick=${(/** @type {MouseEvent} */ event) => decide(one, false, event)}>Refuse</button>
          <button class="quiet" aria-label=${`Show ${plain(one.arrow)} in the trees`} onClick=${() => { reveal("source", one.source); reveal("target", one.target); look(one); }}>Show</button>
        </li>`)}
    </ul>`;
}
