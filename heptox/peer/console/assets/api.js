// The control API of the peer that serves this page. Every request carries the session's token.
import { ended } from "./shell.js";

/**
 * @typedef {{line: number, column: number, file: string | null}} Position
 * @typedef {{code: string, message: string, position: Position | null, excerpt: string | null,
 *   hint: string | null, file: string | null}} Fault
 */

const KEPT = "heptox-session";

/** What the peer refuses, or that it is not there: `faults` say why. */
export class Refused extends Error {
  /** @param {Fault[]} faults @param {number} status 0 when the peer is not reached */
  constructor(faults, status) {
    super(faults.map((fault) => told(fault)).join("\n"));
    this.faults = faults;
    this.status = status;
  }
}

/** A fault in one line, as the command line tells it. @param {Fault} fault */
export function told(fault) {
  const place = fault.position ? `${fault.position.line}:${fault.position.column}: ` : "";
  return `${place}${fault.code} ${fault.message}${fault.hint ? ` (${fault.hint})` : ""}`;
}

/** @param {string} message @returns {Fault} */
const unreached = (message) => ({ code: "HX7055", message, position: null, excerpt: null, hint: null, file: null });

/**
 * Begin a session by the ticket in the page's address, which is taken out of it; or go on with the one of this tab.
 * @returns {Promise<boolean>} whether there is one
 */
export async function openSession() {
  const ticket = location.hash.slice(1);
  if (ticket) {
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("/console/sessions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ticket }),
    });
    if (answer.ok) {
      sessionStorage.setItem(KEPT, (await answer.json()).token);
      ended.value = false;
    }
  }
  return sessionStorage.getItem(KEPT) !== null;
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] sent as JSON @param {AbortSignal} [signal]
 * @returns {Promise<Response>} an answer that was not refused
 */
async function request(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT) ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused([unreached("the peer does not answer: does its daemon run?")], 0);
  }
  if (answer.ok) return answer;
  if (answer.status === 401) ended.value = true;
  const text = await answer.text();
  /** @type {Fault[]} */
  let faults;
  try {
    faults = JSON.parse(text).faults;
  } catch {
    faults = [unreached(`the peer answers with status ${answer.status}`)];
  }
  throw new Refused(faults, answer.status);
}

/**
 * One operation, whose answer is JSON. Throws {@link Refused}.
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, signal) {
  return (await request(method, path, body, signal)).json();
}

/**
 * One operation, whose answer are JSON objects, one a line, as they come. Throws {@link Refused}, also for faults that
 * come as the last line.
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<any, void, void>}
 */
export async function* lines(method, path, body, signal) {
  const answer = await request(method, path, body, signal);
  if (!answer.body) return;
  let rest = "";
  for await (const piece of pieces(answer.body.pipeThrough(new TextDecoderStream()))) {
    const found = (rest + piece).split("\n");
    rest = found.pop() ?? "";
    for (const line of found) {
      const value = JSON.parse(line);
      if (value.faults && !value.loaded) throw new Refused(value.faults, 422);
      yield value;
    }
  }
}

/** @param {ReadableStream<string>} stream */
async function* pieces(stream) {
  const reader = stream.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * A text as one segment of a path. Throws {@link Refused} for what a browser takes for a way up, however it is written.
 * @param {string} text
 */
export function segment(text) {
  if (/^\.{1,2}$/.test(text)) throw new Refused([{ ...unreached(`${text} cannot be a name`), code: "HX7060" }], 422);
  return encodeURIComponent(text.toWellFormed()).replaceAll(".", "%2E");
}
