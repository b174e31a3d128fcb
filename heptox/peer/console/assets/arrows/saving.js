// Saving under another name, or in the place of something else.
import { Dialog } from "../dialog.js";
import { html, useState } from "../libraries.js";
import { Text } from "../text.js";
import { save, saving } from "./drawing.js";

export function SaveDialog() {
  const one = saving.value;
  return one ? html`<${Saving} key=${`${one.name} ${one.why}`} name=${one.name} why=${one.why} />` : null;
}

/** @param {{name: string, why: string}} props `why` is empty unless something would be lost */
function Saving({ name: before, why }) {
  const [name, setName] = useState(why ? `${before} 2` : before);
  const close = () => { saving.value = null; };
  /** @param {Event} event */
  const keep = (event) => {
    event.preventDefault();
    save(name);
  };
  return html`
    <${Dialog} title="Save in the peer's folder" onClose=${close}>
      <form onSubmit=${keep}>
        ${why ? html`<p class="fault" role="alert"><${Text} value=${why} /></p>` : ""}
        <label class="row">Name <input autofocus required maxlength="64" value=${name} onInput=${(/** @type {Event} */ event) => setName(/** @type {HTMLInputElement} */ (event.target).value)} /></label>
        <div class="buttons">
          <button type="button" onClick=${close}>Cancel</button>
          ${why ? html`<button type="button" class="danger" onClick=${() => save(before, true)}>Replace <${Text} value=${before} most=${40} /></button>` : ""}
          <button class="primary" disabled=${!name.trim()}>Save</button>
        </div>
      </form>
    <//>`;
}
