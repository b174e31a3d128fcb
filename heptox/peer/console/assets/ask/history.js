// What was asked in this tab, the latest first.
import { signal } from "../libraries.js";

/** @typedef {{text: string, items: number, complete: boolean, at: string}} Asked */

const KEPT = "heptox-asked";
const MOST = 50;

/** @type {import("../libraries.js").Signal<Asked[]>} */
export const asked = signal(kept());

/** @returns {Asked[]} */
function kept() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.text === "string") : [];
  } catch {
    return [];
  }
}

/** @param {Omit<Asked, "at">} one */
export function remember(one) {
  const at = new Date().toLocaleTimeString("en-GB");
  asked.value = [{ ...one, at }, ...asked.value.filter(({ text }) => text !== one.text)].slice(0, MOST);
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(asked.value));
  } catch {
    // what is too much to be kept is still there as long as the page is
  }
}
