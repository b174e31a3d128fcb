// Beside the drawing: the text that it is, the rules that it means, what it makes of a document, and what is suggested.
import { Editor } from "../editor.js";
import { effect, html, useMemo } from "../libraries.js";
import { Tabs } from "../tabs.js";
import { drawing, edited, faults, mapping, redoOne, remarking, selected, setView, trees, undoOne } from "./drawing.js";
import { ExamplePanel } from "./example.js";
import { FormPanel } from "./form.js";
import { arrowsLanguage, pathCompletions } from "./language.js";
import { RulesPanel } from "./rules.js";
import { SuggestionsPanel } from "./suggestions.js";
import { panel } from "./view.js";

/** @type {{name: string, Panel: (() => any) | null}[]} */
const PANELS = [{ name: "Text", Panel: null }, { name: "Form", Panel: FormPanel }, { name: "Rules", Panel: RulesPanel }, { name: "Example", Panel: ExamplePanel }, { name: "Suggestions", Panel: SuggestionsPanel }];

effect(() => { remarking.value = panel.value === "Rules"; });

export function Beside() {
  const rules = String(mapping.value?.rules.length ?? 0);
  const tabs = PANELS.map(({ name }) => ({ name, told: name === "Rules" ? rules : "" }));
  return html`
    <aside class="beside">
      <${Tabs} label="Beside the drawing" prefix="panel" tabs=${tabs} selected=${panel.value} onSelect=${(/** @type {string} */ name) => { panel.value = name; }} />
      ${PANELS.map(({ name, Panel }) => html`
        <section key=${name} id=${`panel-panel-${name}`} role="tabpanel" aria-labelledby=${`panel-tab-${name}`} hidden=${panel.value !== name} class=${`panel ${name.toLowerCase()}`}>
          ${Panel ? (panel.value === name ? html`<${Panel} />` : "") : html`<${Text} key=${drawing.value?.id} />`}
        </section>`)}
    </aside>`;
}

function Text() {
  const extensions = useMemo(() => [arrowsLanguage, arrowsLanguage.data.of({ autocomplete: pathCompletions(() => trees.value) })], []);
  return html`<${Editor} label="The text of the mapping" value=${drawing.value?.text ?? ""} onChange=${edited} onView=${setView}
    onLine=${(/** @type {number} */ line) => {
      if (mapping.value?.arrows.some((arrow) => arrow.line === line)) selected.value = line;
    }}
    faults=${faults.value.filter((fault) => fault.position && fault.position.file === null)} extensions=${extensions}
    keys=${{ "Mod-z": () => (undoOne(), true), "Mod-y": () => (redoOne(), true), "Mod-Shift-z": () => (redoOne(), true) }} />`;
}
