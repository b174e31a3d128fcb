// Texts of others, as they are: what cannot be seen, or turns the direction of what follows, is shown by its number.
import { html } from "./libraries.js";

/**
 * Controls, marks of direction, blanks without width or with one, tags, halves of characters. Joiners and selectors of
 * variants are not among them, which names in some scripts, and emoji, are written with.
 */
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]|\p{Cs}/gu;

/** How an unseen character is written. @param {string} character */
const numbered = (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The beginning of a text that is too long, and what is left out. @param {string} text @param {number} most */
export function cut(text, most) {
  if (text.length <= most) return text;
  return `${text.slice(0, most)} … (${text.length.toLocaleString("en")} characters)`;
}

/** A name without its namespace. @param {string} name */
export const localName = (name) => name.replace(/^.*[:}]/, "");

/** A text where only text can be: in titles, and in the names that a screen reader reads. @param {string} text */
export const plain = (text, most = 300) => cut(text, most).replace(UNSEEN, (found) => `⟨${numbered(found)}⟩`);

/** The pieces of a text in which what is unseen is numbered. @param {string} text @returns {any} */
export function pieces(text) {
  if (text.search(UNSEEN) < 0) return text;
  /** @type {any[]} */
  const found = [];
  let done = 0;
  for (const match of text.matchAll(UNSEEN)) {
    found.push(text.slice(done, match.index), html`<span class="unseen">${numbered(match[0])}</span>`);
    done = match.index + match[0].length;
  }
  return [...found, text.slice(done)];
}

/**
 * A text of others among texts of ours. Its direction does not reach beyond it.
 * @param {{value: string, most?: number}} props `most` characters are shown
 */
export function Text({ value, most = 2000 }) {
  return html`<bdi>${pieces(cut(value, most))}</bdi>`;
}

/** "1 item", "2,000 items". @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Milliseconds, as short as they can be read. @param {number} milliseconds */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  return `${minutes} min ${Math.floor((milliseconds % 60_000) / 1000)} s`;
}
