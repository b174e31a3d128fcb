// The shell: whose console it is, and its rooms.
import { Refused, call, openSession, told } from "./api.js";
import { ArrowsRoom } from "./arrows/room.js";
import { AskRoom } from "./ask/room.js";
import { html, render, signal, useEffect } from "./libraries.js";
import { ended, peer, room, said, say } from "./shell.js";
import { Tabs } from "./tabs.js";
import { Text, localName, plain } from "./text.js";
import { WatchRoom } from "./watch/room.js";

/** @type {{name: string, key: string, Room: () => any}[]} */
const ROOMS = [
  { name: "Arrows", key: "1", Room: ArrowsRoom },
  { name: "Ask", key: "2", Room: AskRoom },
  { name: "Watch", key: "3", Room: WatchRoom },
];
const TABS = ROOMS.map(({ name, key }) => ({ name, title: `Alt+${key}` }));

const THEMES = ["auto", "light", "dark"];
const theme = signal(localStorage.getItem("heptox-theme") ?? "auto");
/** @type {import("./libraries.js").Signal<"opening" | "open" | "closed">} */
const session = signal("opening");

function Console() {
  useEffect(() => {
    document.documentElement.dataset.theme = theme.value;
  }, [theme.value]);
  if (session.value === "opening") return html`<p class="notice" role="status">Opening the console …</p>`;
  if (session.value === "closed") return html`<${Closed} />`;
  return html`
    <header class="shell">
      <h1>heptox</h1>
      <${Tabs} label="Rooms" prefix="room" kind="tabs" tabs=${TABS} selected=${room.value} onSelect=${(/** @type {string} */ name) => { room.value = name; }} />
      <span class="grow"></span>
      <span class="peer">${peer.value ? html`<b><${Text} value=${peer.value.name} most=${60} /></b> · schema <${Text} value=${localName(peer.value.root)} most=${60} />` : "…"}</span>
      <button class="quiet" onClick=${nextTheme} aria-label=${`Colours: ${theme.value}. Change`} title="Light, dark, or as the system has it">
        ${theme.value === "dark" ? "◐ dark" : theme.value === "light" ? "◑ light" : "◒ auto"}
      </button>
    </header>
    ${ended.value ? html`<p class="bar ended" role="alert">The session of this page has ended, as the peer was started anew. What is not saved is kept in this tab:
      let <code>heptox console</code> make another address, and open it here.</p>` : ""}
    <main>
      ${ROOMS.map(
        ({ name, Room }) => html`
          <section key=${name} id=${`room-panel-${name}`} role="tabpanel" aria-labelledby=${`room-tab-${name}`} hidden=${room.value !== name}>
            <${Room} />
          </section>`,
      )}
    </main>
    <footer class="shell" role="status" aria-live="polite"><${Text} value=${said.value} most=${400} /></footer>`;
}

function Closed() {
  return html`<div class="notice" role="alert">
    <h1>This page is not open any more</h1>
    <p>A console is opened by the command, which lets in only who may read the peer's folder:</p>
    <pre>heptox console</pre>
  </div>`;
}

function nextTheme() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
  theme.value = next;
  localStorage.setItem("heptox-theme", next);
}

/** @param {KeyboardEvent} event */
function switchRoom(event) {
  const found = event.altKey && !event.ctrlKey && ROOMS.find(({ key }) => key === event.key);
  if (!found) return;
  room.value = found.name;
  document.getElementById(`room-tab-${found.name}`)?.focus();
  event.preventDefault();
}

async function start() {
  if (!(await openSession())) {
    session.value = "closed";
    return;
  }
  try {
    peer.value = await call("GET", "/status");
    session.value = "open";
    document.title = `${plain(peer.value?.name ?? "", 60)} · heptox`;
  } catch (error) {
    session.value = "closed";
    if (error instanceof Refused && error.status === 0) say(error.faults.map(told).join(" "));
  }
}

addEventListener("keydown", switchRoom);
addEventListener("hashchange", start); // another ticket, in the same tab
render(html`<${Console} />`, /** @type {HTMLElement} */ (document.getElementById("console")));
start();
