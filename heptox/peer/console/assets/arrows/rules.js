// The rules that are inferred from the arrows, in both directions, to be read, and what they do to documents.
import { html } from "../libraries.js";
import { Text } from "../text.js";
import { faults, mapping, selected } from "./drawing.js";

/** Characters of a rule that are shown. */
const MOST = 20_000;

export function RulesPanel() {
  const rules = mapping.value?.rules ?? [];
  const against = mapping.value?.against ?? [];
  const remarks = mapping.value?.remarks ?? [];
  if (!rules.length && !against.length) return html`<p class="hint">Rules are inferred as soon as an arrow is drawn.</p>`;
  return html`
    ${faults.value.length ? html`<p class="hint warn">Of what has no fault only: the mapping is not this until the faults are mended.</p>` : ""}
    ${remarks.length ? html`<ul class="remarks" aria-label="What the mapping does to documents">
      ${remarks.map((remark, place) => html`<li key=${place}><b>${remark.direction}</b> <${Text} value=${remark.text} most=${MOST} />${remark.hint ? html` <span class="hint"><${Text} value=${remark.hint} most=${MOST} /></span>` : ""}</li>`)}
    </ul>` : ""}
    <${Rules} rules=${rules} name="Rule" />
    ${against.length ? html`<p class="hint">Against the arrows:</p><${Rules} rules=${against} name="Mirrored rule" />` : ""}`;
}

/** @param {{rules: import("./drawing.js").Rule[], name: string}} properties */
function Rules({ rules, name }) {
  return html`<ol class="rules">
    ${rules.map((rule, place) => html`
      <li key=${place} class=${rule.arrows.includes(selected.value ?? -1) ? "selected" : ""}>
        <h3>${name} ${place + 1} <span class="faint">from the arrows of ${rule.arrows.length === 1 ? "line" : "lines"} ${rule.arrows.join(", ")}</span></h3>
        <pre tabindex="0"><${Text} value=${rule.text} most=${MOST} /></pre>
      </li>`)}
  </ol>`;
}
