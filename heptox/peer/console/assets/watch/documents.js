// The documents that the peer holds.
import { html } from "../libraries.js";
import { Text, plain } from "../text.js";
import { Mood, Section, Table } from "./section.js";
import { MOST, documents } from "./watching.js";

export function Documents() {
  const rows = documents.value;
  return html`<${Section} name="documents" title="Documents" rows=${rows} empty="None: heptox peer load brings some.">
    <${Table} label="Documents" columns=${["Name", "Schema", "Bytes", "Loaded"]} numbers=${["Bytes"]}>
      ${rows?.slice(0, MOST).map((one) => html`<tr key=${one.name}>
        <th scope="row"><${Text} value=${one.name} most=${200} /></th>
        <td>${one.fits === null ? html`<span class="faint">not known</span>` : html`<${Mood} mood=${one.fits ? "good" : "warn"}>${one.fits ? "fits" : "does not fit: interpreted"}</${Mood}>`}</td>
        <td class="number">${one.bytes.toLocaleString("en")}</td>
        <td class="faint"><time datetime=${one.loaded}>${moment(one.loaded)}</time></td>
      </tr>`)}
    </${Table}>
  </${Section}>`;
}

/** A time as people here read it. @param {string} time */
export function moment(time) {
  const found = new Date(time);
  return Number.isNaN(found.getTime()) ? plain(time, 40) : found.toLocaleString("sv-SE");
}
