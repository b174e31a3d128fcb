// Asking the network, and what was asked: the state that the room shows.
import { Refused, call, lines, segment, told } from "../api.js";
import { signal } from "../libraries.js";
import { say } from "../shell.js";
import { counted } from "../text.js";
import { Answer } from "./answer.js";
import { Steps } from "./completing.js";
import { remember } from "./history.js";

/**
 * @typedef {import("../api.js").Fault} Fault
 * @typedef {{path: string[], effect: string, arrow: string | null}} Loss
 * @typedef {{text: string | null, losses: Loss[], steps: {name: string, members: {tree: string, text: string}[]}[],
 *   faults: Fault[]}} Translation
 * @typedef {{name: string, peer_id: string, side: "source" | "target"}} Acquaintance
 */

/** The query in the editor. */
export const query = signal(sessionStorage.getItem("heptox-query") ?? "");
/** @type {import("../libraries.js").Signal<Fault[]>} */
export const faults = signal([]);
/** Seconds; nothing: what the peer is set to. */
export const timeout = signal("");
/** How far it may travel; nothing: what the peer is set to. */
export const hops = signal("");
export const explain = signal(true);
/** @type {import("../libraries.js").Signal<Answer | null>} */
export const answer = signal(null);
/** @type {import("../libraries.js").Signal<Steps | null>} */
export const steps = signal(null);
/** @type {import("../libraries.js").Signal<Acquaintance[]>} */
export const acquaintances = signal([]);
/** How the query is translated for acquaintances, by peer id, where the receipt tells of losses. @type {import("../libraries.js").Signal<Map<string, Translation>>} */
export const translations = signal(new Map());

const CHECKED_AFTER = 300;
/** @type {AbortController | null} */
let checking = null;
let waiting = 0;

/** The query was changed; it is checked when no key is pressed for a moment. @param {string} text */
export function change(text) {
  query.value = text;
  sessionStorage.setItem("heptox-query", text);
  checking?.abort();
  clearTimeout(waiting);
  if (text.trim()) waiting = window.setTimeout(() => check(text), CHECKED_AFTER);
  else faults.value = [];
}

/** @param {string} text */
async function check(text) {
  const controller = checking = new AbortController();
  try {
    const found = await call("POST", "/queries/check", { query: text }, controller.signal);
    if (!controller.signal.aborted) faults.value = found.faults;
  } catch (error) {
    if (controller.signal.aborted) return;
    if (!(error instanceof Refused)) throw error;
    faults.value = error.faults;
  }
}

/** Load the own schema, for completions, once. */
export async function learnSchema() {
  try {
    steps.value ??= new Steps(await call("GET", "/schema"));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.faults.map(told).join(" "));
  }
}

/** Ask what the editor holds. */
export async function ask() {
  if (!query.value.trim() || answer.value?.state.value === "asking") return;
  const asked = new Answer(query.value, explain.value);
  answer.value = asked;
  faults.value = [];
  translations.value = new Map();
  say("asking …");
  try {
    await receive(asked);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    asked.end(error.status === 0 ? "lost" : "refused", null);
    faults.value = error.faults;
    say(error.faults.map(told).join(" "));
  }
}

/** @param {Answer} asked */
async function receive(asked) {
  const own = await underWay();
  identify(asked, own);
  for await (const line of lines("POST", "/queries", question(asked))) {
    if (line.receipt) conclude(asked, line.receipt);
    else asked.take(line);
  }
  if (asked.state.value === "asking") throw new Refused([fault("the answer ended before its receipt came: the peer was lost")], 0);
}

/** @param {string} message @returns {Fault} */
const fault = (message) => ({ code: "HX7055", message, position: null, excerpt: null, hint: null, file: null });

/** @param {Answer} asked */
function question(asked) {
  /** @type {{query: string, explain: boolean, timeout?: number, hops?: number}} */
  const body = { query: asked.query, explain: asked.explained };
  if (timeout.value) body.timeout = Number(timeout.value);
  if (hops.value) body.hops = Number(hops.value);
  return body;
}

/** @param {Answer} asked @param {import("./answer.js").Receipt} receipt */
function conclude(asked, receipt) {
  asked.end("ended", receipt);
  remember({ text: asked.query, items: receipt.items, complete: receipt.complete });
  say(`${receipt.complete ? "The answer is complete" : "The answer is not complete"}: ${counted(receipt.items, "item")}`);
  learnLosses(asked, receipt);
}

/** @returns {Promise<{query: string, text: string}[]>} */
async function underWay() {
  return (await call("GET", "/queries")).own;
}

/** @type {WeakMap<Answer, Set<string>>} the queries that were under way before one was asked */
const before = new WeakMap();

/** @param {Answer} asked @param {{query: string}[]} own */
function identify(asked, own) {
  before.set(asked, new Set(own.map((one) => one.query)));
}

/** End the query that is under way: its receipt comes as ever. */
export async function cancel() {
  const asked = answer.value;
  if (!asked || asked.state.value !== "asking" || asked.cancelled) return;
  asked.cancelled = true;
  say("cancelling …");
  try {
    while (asked.state.value === "asking" && !(await end(asked))) await new Promise((resume) => setTimeout(resume, 100));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    asked.cancelled = false;
    say(error.faults.map(told).join(" "));
  }
}

/** Whether a query was found and ended. @param {Answer} asked */
async function end(asked) {
  const found = (await underWay()).find((one) => one.text === asked.query && !before.get(asked)?.has(one.query));
  if (!found) return false;
  try {
    await call("DELETE", `/queries/${segment(found.query)}`);
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 0) throw error;
  }
  return true;
}

/** Ask how the query is translated for the acquaintances at which something of it was lost. @param {Answer} asked @param {import("./answer.js").Receipt} receipt */
async function learnLosses(asked, receipt) {
  try {
    acquaintances.value = await call("GET", "/acquaintances");
    for (const line of receipt.lines) {
      if (line.path.length === 2 && line.losses.length) await translation(asked, line.peer);
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.faults.map(told).join(" "));
  }
}

/** How the query of an answer is translated for an acquaintance. @param {Answer} asked @param {string} peer @returns {Promise<Translation>} */
export async function translation(asked, peer) {
  const known = translations.value.get(peer);
  if (known) return known;
  const found = await call("POST", `/acquaintances/${segment(peer)}/translation`, { query: asked.query });
  if (answer.value === asked) translations.value = new Map(translations.value).set(peer, found);
  return found;
}
