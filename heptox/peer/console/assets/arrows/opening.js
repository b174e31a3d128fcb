// Which mapping is drawn: one from the peer's folder, an acquaintance's, an offered one, or a new one.
import { Refused, call, segment, told } from "../api.js";
import { fileName, readText } from "../files.js";
import { latest } from "../latest.js";
import { html, signal, useEffect, useState } from "../libraries.js";
import { Text, localName, plain } from "../text.js";
import { peer, room, say } from "../shell.js";
import { newText } from "./edits.js";
import { drawLine, drawing, open, refused, trees, unsaved } from "./drawing.js";
import { focusTree } from "./tree.js";
import { lookAtNew, reveal } from "./view.js";

/** @typedef {import("./edits.js").Side} Side @typedef {import("../schema.js").Schema} Schema */

/** Whether the list of mappings, or the form for a new one, is shown. @type {import("../libraries.js").Signal<"list" | "new" | null>} */
export const choosing = signal(null);
/**
 * What was lost in a translation, and the arrow that would mend it.
 * @type {import("../libraries.js").Signal<{lost: string[], side: Side, proposal: string | null} | null>}
 */
export const mending = signal(null);

/** Whether what is drawn may be put away. */
export const mayLeave = () => !drawing.value || !unsaved.value || confirm(`${drawing.value.name} has changes that are not saved. Put them away?`);

/**
 * Open the mapping with an acquaintance; if something was `lost`, at that node, with the arrow that would carry it.
 * @param {{acquaintance: string, lost?: string[], side?: Side, proposal?: string | null}} where
 */
export async function openMapping({ acquaintance, lost, side, proposal = null }) {
  room.value = "Arrows";
  if (drawing.value?.acquaintance !== acquaintance && !(mayLeave() && (await openAcquaintance(acquaintance)))) return;
  choosing.value = null;
  if (lost && side) mending.value = { lost, side, proposal };
}

const beginOpening = latest();

/**
 * Open a mapping when it is loaded, unless another was chosen meanwhile.
 * @param {Parameters<typeof open>[0] | Promise<Parameters<typeof open>[0]>} loading @returns {Promise<boolean>} whether it is open
 */
async function openLoaded(loading) {
  const newest = beginOpening();
  try {
    const loaded = await loading;
    if (!newest()) return false;
    open(loaded);
    choosing.value = null;
    return true;
  } catch (error) {
    refused(error);
    return false;
  }
}

/** @param {string} acquaintance its name or id */
export const openAcquaintance = (acquaintance) =>
  openLoaded(call("GET", `/acquaintances/${segment(acquaintance)}/mapping`).then(({ mapping, files }) =>
    ({ name: acquaintance, text: files[mapping], files: schemasOf(files, mapping), acquaintance })));

/** @param {Record<string, string>} files @param {string} mapping */
const schemasOf = (files, mapping) => Object.fromEntries(Object.entries(files).filter(([name]) => name !== mapping));

/** @param {string} name */
const openDrawing = (name) =>
  openLoaded(call("GET", `/drawings/${segment(name)}`).then(({ text, files }) => ({ name, text, files, saved: true })));

export function Choosing() {
  return html`<div class="choosing">
    ${choosing.value === "new" ? html`<${NewMapping} />` : html`<${Mappings} />`}
  </div>`;
}

function Mappings() {
  const [found, setFound] = useState(/** @type {{drawings: any[], known: any[], requests: any[]} | null} */ (null));
  const look = () => {
    Promise.all([call("GET", "/drawings"), call("GET", "/acquaintances"), call("GET", "/requests")])
      .then(([drawings, known, requests]) => setFound({ drawings, known, requests }), refused);
  };
  useEffect(look, []);
  /** @param {string} name */
  const remove = async (name) => {
    if (!confirm(`Delete the mapping ${name} from the peer's folder?`)) return;
    try {
      await call("DELETE", `/drawings/${segment(name)}`);
      say(`${name} is deleted`);
    } catch (error) {
      refused(error);
    }
    look();
  };
  /** @param {any} request */
  const openOffered = ({ name, mapping, files }) => openLoaded({ name, text: files[mapping], files: schemasOf(files, mapping) });
  return html`
    <h2>Mappings</h2>
    <p><button class="primary" onClick=${() => { choosing.value = "new"; }}>New mapping …</button></p>
    ${found && html`
      <${List} title="In work, in this peer's folder" none="None yet." items=${found.drawings.map((one) => ({ name: one.name, remark: `changed ${new Date(one.modified).toLocaleString()}`, run: () => mayLeave() && openDrawing(one.name), remove: () => remove(one.name) }))} />
      <${List} title="With acquaintances" none="No acquaintances yet." items=${found.known.map((one) => ({ name: one.name, remark: `${one.standing}, we are the ${one.side}`, run: () => mayLeave() && openAcquaintance(one.name) }))} />
      <${List} title="Offered, and not yet decided" none="Nothing is offered." items=${found.requests.map((one) => ({ name: one.name, remark: one.address, run: () => mayLeave() && openOffered(one) }))} />`}`;
}

/** @param {{title: string, none: string, items: {name: string, remark: string, run: () => void, remove?: () => void}[]}} props */
function List({ title, none, items }) {
  return html`<h3>${title}</h3>
    ${items.length ? "" : html`<p class="faint">${none}</p>`}
    <ul class="plain">${items.map(({ name, remark, run, remove }) => html`<li key=${name}><button class="quiet" onClick=${run}><${Text} value=${name} most=${80} /></button> <span class="faint"><${Text} value=${remark} most=${200} /></span>
      ${remove ? html`<button class="quiet danger" onClick=${remove} aria-label=${`Delete ${plain(name, 80)}`}>Delete</button>` : ""}</li>`)}</ul>`;
}

// -- a new mapping -------------------------------------------------------------------------------------------------

/** @typedef {{file: string, text: string, root: string, roots: string[]}} Chosen */

/** The fault of a schema that has several elements which may be its root, or none. */
const OPEN_ROOT = "HX2005";

/** The peer's own schema. @returns {Promise<Chosen>} */
async function ownSchema() {
  const { file, text, root, roots } = await call("GET", "/schema");
  return { file: file ?? "own.dtd", text, root, roots };
}

function NewMapping() {
  const [name, setName] = useState("");
  const [sides, setSides] = useState(/** @type {Record<Side, Chosen | null>} */ ({ source: null, target: null }));
  const [trouble, setTrouble] = useState({ source: "", target: "" });
  /** @param {Side} side @param {string} told */
  const tell = (side, told) => setTrouble((before) => ({ ...before, [side]: told }));
  /** @param {Side} side @param {Chosen | null} chosen */
  const choose = (side, chosen) => setSides((before) => ({ ...before, [side]: chosen }));
  const [begins] = useState(() => ({ source: latest(), target: latest() }));
  useEffect(() => {
    const newest = begins.source();
    ownSchema().then((own) => newest() && choose("source", own), refused);
  }, []);
  const { source, target } = sides;
  const proposed = source && target ? `${localName(source.root)}-${localName(target.root)}`.slice(0, 64) : "";
  const swap = () => {
    begins.source();
    begins.target();
    setSides({ source: target, target: source });
  };
  /** @param {Event} event */
  const draw = (event) => {
    event.preventDefault();
    if (!source || !target || !mayLeave()) return;
    const other = target.file === source.file && target.text !== source.text ? `target-${target.file}` : target.file;
    openLoaded({
      name: name || proposed,
      text: newText(source, { file: other, root: target.root }),
      before: "", // what was chosen is work, too
      files: { [source.file]: source.text, [other]: target.text },
    });
  };
  return html`
    <form onSubmit=${draw} class="new">
      <h2>New mapping</h2>
      <p class="faint">Arrows lead from the source to the target. Queries are translated both ways.</p>
      <${SchemaChoice} side="source" chosen=${source} begin=${begins.source} choose=${choose} tell=${tell} />
      <${SchemaChoice} side="target" chosen=${target} begin=${begins.target} choose=${choose} tell=${tell} />
      <label class="row">Name <input value=${name} maxlength="64" placeholder=${proposed} onInput=${(/** @type {Event} */ event) => setName(/** @type {HTMLInputElement} */ (event.target).value)} /></label>
      ${[trouble.source, trouble.target].map((one) => (one ? html`<p class="fault" role="alert"><${Text} value=${one} /></p>` : ""))}
      <div class="buttons">
        <button type="button" onClick=${swap}>Swap the sides</button>
        <span class="grow"></span>
        <button type="button" onClick=${() => { choosing.value = drawing.value ? null : "list"; }}>Cancel</button>
        <button class="primary" disabled=${!source || !target}>Begin</button>
      </div>
    </form>`;
}

/**
 * @param {{side: Side, chosen: Chosen | null, begin: () => () => boolean, choose: (side: Side, chosen: Chosen | null) => void,
 *   tell: (side: Side, told: string) => void}} props `begin` begins a choice, and what it returns tells whether it still counts
 */
function SchemaChoice({ side, chosen, begin, choose, tell }) {
  const [open, setOpen] = useState(/** @type {{file: string, text: string} | null} */ (null));
  /** @param {string} given @param {string} text @param {string | null} root @param {() => boolean} newest */
  const check = async (given, text, root, newest = begin()) => {
    const file = fileName(given, "schema.dtd");
    try {
      const found = /** @type {Schema} */ (await call("POST", "/schemas", { text, file, root }));
      if (!newest()) return;
      // what travels with the mapping needs no other file
      choose(side, { file: found.file ?? file, text: found.text, root: found.root, roots: found.roots });
      setOpen(null);
      tell(side, "");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!newest()) return;
      choose(side, null);
      setOpen(error.faults.some((fault) => fault.code === OPEN_ROOT) ? { file, text } : null);
      tell(side, `${file}: ${error.faults.map(told).join(" ")}`);
    }
  };
  /** @param {(newest: () => boolean) => Promise<void>} choice what it refuses is told */
  const attempt = async (choice) => {
    const newest = begin();
    try {
      await choice(newest);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (newest()) tell(side, error.faults.map(told).join(" "));
    }
  };
  /** @param {Event} event */
  const read = async (event) => {
    const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
    if (!file) return;
    await attempt(async (newest) => check(file.name, await readText(file), null, newest));
  };
  const own = () =>
    attempt(async (newest) => {
      const found = await ownSchema();
      if (!newest()) return;
      choose(side, found);
      tell(side, "");
    });
  return html`
    <fieldset>
      <legend>The ${side} schema</legend>
      <div class="row">
        <button type="button" onClick=${own}><${Text} value=${peer.value?.name ?? "This peer"} most=${60} />'s own</button>
        <label class="button">A DTD or XSD file … <input type="file" accept=".dtd,.xsd,.graph,text/plain,application/xml-dtd,application/xml" class="hidden-input" id=${`file-${side}`} onChange=${read} /></label>
        ${chosen ? html`<b class="mono">${chosen.file}</b>` : html`<span class="faint">none yet</span>`}
      </div>
      ${open ? html`<label class="row">Its root <input required placeholder="the schema leaves it open" onChange=${(/** @type {Event} */ event) => check(open.file, open.text, /** @type {HTMLInputElement} */ (event.target).value.trim())} /></label>` : ""}
      ${chosen ? html`<label class="row">Its root <select value=${chosen.root} onChange=${(/** @type {Event} */ event) => check(chosen.file, chosen.text, /** @type {HTMLSelectElement} */ (event.target).value)}>
        ${(chosen.roots.includes(chosen.root) ? chosen.roots : [chosen.root, ...chosen.roots]).map((root) => html`<option key=${root} value=${root} selected=${root === chosen.root}>${root}</option>`)}
      </select></label>` : ""}
    </fieldset>`;
}

// -- mending a loss -------------------------------------------------------------------------------------------------

export function Mending() {
  const one = mending.value;
  const ready = one !== null && trees.value[one.side] !== null;
  useEffect(() => {
    if (!one || !ready) return;
    lookAtNew(); // a mapping that was just opened is unfolded first
    reveal(one.side, one.lost);
    focusTree(one.side);
    say(`${one.lost.join("/")} was lost: draw an arrow ${one.side === "source" ? "from" : "to"} it`);
  }, [one, ready]);
  if (!one) return null;
  const line = one.proposal && !one.proposal.includes("...") ? one.proposal : null;
  return html`<div class="bar mending" role="status">
    <span><b class="mono"><${Text} value=${one.lost.join("/")} most=${200} /></b> was lost${one.proposal ? html`; what would carry it: <code><${Text} value=${one.proposal} most=${400} /></code>` : ""}</span>
    ${line ? html`<button class="primary" onClick=${() => { drawLine(line); mending.value = null; }}>Draw it</button>` : ""}
    <button onClick=${() => { mending.value = null; }}>Dismiss</button>
  </div>`;
}

