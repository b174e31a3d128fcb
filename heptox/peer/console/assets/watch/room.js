// The room in which one sees what goes on at the peer.
import { html, useEffect } from "../libraries.js";
import { room } from "../shell.js";
import { Acquaintances, Requests } from "./acquaintances.js";
import { Confirming } from "./acting.js";
import { Audit } from "./audit.js";
import { Documents } from "./documents.js";
import { Queries } from "./queries.js";
import { Publishers, Subscriptions } from "./subscriptions.js";
import { contact, watch } from "./watching.js";

export function WatchRoom() {
  const shown = room.value === "Watch";
  useEffect(() => (shown ? whileVisible(watch) : undefined), [shown]);
  return html`<div class="watch">
    <${Contact} />
    <div class="columns">
      <div><${Requests} /><${Acquaintances} /><${Queries} /><${Documents} /></div>
      <div><${Subscriptions} /><${Publishers} /></div>
      <div class="across"><${Audit} /></div>
    </div>
    <${Confirming} />
  </div>`;
}

/** Do something as long as the page is seen. @param {() => () => void} begin @returns {() => void} what ends it */
function whileVisible(begin) {
  let end = () => {};
  const change = () => {
    end();
    end = document.visibilityState === "visible" ? begin() : () => {};
  };
  document.addEventListener("visibilitychange", change);
  change();
  return () => {
    document.removeEventListener("visibilitychange", change);
    end();
  };
}

/** Whether the peer answers, in words. */
function Contact() {
  const { state, since } = contact.value;
  return html`<div role="status" class=${`contact ${state}`}>
    ${state === "away" ? html`<b>✗ The peer does not answer</b> since ${since}. What is shown is what it told last; it is looked for again every few seconds. If its daemon was started anew, the console is opened anew too: <code>heptox console</code>`
      : state === "ended" ? html`<b>✗ This session has ended</b> at ${since}: the peer's daemon was started anew. Open the console again: <code>heptox console</code>`
      : since ? html`✓ The peer answers again since ${since}.` : null}
  </div>`;
}
