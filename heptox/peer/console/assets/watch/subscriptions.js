// What is subscribed to here, and who publishes elsewhere.
import { html } from "../libraries.js";
import { Text, duration } from "../text.js";
import { Id, Mood, Section, Table } from "./section.js";
import { MOST, feeds, subscriptions } from "./watching.js";

export function Subscriptions() {
  const rows = subscriptions.value;
  return html`<${Section} name="subscriptions" title="Subscriptions" rows=${rows} empty="None.">
    <${Table} label="Subscriptions" columns=${["Name", "Wants", "Waiting", "Lag", "Dead letters"]} numbers=${["Waiting", "Lag", "Dead letters", "Interested"]}>
      ${rows?.slice(0, MOST).map((one) => html`<${Subscription} key=${one.name} one=${one} />`)}
    </${Table}>
  </${Section}>`;
}

/** @param {{one: import("./watching.js").Subscription}} props */
function Subscription({ one }) {
  return html`<tr>
    <th scope="row"><${Text} value=${one.name} most=${120} /><div class="faint">${one.words === "own" ? "in own words" : "in the publisher's words"}, ${one.deliver === "answers" ? "answers" : "documents"}</div></th>
    <td class="wide"><code class="short-text mono"><${Text} value=${one.xpath} most=${500} /></code>
      ${one.suspended ? html`<div class="fault wrap">✗ suspended: <${Text} value=${one.suspended} most=${300} /></div>` : null}</td>
    <td class="number">${one.backlog.toLocaleString("en")}<div class="faint">of ${one.most.toLocaleString("en")}</div></td>
    <td class="number">${one.lag === null ? "none" : duration(one.lag * 1000)}</td>
    <td class="number">${one.dead_letters ? html`<${Mood} mood="warn">${one.dead_letters.toLocaleString("en")}</${Mood}>` : "0"}</td>
  </tr>`;
}

/** How a publisher's words are understood, for people. @type {Map<string, string>} */
const WORDS = new Map(Object.entries({ same: "it has the same schema", mapped: "mappings lead to it", waiting: "what leads to it is on its way", none: "its words are not understood" }));

export function Publishers() {
  const rows = feeds.value?.publishers ?? null;
  return html`<${Section} name="feeds" title="Publishers" rows=${rows} empty="Nobody publishes who can be reached.">
    <${Table} label="Publishers" columns=${["Peer", "State", "Words", "Interested"]} numbers=${["Waiting", "Lag", "Dead letters", "Interested"]}>
      ${rows?.slice(0, MOST).map((one) => html`<${Publisher} key=${`${one.publisher}\n${one.path.join("\n")}`} one=${one} />`)}
    </${Table}>
  </${Section}>`;
}

/** @param {{one: import("./watching.js").Publisher}} props */
function Publisher({ one }) {
  const why = one.words_reason;
  return html`<tr>
    <th scope="row"><${Text} value=${one.name || "unnamed"} most=${120} /><${Id} id=${one.publisher} /></th>
    <td><${Mood} mood=${one.live ? "good" : "warn"}>${one.live ? "comes by itself" : "is caught up with"}</${Mood}>
      <div class="faint">${one.position === null ? "nothing has come" : `up to ${one.position.toLocaleString("en")}`}</div></td>
    <td class="wide">${one.words === null ? html`<span class="faint">not asked for</span>` : WORDS.get(one.words) ?? html`<${Text} value=${one.words} most=${60} />`}
      ${why ? html`<div class="faint wrap"><${Text} value=${why} most=${400} /></div>` : null}</td>
    <td class="number">${one.interested.toLocaleString("en")}</td>
  </tr>`;
}
