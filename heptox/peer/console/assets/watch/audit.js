// The end of the audit log, the newest line first. It stands still while somebody reads in it.
import { html, useState } from "../libraries.js";
import { Text, plain } from "../text.js";
import { moment } from "./documents.js";
import { Section } from "./section.js";
import { audit } from "./watching.js";

/** @typedef {import("./watching.js").AuditLine} AuditLine */

const SHORT = 140;
const PEER_ID = /\b12D3KooW\w{38}(\w{6})\b/g;

export function Audit() {
  const [event, setEvent] = useState("");
  const [held, setHeld] = useState(/** @type {AuditLine[] | null} */ (null));
  const latest = audit.value;
  const rows = held ?? latest;
  const events = [...new Set(latest?.map((line) => line.event))].sort();
  const shown = rows?.filter((line) => !event || line.event === event) ?? null;
  const fresh = held && latest ? newer(latest, held) : 0;
  const hold = () => setHeld((before) => before ?? latest);
  const release = () => setHeld(null);
  const choice = html`<span class="grow"></span>
    <button class="small quiet fresh" onClick=${() => setHeld(latest)} disabled=${!fresh}>${fresh ? `${fresh} new` : held ? "held while you read" : "as it comes"}</button>
    <label>Event <select value=${event} onChange=${(/** @type {any} */ change) => setEvent(change.target.value)}>
      <option value="">all</option>${events.map((name) => html`<option key=${name} value=${name}>${plain(name, 40)}</option>`)}
    </select></label>`;
  return html`<${Section} name="audit" title="Audit" rows=${shown} empty="No such line." beside=${choice}>
    <div class="scroll" tabindex="0" role="region" aria-label="Audit log, the newest first" onMouseEnter=${hold} onMouseLeave=${release} onFocusIn=${hold} onFocusOut=${release}>
      <table><thead class="hidden"><tr><th scope="col">Time</th><th scope="col">Event</th><th scope="col">What belongs to it</th></tr></thead>
        <tbody>${keyed(shown ?? []).map(({ line, key }) => html`<${Line} key=${key} line=${line} />`)}</tbody></table>
    </div>
  </${Section}>`;
}

/** How many lines came since. @param {AuditLine[]} latest @param {AuditLine[]} held */
function newer(latest, held) {
  const known = held[0] && JSON.stringify(held[0]);
  const place = latest.findIndex((line) => JSON.stringify(line) === known);
  return place < 0 ? latest.length : place;
}

/** Lines by what they say, so that each stays what it is when others come. @param {AuditLine[]} lines */
function keyed(lines) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return lines.toReversed().map((line) => {
    const text = JSON.stringify(line);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    return { line, key: `${count} ${text}` };
  }).reverse();
}

/** @param {{line: AuditLine}} props */
function Line({ line }) {
  const { time, event, ...fields } = line;
  const entries = Object.entries(fields).filter(([, value]) => value !== "" && value !== null);
  const whole = entries.map(([name, value]) => `${name}: ${written(value)}`);
  const told = whole.join(" · ");
  const brief = told.replace(/\s+/g, " ").replace(PEER_ID, "…$1");
  const short = brief.length > SHORT ? `${brief.slice(0, SHORT)} …` : brief;
  return html`<tr>
    <td class="time faint"><time datetime=${time ?? ""}>${time ? moment(time) : "not readable"}</time></td>
    <td class="event"><b><${Text} value=${event} most=${40} /></b></td>
    <td class="wide">${short === told ? html`<${Text} value=${short} />`
      : html`<details><summary><${Text} value=${short} /></summary>${whole.map((one, place) => html`<div key=${place} class="field-told"><${Text} value=${one} most=${20_000} /></div>`)}</details>`}</td>
  </tr>`;
}

/** @param {unknown} value */
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));
