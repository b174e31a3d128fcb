// Whom the peer knows, and who wants to be known.
import { mayLeave, openAcquaintance } from "../arrows/opening.js";
import { html } from "../libraries.js";
import { room } from "../shell.js";
import { Text, counted } from "../text.js";
import { deed } from "./acting.js";
import { Id, Mood, Section, Table } from "./section.js";
import { MOST, acquaintances, requests } from "./watching.js";

/**
 * @typedef {import("./watching.js").Acquaintance} Acquaintance
 * @typedef {import("./watching.js").Request} Request
 */

/** Which side of a mapping is ours. @param {"source" | "target"} side */
const sided = (side) => (side === "source" ? "ours is the source" : side === "target" ? "ours is the target" : "");

export function Acquaintances() {
  const rows = acquaintances.value;
  return html`<${Section} name="acquaintances" title="Acquaintances" rows=${rows} empty="Nobody yet: propose a mapping, or wait for a request.">
    <${Table} label="Acquaintances" columns=${["Peer", "State", "Mapping", ""]}>${rows?.slice(0, MOST).map((one) => html`<${Known} key=${one.peer_id} one=${one} />`)}</${Table}>
  </${Section}>`;
}

/** @param {{one: Acquaintance}} props */
function Known({ one }) {
  const agreed = one.standing === "agreed";
  return html`<tr>
    <th scope="row"><${Text} value=${one.name} most=${200} /><${Id} id=${one.peer_id} /><${Id} id=${one.address} /></th>
    <td><div><${Mood} mood=${one.connected ? "good" : "faint"}>${one.connected ? "connected" : "not connected"}</${Mood}></div>
      <div><${Mood} mood=${agreed ? "good" : "warn"}><${Text} value=${one.standing} most=${60} /></${Mood}></div>
      ${one.reason ? html`<div class="faint wrap"><${Text} value=${one.reason} most=${500} /></div>` : null}
      ${one.fault ? html`<div class="fault wrap">✗ <${Text} value=${one.fault} most=${500} /></div>` : null}</td>
    <td>version ${one.version}<div class="faint mood">${sided(one.side)}</div></td>
    <td class="deeds"><button class="small" onClick=${() => draw(one.name)}>Open mapping</button>
      <button class="small danger" onClick=${() => { deed.value = { kind: "withdraw", name: one.name, peer: one.peer_id }; }}>Withdraw …</button></td>
  </tr>`;
}

/** Open the mapping with an acquaintance where it is drawn. @param {string} name */
async function draw(name) {
  if (mayLeave() && (await openAcquaintance(name))) room.value = "Arrows";
}

export function Requests() {
  const rows = requests.value;
  return html`<${Section} name="requests" title="Requests" rows=${rows} empty="Nobody waits to be accepted.">
    <ul class="requests">${rows?.slice(0, MOST).map((one) => html`<${Waiting} key=${one.peer_id} one=${one} />`)}</ul>
  </${Section}>`;
}

/** @param {{one: Request}} props */
function Waiting({ one }) {
  const files = Object.entries(one.files).sort(([name], [other]) => Number(other === one.mapping) - Number(name === one.mapping));
  const about = { name: one.name, peer: one.peer_id };
  return html`<li>
    <div class="request"><div><b><${Text} value=${one.name} most=${200} /></b> offers version ${one.version} of a mapping; <span class="faint">${sided(one.side)}</span>
      <${Id} id=${one.peer_id} /><${Id} id=${one.address} />
      <div class="faint">digest <${Id} id=${one.digest} /></div>
      ${one.reason ? html`<div class="faint wrap"><${Text} value=${one.reason} most=${500} /></div>` : null}
      ${one.fault ? html`<div class="fault wrap">✗ <${Text} value=${one.fault} most=${500} /></div>` : null}</div>
      <div class="deeds"><button class="small primary" onClick=${() => { deed.value = { kind: "accept", ...about, digest: one.digest }; }}>Accept …</button>
        <button class="small danger" onClick=${() => { deed.value = { kind: "refuse", ...about }; }}>Refuse …</button></div></div>
    ${files.map(([name, text]) => html`<details key=${name}><summary><span class="mono"><${Text} value=${name} most=${100} /></span> <span class="faint">${counted(text.split("\n").length, "line")}</span></summary>
      <pre tabindex="0"><${Text} value=${text} most=${200_000} /></pre></details>`)}
  </li>`;
}
