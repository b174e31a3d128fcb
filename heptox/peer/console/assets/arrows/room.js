// The room in which a mapping is drawn.
import { told } from "../api.js";
import { Dialog } from "../dialog.js";
import { html, signal, useEffect } from "../libraries.js";
import { Text } from "../text.js";
import { pathOf } from "../schema.js";
import { room } from "../shell.js";
import { BoxDialog } from "./boxing.js";
import { Canvas } from "./canvas.js";
import {
  current, depths, drawing, erase, eraseBox, faults, mapping, redoOne, restore, save, saving, schemas, selected, showLine, tidy, trees, trouble, unchecked, undoOne, unsaved,
} from "./drawing.js";
import { Choosing, Mending, choosing } from "./opening.js";
import { Beside } from "./panel.js";
import { ProposeDialog, proposing } from "./proposing.js";
import { SaveDialog } from "./saving.js";
import { suggest } from "./suggestions.js";
import { focusTree } from "./tree.js";
import { cursor, lookAtNew, panel, reveal, side } from "./view.js";

const helping = signal(false);

export function ArrowsRoom() {
  useEffect(() => {
    restore();
    /** @param {BeforeUnloadEvent} event */
    const ask = (event) => {
      if (unsaved.value) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    addEventListener("keydown", press);
    return () => {
      removeEventListener("beforeunload", ask);
      removeEventListener("keydown", press);
    };
  }, []);
  useEffect(() => {
    if (lookAtNew()) focusTree("source");
  }, [drawing.value?.id, schemas.value]);
  if (!drawing.value || choosing.value) return html`<${Trouble} /><${Choosing} />`;
  return html`
    <div class="arrows-room">
      <${Bar} /><${Mending} /><${Trouble} />
      <div class="work"><div class="left"><${Canvas} /><${Faults} /></div><${Beside} /></div>
      <${BoxDialog} /><${ProposeDialog} /><${SaveDialog} />${helping.value ? html`<${Help} />` : ""}
    </div>`;
}

/** Keys that are meant wherever the focus is. @param {KeyboardEvent} event */
function press(event) {
  if (room.value !== "Arrows" || !drawing.value || choosing.value || document.querySelector("dialog[open]")) return;
  const control = event.ctrlKey || event.metaKey;
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
  const key = event.key.toLowerCase();
  if (control && key === "s") save();
  else if (control && key === "z" && !typing && !event.defaultPrevented) (event.shiftKey ? redoOne : undoOne)();
  else if (control && key === "y" && !typing && !event.defaultPrevented) redoOne();
  else if (event.key === "?" && !typing && !(event.target instanceof Element && event.target.closest(".cm-editor"))) helping.value = true;
  else return;
  event.preventDefault();
}

/** The box where the keyboard or the mouse was last, if it was at one. */
function boxAtCursor() {
  const node = trees.value[side.value]?.node(pathOf(cursor[side.value].value));
  return node?.kind === "box" ? node : null;
}

function removeChosen() {
  const box = boxAtCursor();
  if (selected.value !== null) erase([selected.value]);
  else if (box) eraseBox(side.value, box.label.slice(1, -1));
  focusTree(side.value);
}

function Bar() {
  const one = drawing.value;
  const arrow = selected.value;
  const box = boxAtCursor();
  return html`
    <div class="bar" role="toolbar" aria-label="The mapping">
      <b class="name"><${Text} value=${one?.name ?? ""} most=${80} /></b><span class="faint">${unsaved.value ? "not saved" : one?.saved ? "saved" : "unchanged"}</span>
      <button onClick=${() => { trouble.value = []; choosing.value = "list"; }}>Open …</button>
      <button class=${unsaved.value ? "primary" : ""} onClick=${() => save()} title="Ctrl+S">Save</button>
      <button onClick=${() => { saving.value = { name: one?.name ?? "", why: "" }; }}>Save as …</button>
      <button onClick=${() => { proposing.value = true; }}>Propose …</button>
      <span class="gap"></span>
      <button onClick=${undoOne} disabled=${depths.value.undo === 0} title="Ctrl+Z">Undo</button>
      <button onClick=${redoOne} disabled=${depths.value.redo === 0} title="Ctrl+Y">Redo</button>
      <button onClick=${removeChosen} disabled=${arrow === null && !box} title="Remove the selected arrow, or else the box at the cursor (Delete)">Remove</button>
      <button onClick=${tidy} title="Put the signs of arrows below each other">Align</button>
      <button onClick=${() => { panel.value = "Suggestions"; suggest(); }}>Suggest</button>
      <button class="quiet" onClick=${() => { helping.value = true; }} title="Keys (?)" aria-label="Keys">?</button>
      <span class="grow"></span>
      <${Verdict} />
    </div>`;
}

function Verdict() {
  const count = faults.value.length;
  const rules = mapping.value?.rules.length ?? 0;
  if (unchecked.value) return html`<span class="mapping-verdict fault" data-state="unchecked">not checked</span>`;
  if (!mapping.value || !current.value) return html`<span class="mapping-verdict faint" data-state="checking">checking …</span>`;
  if (count) return html`<span class="mapping-verdict fault" data-state="faulty">✗ ${count} ${count === 1 ? "fault" : "faults"}</span>`;
  return html`<span class="mapping-verdict good" data-state="sound">✓ no faults, ${rules} ${rules === 1 ? "rule" : "rules"}</span>`;
}

/** Every fault of the mapping; each leads to where it is. */
function Faults() {
  if (!faults.value.length) return null;
  /** @param {import("../api.js").Fault} fault */
  const go = (fault) => {
    const line = fault.position?.line;
    if (line === undefined || fault.position?.file) return;
    panel.value = "Text";
    showLine(line, true);
    const arrow = mapping.value?.arrows.find((each) => each.line === line);
    if (arrow) selected.value = line;
    if (arrow?.sources[0]) reveal("source", arrow.sources[0]);
    if (arrow?.target) reveal("target", arrow.target);
  };
  return html`<ul class="faults list" aria-label="Faults of the mapping">
    ${faults.value.map((fault) => html`<li><button class="quiet" onClick=${() => go(fault)}><b>${fault.position ? `line ${fault.position.line}` : "all"}</b> ${fault.code} <${Text} value=${fault.message} />${fault.hint ? html` <span class="hint"><${Text} value=${fault.hint} /></span>` : ""}</button></li>`)}
  </ul>`;
}

/** Why the peer did not do something. */
function Trouble() {
  if (!trouble.value.length) return null;
  return html`<div class="bar trouble" role="alert"><ul class="faults grow">${trouble.value.map((fault) => html`<li><${Text} value=${told(fault)} /></li>`)}</ul><button onClick=${() => { trouble.value = []; }}>Dismiss</button></div>`;
}

const KEYS = [
  ["↑ ↓ → ←", "walk in a tree, unfold and fold"],
  ["Tab", "the other tree, and on to the text"],
  ["/", "search in this tree; Enter goes to the next"],
  ["Enter", "take the end of an arrow here; in the other tree, draw it"],
  ["Space, then b", "mark siblings, then draw a box around them"],
  ["n, then e", "select the next arrow at this node, edit it in its form"],
  ["→ at a leaf", "show its values in the peer's own records, as far as there are some"],
  ["Enter at a value", "select the nodes that have it, or one of those marked with Space: a node of its own"],
  ["Delete", "remove the selected arrow, the only one here, or this box with its arrows"],
  ["Escape", "let go of what was taken, marked or selected"],
  ["Ctrl+Z, Ctrl+Y", "undo and redo, whether drawn or typed"],
  ["Ctrl+S", "save in the peer's folder"],
  ["Alt+1, 2, 3", "the rooms"],
];

function Help() {
  const close = () => { helping.value = false; };
  return html`<${Dialog} title="Keys" onClose=${close}>
    <p>With the mouse: from a leaf to a leaf of the other schema draws an arrow, from a sibling to a sibling a box around them.
      Between two inner elements an arrow copies the whole subtree (<code>${"=>"}</code>).</p>
    <table>${KEYS.map(([keys, what]) => html`<tr><th scope="row">${keys}</th><td>${what}</td></tr>`)}</table>
    <div class="buttons"><button class="primary" onClick=${close}>Close</button></div>
  <//>`;
}
