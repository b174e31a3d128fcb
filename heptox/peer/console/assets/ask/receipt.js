// What became of a query: a line for each path along which it went.
import { html } from "../libraries.js";
import { Text, counted, duration } from "../text.js";
import { Losses } from "./losses.js";
import { Badge } from "./origins.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./answer.js").Receipt} ReceiptShape
 * @typedef {import("./answer.js").ReceiptLine} ReceiptLine
 * @typedef {import("./answer.js").Shortfall} Shortfall
 */

/** What a status says, to somebody who asks. @type {Map<string, string>} */
const MEANING = new Map(Object.entries({
  "answered": "all that it had came",
  "nothing to say": "no arrow leads there from what is asked for, so it was not asked",
  "refused": "the query cannot be translated exactly for it, so it was not asked",
  "denied": "it does not answer this peer",
  "timed out": "it did not answer in time",
  "unreachable": "it could not be reached, or was lost while it answered",
  "failed": "it could not carry the query out",
  "cancelled": "it was told to stop",
}));

/** @param {string} status */
export const meaning = (status) => MEANING.get(status) ?? "";

/** More ways to lack something there are not. */
const MOST = 10;
const SIGNS = { good: "✓", warn: "○", fault: "✗" };

/** How a line went. @param {ReceiptLine} line @returns {"good" | "warn" | "fault"} */
export const mood = (line) => {
  if (line.status !== "answered" && line.status !== "nothing to say") return "fault";
  return line.complete && line.status === "answered" ? "good" : "warn";
};

/** A status by sign, colour and word. @param {{line: ReceiptLine}} props */
export function Status({ line }) {
  return html`<span class=${`status ${mood(line)}`}><span aria-hidden="true">${SIGNS[mood(line)]}</span> <${Text} value=${line.status} most=${40} /></span>`;
}

/** Whether the answer is complete, in words. @param {{answer: Answer, receipt: ReceiptShape}} props */
export function Verdict({ answer, receipt }) {
  const answered = new Set(receipt.lines.filter((line) => line.status === "answered").map((line) => line.peer)).size;
  const told = `${counted(receipt.items, "item")} from ${counted(answered, "peer")} in ${duration(answer.milliseconds)}.`;
  const silent = receipt.lines.filter((line) => line.status === "nothing to say").length;
  const quiet = silent ? ` ${counted(silent, "peer")} had nothing to say: the receipt tells why.` : "";
  if (receipt.complete) return html`<p class="outcome good"><b>✓ The answer is complete:</b> ${told}${quiet}</p>`;
  return html`<div class="outcome fault"><p><b>✗ The answer is not complete:</b> ${told}</p>
    <ul class="missing">${receipt.missing.slice(0, MOST).map((shortfall) => html`<${Missing} key=${shortfall.lack} shortfall=${shortfall} />`)}</ul></div>`;
}

/** One way in which an answer lacks something. @param {{shortfall: Shortfall}} props */
function Missing({ shortfall }) {
  const { lack, peers, behind, named, costs, mend } = shortfall;
  return html`<li><b><${Text} value=${lack} most=${60} /></b> at ${named.map((name, place) => html`${place ? ", " : ""}<${Text} value=${name} most=${60} />`)}${peers > named.length ? ` and ${peers - named.length} more` : ""}${behind ? `, with ${counted(behind, "peer")} known behind` : ""}.
    It may cost <${Text} value=${costs} most=${400} />. What would mend it: <${Text} value=${mend} most=${400} />.</li>`;
}

/** @param {{answer: Answer, receipt: ReceiptShape}} props */
export function Receipt({ answer, receipt }) {
  return html`<div class="scroll padded" tabindex="0" role="region" aria-label="Receipt">
    <table class="receipt">
      <thead><tr><th scope="col">Peer</th><th scope="col">Along</th><th scope="col">Status</th><th scope="col" class="number">Items</th><th scope="col" class="number">Time</th><th scope="col">What was lost, and why</th></tr></thead>
      <tbody>${receipt.lines.map((line, place) => html`<${Line} key=${place} answer=${answer} line=${line} />`)}</tbody>
    </table>
    <p class="faint">Query <span class="mono"><${Text} value=${receipt.query} most=${64} /></span></p>
  </div>`;
}

/** @param {{answer: Answer, line: ReceiptLine}} props */
function Line({ answer, line }) {
  return html`<tr>
    <th scope="row"><${Badge} ...${line} /> <${Text} value=${line.name} most=${120} /></th>
    <td class="along"><${Text} value=${line.path.join(" › ")} most=${400} /></td>
    <td><${Status} line=${line} />${line.status === "answered" ? null : html`<div class="faint meaning">${meaning(line.status)}</div>`}</td>
    <td class="number">${line.items.toLocaleString("en")}</td>
    <td class="number">${duration(line.milliseconds)}</td>
    <td class="why"><${Reason} line=${line} /><${Losses} answer=${answer} line=${line} /></td>
  </tr>`;
}

/** @param {{line: ReceiptLine}} props */
export function Reason({ line }) {
  return html`${line.reason ? html`<p><${Text} value=${line.reason} /></p>` : null}
    ${line.beyond ? html`<p class="faint">Peers behind it were not reached along this path, or did not report.</p>` : null}`;
}
