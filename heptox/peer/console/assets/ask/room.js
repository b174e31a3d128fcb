// The room in which the network is asked.
import { told } from "../api.js";
import { Editor } from "../editor.js";
import { html, useEffect, useMemo, useRef, useState } from "../libraries.js";
import { peer, room } from "../shell.js";
import { Text, counted, duration } from "../text.js";
import { answer, ask, cancel, change, explain, faults, hops, learnSchema, query, steps, timeout } from "./asking.js";
import { Answers } from "./answers.js";
import { completions } from "./completing.js";
import { asked } from "./history.js";
import { Hops } from "./hops.js";
import { queryLanguage } from "./language.js";
import { placeOf } from "./origins.js";
import { Receipt, Verdict } from "./receipt.js";
import { Tabs } from "../tabs.js";

/** @typedef {import("./answer.js").Answer} Answer */

/** @type {Record<string, () => boolean>} */
const KEYS = {
  "Mod-Enter": () => {
    ask();
    return true;
  },
  // before it closes what can be completed
  Escape: () => {
    if (answer.value?.state.value !== "asking") return false;
    cancel();
    return true;
  },
};

export function AskRoom() {
  const view = useRef(/** @type {any} */ (null));
  const shown = room.value === "Ask";
  useEffect(() => {
    if (shown) learnSchema();
  }, [shown]);
  useEffect(() => {
    if (peer.value) placeOf(peer.value.peer_id);
  }, [peer.value]);
  /** @param {KeyboardEvent} event */
  const escape = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || answer.value?.state.value !== "asking") return;
    cancel();
    event.preventDefault();
  };
  /** Put a text into the editor. @param {string} text */
  const write = (text) => {
    const made = view.current;
    if (!made) return;
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } });
    made.focus();
  };
  const extensions = useMemo(() => [queryLanguage, queryLanguage.data.of({ autocomplete: completions(() => steps.value) })], []);
  return html`<div class="ask" onKeyDown=${escape}>
    <${Controls} />
    <div class="question">
      <div class="query"><${Editor} label="Query" value=${query.value} onChange=${change} onView=${(/** @type {any} */ made) => { view.current = made; }} faults=${faults.value}
        extensions=${extensions} keys=${KEYS} /></div>
      <${History} onChoose=${write} />
    </div>
    <${Faults} />
    ${answer.value ? html`<${Results} answer=${answer.value} />` : html`<${Nothing} />`}
  </div>`;
}

function Controls() {
  const asking = answer.value?.state.value === "asking";
  return html`<div class="bar controls" role="group" aria-label="Asking">
    <button class="primary" onClick=${ask} disabled=${asking || !query.value.trim()}>Ask <kbd>Ctrl Enter</kbd></button>
    <button onClick=${cancel} disabled=${!asking}>Cancel <kbd>Esc</kbd></button>
    <label>Timeout <input type="number" min="0.2" max="86400" step="any" class="short" placeholder="30" value=${timeout.value} onInput=${(/** @type {any} */ event) => { timeout.value = event.target.value; }} /> s</label>
    <label>Hops <input type="number" min="0" max="31" step="1" class="short" placeholder="all" value=${hops.value} onInput=${(/** @type {any} */ event) => { hops.value = event.target.value; }} /></label>
    <label title="Every peer tells the query as it reads it, and its times"><input type="checkbox" checked=${explain.value} onChange=${() => { explain.value = !explain.value; }} /> Explain</label>
    <span class="grow"></span>
    <${Progress} />
  </div>`;
}

/** What the answer under way has brought so far. */
function Progress() {
  const [, tick] = useState(0);
  const current = answer.value;
  const asking = current?.state.value === "asking";
  useEffect(() => {
    if (!asking) return;
    const timer = setInterval(() => tick((before) => before + 1), 250);
    return () => clearInterval(timer);
  }, [asking]);
  if (!current || !asking) return null;
  return html`<span class="progress"><span class="busy" aria-hidden="true"></span> ${current.cancelled ? "Cancelling" : "Asking"} · ${counted(current.shown.value, "item")} · ${duration(performance.now() - current.begun)}</span>`;
}

function Faults() {
  const shown = faults.value.slice(0, 20);
  return html`<div role="status" class="query-faults">${shown.length
    ? html`<ul class="faults" aria-label="Faults">${shown.map((fault, place) => html`<li key=${place}><span aria-hidden="true">✗ </span><${Text} value=${told(fault)} most=${600} /></li>`)}</ul>` : null}</div>`;
}

function Nothing() {
  return html`<div class="empty faint">
    <p>A query is asked in the words of your own schema. Every peer that can be reached answers in them.</p>
    <p class="mono">for $p in //…<br />where $p/… = "…"<br />return $p/…</p>
    <p><kbd>Ctrl Space</kbd> tells what can stand at the cursor.</p>
  </div>`;
}

/** @param {{onChoose: (text: string) => void}} props */
function History({ onChoose }) {
  return html`<section class="history" aria-label="Asked in this tab">
    <h2>Asked in this tab</h2>
    ${asked.value.length ? html`<ul>${asked.value.map((one) => html`<li key=${one.text}>
      <button class="quiet" onClick=${() => onChoose(one.text)} title="Put it into the editor"><code><${Text} value=${one.text.replace(/\s+/g, " ").trim()} most=${120} /></code></button>
      <span class="faint">${one.at} · ${counted(one.items, "item")}${one.complete ? "" : " · not complete"}</span>
      <button class="small" onClick=${() => { onChoose(one.text); ask(); }}>Ask again</button>
    </li>`)}</ul>` : html`<p class="faint">Nothing yet.</p>`}
  </section>`;
}

const PARTS = ["Answers", "Receipt", "Hops"];

/** @param {{answer: Answer}} props */
function Results({ answer: current }) {
  const [part, setPart] = useState("Answers");
  const state = current.state.value;
  const receipt = current.receipt.value;
  const count = current.shown.value.toLocaleString("en");
  if (state === "refused" && !current.rows.length) {
    return html`<section class="results" aria-label="Answer"><p class="outcome fault"><b>✗ The query was refused.</b> Nothing was asked.</p></section>`;
  }
  const tabs = PARTS.map((name) => ({ name, told: name === "Answers" ? count : receipt && name === "Receipt" ? String(receipt.lines.length) : "" }));
  return html`<section class="results" aria-label="Answer">
    ${receipt ? html`<${Verdict} answer=${current} receipt=${receipt} />` : null}
    ${state === "refused" || state === "lost" ? html`<p class="outcome fault"><b>✗ The answer broke off:</b> its receipt did not come, so nobody knows what is missing.</p>` : null}
    <${Tabs} label="Parts of the answer" prefix="answer" tabs=${tabs} selected=${part} onSelect=${setPart} />
    <div class="panel" role="tabpanel" id=${`answer-panel-${part}`} aria-labelledby=${`answer-tab-${part}`}>
      ${part === "Answers" ? html`<${Answers} answer=${current} />`
        : !receipt ? html`<p class="empty faint">The receipt comes last.</p>`
        : part === "Receipt" ? html`<${Receipt} answer=${current} receipt=${receipt} />`
        : html`<${Hops} answer=${current} receipt=${receipt} />`}
    </div>
  </section>`;
}
