// What can be done about somebody: asked once more in a window, and done when it is confirmed.
import { Refused, call, segment, told } from "../api.js";
import { Dialog } from "../dialog.js";
import { html, signal, useState } from "../libraries.js";
import { say } from "../shell.js";
import { Text, plain } from "../text.js";
import { look } from "./watching.js";

/**
 * @typedef {{kind: "withdraw" | "accept" | "refuse", name: string, peer: string, digest?: string}} Deed
 */

/** What is asked about. @type {import("../libraries.js").Signal<Deed | null>} */
export const deed = signal(null);

/** @type {Record<Deed["kind"], {title: string, about: string, label: string, button: string, done: string, danger: boolean, section: string}>} */
const DEEDS = {
  withdraw: {
    title: "Withdraw from", about: "Queries no longer go there. The other side is told as soon as it is reached.",
    label: "Reason, which the other side is told", button: "Withdraw", done: "withdrawn from", danger: true, section: "acquaintances",
  },
  accept: {
    title: "Accept", about: "It may ask this peer from now on, and this peer asks it, by its mapping.",
    label: "What it is called here", button: "Accept", done: "accepted", danger: false, section: "requests",
  },
  refuse: {
    title: "Refuse", about: "It is told so. The same offer is not asked about again.",
    label: "Reason, which the other side is told", button: "Refuse", done: "refused", danger: true, section: "requests",
  },
};

/** @param {Deed} wanted @param {string} text a reason or name */
function carryOut({ kind, peer, digest = "" }, text) {
  const who = segment(peer);
  const given = encodeURIComponent(text.toWellFormed());
  const about = `?reason=${given}`;
  if (kind === "withdraw") return call("DELETE", `/acquaintances/${who}${about}`);
  if (kind === "refuse") return call("POST", `/requests/${who}/refuse${about}`);
  // the one that was shown, whatever has come in its place since
  return call("POST", `/requests/${who}/accept?digest=${encodeURIComponent(digest)}${text ? `&name=${given}` : ""}`);
}

/** The focus goes to the heading when what had it is gone. @param {string} section */
function keepFocus(section) {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) document.getElementById(`watched-${section}`)?.focus();
  });
}

export function Confirming() {
  return deed.value ? html`<${Window} key=${deed.value.peer} wanted=${deed.value} />` : null;
}

/** @param {{wanted: Deed}} props */
function Window({ wanted }) {
  const { title, about, label, button, done, danger, section } = DEEDS[wanted.kind];
  const [text, setText] = useState(wanted.kind === "accept" ? wanted.name : "");
  const [refused, setRefused] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => {
    deed.value = null;
  };
  /** @param {Event} event */
  const confirm = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await carryOut(wanted, text.trim());
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setRefused(error.faults.map(told).join(" "));
      setBusy(false);
      return;
    }
    close();
    say(`${done} ${plain(wanted.name, 80)}`);
    await look();
    keepFocus(section);
  };
  return html`<${Dialog} onClose=${close} title=${html`${title} <${Text} value=${wanted.name} most=${120} />?`}>
    <form onSubmit=${confirm}>
      <p>${about}</p>
      <p class="mono faint wrap"><${Text} value=${wanted.peer} most=${200} /></p>
      <label class="field">${label}<input type="text" value=${text} maxlength="500" autofocus onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
      ${refused ? html`<p class="fault" role="alert"><${Text} value=${refused} most=${600} /></p>` : null}
      <div class="buttons"><button type="button" onClick=${close}>Leave it</button>
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy}>${button}</button></div>
    </form>
  </${Dialog}>`;
}

/** Cancel a query of the own user. @param {string} query */
export async function cancelQuery(query) {
  try {
    await call("DELETE", `/queries/${segment(query)}`);
    say("the query was cancelled: whoever asked it gets the receipt of what is there");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.faults.map(told).join(" "));
  }
  await look();
  keepFocus("queries");
}
