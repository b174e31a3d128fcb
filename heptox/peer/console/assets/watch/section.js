// A part of the room: its heading, how many there are, and a table that scrolls by itself, so that nothing else moves.
import { html } from "../libraries.js";
import { Text, plain } from "../text.js";
import { MOST, troubles } from "./watching.js";

/**
 * @param {object} props
 * @param {string} props.name its id
 * @param {string} props.title
 * @param {any[] | null} props.rows null: not known yet
 * @param {string} props.empty what is said when there are none
 * @param {any} [props.beside] beside the heading
 * @param {any} props.children
 */
export function Section({ name, title, rows, empty, beside, children }) {
  const trouble = troubles.value[name];
  const count = rows ? (rows.length > MOST ? `over ${MOST}` : String(rows.length)) : "";
  return html`<section class=${`watched watched-${name}`} aria-labelledby=${`watched-${name}`}>
    <header><h2 id=${`watched-${name}`} tabindex="-1">${title} ${count ? html`<span class="count">${count}</span>` : null}</h2>${beside}</header>
    ${trouble ? html`<p class="fault"><${Text} value=${trouble} most=${600} /></p>` : null}
    ${!rows ? html`<p class="faint">Looking …</p>` : rows.length ? children : html`<p class="faint">${empty}</p>`}
    ${rows && rows.length > MOST ? html`<p class="faint">These are the first ${MOST}.</p>` : null}
  </section>`;
}

/**
 * @param {object} props
 * @param {string} props.label
 * @param {string[]} props.columns the last may be empty: what can be done
 * @param {string[]} [props.numbers] those of them that hold numbers
 * @param {any} props.children rows
 */
export function Table({ label, columns, numbers = [], children }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${columns.map((column) => html`<th scope="col" key=${column} class=${numbers.includes(column) ? "number" : ""}>${column || html`<span class="hidden">What can be done</span>`}</th>`)}</tr></thead>
    <tbody>${children}</tbody>
  </table></div>`;
}

/** A state by sign, colour and word. @param {{mood: "good" | "warn" | "fault" | "faint", children: any}} props */
export function Mood({ mood, children }) {
  return html`<span class=${`mood ${mood}`}><span aria-hidden="true">${{ good: "●", warn: "◐", fault: "✗", faint: "○" }[mood]}</span> ${children}</span>`;
}

/** What identifies a peer: shown as far as there is room, and read by pointing at it. @param {{id: string}} props */
export function Id({ id }) {
  return html`<div class="id mono faint" title=${plain(id)}><${Text} value=${id} most=${300} /></div>`;
}
