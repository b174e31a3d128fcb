// What the peer tells of itself, looked at again and again as long as somebody watches.
import { Refused, call, lines, told } from "../api.js";
import { batch, signal } from "../libraries.js";

/**
 * @typedef {{name: string, peer_id: string, address: string, side: "source" | "target", standing: string, reason: string,
 *   version: number, connected: boolean, fault: string}} Acquaintance
 * @typedef {Acquaintance & {digest: string, mapping: string, files: Record<string, string>}} Request
 * @typedef {{query: string, text: string, items: number}} OwnQuery
 * @typedef {{query: string, neighbour: string, name: string, asker: string, path: string[], items: number,
 *   milliseconds: number}} NeighboursQuery
 * @typedef {{name: string, xpath: string, words: string, deliver: string, policy: string, most: number, last: number,
 *   delivered: number, acknowledged: number, backlog: number, lag: number | null, dead_letters: number, forgotten: number,
 *   suspended: string | null}} Subscription
 * @typedef {{publisher: string, name: string, path: string[], advertised: string | null, interested: number,
 *   position: number | null, live: boolean, words: string | null, words_reason: string | null}} Publisher
 * @typedef {{name: string, bytes: number, fits: boolean | null, loaded: string}} Document
 * @typedef {{time: string | null, event: string, [field: string]: unknown}} AuditLine
 * @typedef {{state: "fine" | "away" | "ended", since: string}} Contact `ended`: so is the session
 */

/** How many rows of a kind are shown. */
export const MOST = 500;
const AUDIT = 100;
const EVERY = 2000;
const DEADLINE = 5000;

/** @type {import("../libraries.js").Signal<Acquaintance[] | null>} */
export const acquaintances = signal(null);
/** @type {import("../libraries.js").Signal<Request[] | null>} */
export const requests = signal(null);
/** @type {import("../libraries.js").Signal<{own: OwnQuery[], neighbours: NeighboursQuery[]} | null>} */
export const queries = signal(null);
/** @type {import("../libraries.js").Signal<Subscription[] | null>} */
export const subscriptions = signal(null);
/** @type {import("../libraries.js").Signal<{publishers: Publisher[]} | null>} */
export const feeds = signal(null);
/** @type {import("../libraries.js").Signal<Document[] | null>} */
export const documents = signal(null);
/** The newest first. @type {import("../libraries.js").Signal<AuditLine[] | null>} */
export const audit = signal(null);
/** @type {import("../libraries.js").Signal<Contact>} */
export const contact = signal({ state: "fine", since: "" });
/** Why a kind cannot be told, by its name. @type {import("../libraries.js").Signal<Record<string, string>>} */
export const troubles = signal({});

/** @type {Record<string, [import("../libraries.js").Signal<any>, (signal: AbortSignal) => Promise<unknown>]>} */
const KINDS = {
  acquaintances: [acquaintances, (signal) => call("GET", "/acquaintances", undefined, signal)],
  requests: [requests, (signal) => call("GET", "/requests", undefined, signal)],
  queries: [queries, (signal) => call("GET", "/queries", undefined, signal)],
  feeds: [feeds, (signal) => call("GET", "/feeds", undefined, signal)],
  documents: [documents, (signal) => call("GET", "/documents", undefined, signal)],
  subscriptions: [subscriptions, (signal) => some("/subscriptions", MOST + 1, signal)],
  audit: [audit, async (signal) => (await some(`/audit?last=${AUDIT}`, AUDIT, signal)).reverse()],
};

/** The first lines of an answer. @param {string} path @param {number} most @param {AbortSignal} signal */
async function some(path, most, signal) {
  const found = [];
  for await (const line of lines("GET", path, undefined, signal)) {
    found.push(line);
    if (found.length >= most) break;
  }
  return found;
}

/** What was told last, as text: what is the same is not drawn again. @type {Map<string, string>} */
const last = new Map();

/** Look once at everything. */
export async function look() {
  const deadline = AbortSignal.timeout(DEADLINE);
  const names = Object.keys(KINDS);
  const found = await Promise.allSettled(names.map((name) => KINDS[name]?.[1](deadline)));
  batch(() => {
    contact.value = contactAfter(found);
    if (contact.value.state !== "fine") return;
    found.forEach((one, place) => note(names[place] ?? "", one));
  });
}

/** @param {PromiseSettledResult<unknown>[]} found @returns {Contact} */
function contactAfter(found) {
  const refusals = found.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  const state = refusals.some((reason) => reason instanceof Refused && reason.status === 401) ? "ended"
    : refusals.some((reason) => !(reason instanceof Refused) || reason.status === 0) ? "away" : "fine";
  if (state === contact.value.state) return contact.value;
  return { state, since: new Date().toLocaleTimeString("en-GB") };
}

/** @param {string} name @param {PromiseSettledResult<unknown>} one */
function note(name, one) {
  const trouble = one.status === "rejected" && one.reason instanceof Refused ? one.reason.faults.map(told).join(" ") : "";
  if ((troubles.value[name] ?? "") !== trouble) troubles.value = { ...troubles.value, [name]: trouble };
  if (one.status === "rejected") return;
  const text = JSON.stringify(one.value);
  if (last.get(name) === text) return;
  last.set(name, text);
  const kind = KINDS[name];
  if (kind) kind[0].value = one.value;
}

/** Look again and again; what is returned ends it. A look that takes long is followed by a longer pause. @returns {() => void} */
export function watch() {
  let ended = false;
  let waiting = 0;
  const go = async () => {
    const begun = performance.now();
    await look();
    if (!ended && contact.value.state !== "ended") waiting = window.setTimeout(go, Math.max(EVERY, 5 * (performance.now() - begun)));
  };
  go();
  return () => {
    ended = true;
    clearTimeout(waiting);
  };
}
