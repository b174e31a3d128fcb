// Proposing the mapping to another peer, who accepts it or not.
import { Refused, call, told } from "../api.js";
import { Dialog } from "../dialog.js";
import { html, signal, useEffect, useState } from "../libraries.js";
import { Text, plain } from "../text.js";
import { say } from "../shell.js";
import { drawing, faults, text } from "./drawing.js";

export const proposing = signal(false);
const KEPT_AS = "mapping.arrows";

/** @param {string} content */
function base64(content) {
  const bytes = new TextEncoder().encode(content);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export function ProposeDialog() {
  return proposing.value && drawing.value ? html`<${Proposing} one=${drawing.value} />` : null;
}

/** @param {{one: import("./drawing.js").Drawing}} props */
function Proposing({ one }) {
  const [known, setKnown] = useState(/** @type {any[]} */ ([]));
  const [address, setAddress] = useState("");
  const [name, setName] = useState("");
  const [side, setSide] = useState("");
  const [trouble, setTrouble] = useState(/** @type {string[]} */ ([]));
  const close = () => { proposing.value = false; };
  useEffect(() => {
    call("GET", "/acquaintances").then((found) => {
      setKnown(found);
      const same = found.find((/** @type {any} */ each) => each.name === one.acquaintance);
      if (same) {
        setAddress((before) => before || same.address);
        setName((before) => before || same.name);
      }
    }, (error) => setTrouble(error.faults.map(told)));
  }, []);
  /** @param {Event} event */
  const propose = async (event) => {
    event.preventDefault();
    const files = Object.fromEntries(Object.entries({ ...one.files, [KEPT_AS]: text.value }).map(([file, content]) => [file, base64(content)]));
    try {
      const made = await call("POST", "/acquaintances", { address, files, mapping: KEPT_AS, side: side || null, name: name || null });
      const later = made.connected || made.standing === "agreed" ? "" : "; it is not reached now, and is told as soon as it is";
      say(`${made.name}: ${made.standing}${made.reason ? ` (${made.reason})` : ""}${later}`);
      close();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setTrouble(error.faults.map(told));
    }
  };
  /** @param {Event} event */
  const choose = (event) => {
    const chosen = known.find((each) => each.peer_id === /** @type {HTMLSelectElement} */ (event.target).value);
    setAddress(chosen?.address ?? "");
    setName(chosen?.name ?? "");
  };
  return html`
    <${Dialog} title=${html`Propose <${Text} value=${one.name} most=${60} /> to another peer`} onClose=${close}>
      <form onSubmit=${propose}>
        <p class="faint">The other side gets the arrows and both schemas. Queries travel by it when it has accepted.</p>
        ${faults.value.length ? html`<p class="fault">The faults have to be mended first: ${faults.value.length}.</p>` : ""}
        ${known.length ? html`<label class="row">Acquaintance <select onChange=${choose}><option value="">another peer</option>
          ${known.map((each) => html`<option key=${each.peer_id} value=${each.peer_id} selected=${each.address === address}>${plain(each.name, 60)}</option>`)}</select></label>` : ""}
        <label class="row">Its address <input class="grow mono" required value=${address} placeholder="/ip4/…/tcp/…/p2p/…" onInput=${(/** @type {Event} */ event) => setAddress(/** @type {HTMLInputElement} */ (event.target).value.trim())} /></label>
        <label class="row">What to call it <input value=${name} onInput=${(/** @type {Event} */ event) => setName(/** @type {HTMLInputElement} */ (event.target).value)} /></label>
        <label class="row">Our side <select value=${side} onChange=${(/** @type {Event} */ event) => setSide(/** @type {HTMLSelectElement} */ (event.target).value)}>
          <option value="">the one that has our schema</option><option value="source">source</option><option value="target">target</option></select></label>
        ${trouble.map((line) => html`<p class="fault" role="alert"><${Text} value=${line} /></p>`)}
        <div class="buttons"><button type="button" onClick=${close}>Cancel</button><button class="primary" disabled=${!address || faults.value.length > 0}>Propose</button></div>
      </form>
    <//>`;
}
