// All about one hop of a query: what it was asked, what was lost, and why its translation is what it is.
import { Refused, told } from "../api.js";
import { Dialog } from "../dialog.js";
import { html, useEffect, useState } from "../libraries.js";
import { Text, counted, duration } from "../text.js";
import { translation } from "./asking.js";
import { Code } from "./code.js";
import { Losses } from "./losses.js";
import { Badge } from "./origins.js";
import { Reason, Status, meaning } from "./receipt.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./answer.js").ReceiptLine} ReceiptLine
 * @typedef {import("./asking.js").Translation} Translation
 */

/** What the steps of a translation do. @type {Map<string, string>} */
const STEPS = new Map(Object.entries({
  expand: "every path is resolved over the schema in which it was asked",
  unfold: "what it asks for is replaced by what the rules of the mapping make it from",
  contract: "what the other schema implies is left out",
  stitch: "members that others contain are left out",
}));

/** @param {{answer: Answer, line: ReceiptLine, onClose: () => void}} props */
export function Hop({ answer, line, onClose }) {
  return html`<${Dialog} kind="hop-panel" onClose=${onClose} title=${html`<${Badge} ...${line} /> <${Text} value=${line.name} most=${200} />`}>
    <dl>
      <dt>Peer</dt><dd class="mono"><${Text} value=${line.peer} most=${200} /></dd>
      <dt>Along</dt><dd><${Text} value=${line.path.join(" › ")} /></dd>
      <dt>Status</dt><dd><${Status} line=${line} /> <span class="faint">${meaning(line.status)}</span></dd>
      <dt>Came</dt><dd>${counted(line.items, "item")}, ${duration(line.milliseconds)} after the question</dd>
    </dl>
    <${Reason} line=${line} />
    <h3>${line.path.length === 1 ? "The query" : "The query as it was translated for this peer"}</h3>
    ${line.text ? html`<pre><${Code} text=${line.text} /></pre>` : html`<p class="faint">${answer.explained ? "There is none: it was not asked." : "It was not asked for."}</p>`}
    ${line.losses.length ? html`<h3>What was lost on the way</h3><${Losses} answer=${answer} line=${line} />` : null}
    ${line.path.length === 2 ? html`<${Steps} answer=${answer} line=${line} />` : null}
    <div class="buttons"><button onClick=${onClose}>Close</button></div>
  </${Dialog}>`;
}

/** @param {{answer: Answer, line: ReceiptLine}} props */
function Steps({ answer, line }) {
  const [found, setFound] = useState(/** @type {Translation | null} */ (null));
  const [refused, setRefused] = useState("");
  useEffect(() => {
    translation(answer, line.peer).then(setFound, (error) => setRefused(error instanceof Refused ? error.faults.map(told).join(" ") : String(error)));
  }, []);
  if (refused) return html`<p class="fault"><${Text} value=${refused} /></p>`;
  if (!found) return html`<p class="faint">Looking how it is translated …</p>`;
  return html`${found.faults.map((fault, place) => html`<p key=${place} class="fault"><${Text} value=${told(fault)} /></p>`)}
    ${found.steps.length ? html`<h3>How it is translated</h3>` : null}
    ${found.steps.map(({ name, members }, place) => html`<details key=${place}>
      <summary><b><${Text} value=${name} most=${40} /></b> <span class="faint">${counted(members.length, "member")} · ${STEPS.get(name) ?? ""}</span></summary>
      ${members.map(({ tree, text }, number) => html`<div class="member" key=${number}><pre><${Text} value=${tree} most=${20_000} /></pre><pre><${Code} text=${text} /></pre></div>`)}
    </details>`)}`;
}
