// What a translation lost, and the way to the arrow that would mend it.
import { openMapping } from "../arrows/opening.js";
import { html } from "../libraries.js";
import { Text } from "../text.js";
import { acquaintances, translations } from "./asking.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./answer.js").ReceiptLine} ReceiptLine
 * @typedef {import("./asking.js").Loss} Loss
 */

const MOST = 50;

/** The loss that a text of a receipt tells of. @param {Loss[]} losses @param {string} text */
const lossOf = (losses, text) => losses.find(({ path, effect }) => (path.length ? `${path.join("/")}: ${effect}` : effect) === text)
  ?? losses.find(({ path }) => path.length > 0 && text.startsWith(`${path.join("/")}:`));

/** @param {{answer: Answer, line: ReceiptLine}} props */
export function Losses({ line }) {
  if (!line.losses.length) return null;
  const known = line.path.length === 2 ? translations.value.get(line.peer)?.losses ?? [] : [];
  return html`<ul class="losses">${line.losses.slice(0, MOST).map((text, place) => html`
    <li key=${place}><${Text} value=${text} most=${500} /><${Mending} line=${line} loss=${lossOf(known, text)} /></li>`)}
    ${line.losses.length > MOST ? html`<li class="faint">and ${line.losses.length - MOST} more</li>` : null}
  </ul><${Whose} line=${line} />`;
}

/** @param {{line: ReceiptLine, loss: Loss | undefined}} props */
function Mending({ line, loss }) {
  const acquaintance = acquaintances.value.find(({ peer_id }) => peer_id === line.peer);
  if (!loss || !loss.path.length || !acquaintance) return null;
  const mend = () => openMapping({ acquaintance: acquaintance.name, lost: loss.path, side: acquaintance.side, proposal: loss.arrow });
  return html`${loss.arrow ? html`<code class="proposal"><${Text} value=${loss.arrow} most=${300} /></code>` : null}
    <button class="small" onClick=${mend} title="Open the mapping at this leaf, with the arrow offered">Mend this</button>`;
}

/** Whose mapping it is, where it is not ours to mend. @param {{line: ReceiptLine}} props */
function Whose({ line }) {
  if (line.path.length < 3) return null;
  const [one, other] = line.path.slice(-2);
  return html`<p class="faint">The mapping between <${Text} value=${one ?? ""} most=${80} /> and <${Text} value=${other ?? ""} most=${80} /> is theirs: whoever looks after <${Text} value=${one ?? ""} most=${80} /> can add the arrow.</p>`;
}
