// The rules that are inferred from the arrows, to be read.
import { html } from "../libraries.js";
import { Text } from "../text.js";
import { faults, mapping, selected } from "./drawing.js";

/** Characters of a rule that are shown. */
const MOST = 20_000;

export function RulesPanel() {
  const rules = mapping.value?.rules ?? [];
  if (!rules.length) return html`<p class="hint">Rules are inferred as soon as an arrow is drawn.</p>`;
  return html`
    ${faults.value.length ? html`<p class="hint warn">Of what has no fault only: the mapping is not this until the faults are mended.</p>` : ""}
    <ol class="rules">
      ${rules.map((rule, place) => html`
        <li key=${place} class=${rule.arrows.includes(selected.value ?? -1) ? "selected" : ""}>
          <h3>Rule ${place + 1} <span class="faint">from the arrows of ${rule.arrows.length === 1 ? "line" : "lines"} ${rule.arrows.join(", ")}</span></h3>
          <pre tabindex="0"><${Text} value=${rule.text} most=${MOST} /></pre>
        </li>`)}
    </ol>`;
}
