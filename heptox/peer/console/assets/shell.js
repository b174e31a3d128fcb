// What all rooms share: which one is shown, whose console it is, and the line at the foot of the page.
import { effect, signal } from "./libraries.js";

/** The name of the room that is shown. */
export const room = signal("Arrows");

/**
 * The peer's status, as `GET /status` told it in the beginning.
 * @type {import("./libraries.js").Signal<{name: string, peer_id: string, root: string, acquaintances: any[]} | null>}
 */
export const peer = signal(null);

/** Whether the peer does not know this page's session any more. */
export const ended = signal(false);

/** What was said last; a screen reader reads it. */
export const said = signal("");

/** @param {string} text */
export function say(text) {
  said.value = text;
}

// What was said in one room is not about another.
effect(() => {
  if (room.value) said.value = "";
});
