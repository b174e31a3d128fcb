// Giving a box its name.
import { Dialog } from "../dialog.js";
import { html, useState } from "../libraries.js";
import { Text, localName } from "../text.js";
import { drawBox, trees } from "./drawing.js";
import { boxing } from "./gestures.js";
import { focusTree } from "./tree.js";
import { marked, unfoldBox } from "./view.js";
import { keyOf } from "../schema.js";

export function BoxDialog() {
  const one = boxing.value;
  return one ? html`<${Naming} side=${one.side} members=${one.members} />` : null;
}

/** @param {{side: import("./view.js").Side, members: import("./view.js").Node[]}} props */
function Naming({ side, members }) {
  const parent = members[0]?.path.slice(0, -1) ?? [];
  const [name, setName] = useState(proposed(side, parent));
  const taken = trees.value[side]?.boxes.some((box) => box.name === name);
  const close = () => {
    boxing.value = null;
    marked[side].value = new Set();
  };
  /** @param {Event} event */
  const draw = (event) => {
    event.preventDefault();
    drawBox(side, name, parent, members.map((node) => node.label));
    close();
    unfoldBox(side, keyOf([...parent, `[${name}]`]), members);
    focusTree(side);
  };
  return html`
    <${Dialog} title="A box: tags here are values there" onClose=${close}>
      <form onSubmit=${draw}>
        <p>Around ${members.map((node, place) => html`${place ? ", " : ""}<b class="mono"><${Text} value=${node.label} most=${100} /></b>`)} below
          <b class="mono"> <${Text} value=${parent.join("/") || "the root"} most=${200} /></b>, in the ${side} schema. They have to hold the same.</p>
        <label class="row">Its name <input autofocus required pattern="[^\\s\\[\\]\\/\\|\\(\\)=#]+" value=${name}
          onInput=${(/** @type {Event} */ event) => setName(/** @type {HTMLInputElement} */ (event.target).value.trim())} /></label>
        ${taken ? html`<p class="fault">There is a box of that name.</p>` : ""}
        <div class="buttons">
          <button type="button" onClick=${close}>Cancel</button>
          <button class="primary" disabled=${!name || taken}>Draw the box</button>
        </div>
      </form>
    <//>`;
}

/** A name that is free. @param {import("./view.js").Side} side @param {string[]} parent */
function proposed(side, parent) {
  const above = parent.at(-1) ?? trees.value[side]?.root.label ?? "";
  const wanted = `${localName(above)}Kind`;
  const taken = trees.value[side]?.boxes.map((box) => box.name) ?? [];
  let name = wanted;
  for (let number = 2; taken.includes(name); number++) name = `${wanted}${number}`;
  return name;
}
