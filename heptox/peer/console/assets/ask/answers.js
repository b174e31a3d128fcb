// The items of an answer: as a table of their leaves, and as XML.
import { html, useMemo, useRef, useState } from "../libraries.js";
import { say } from "../shell.js";
import { Text, counted, pieces, plain } from "../text.js";
import { MOST_COLUMNS } from "./answer.js";
import { documentOf, linesOf } from "./items.js";
import { Badge, From } from "./origins.js";
import { useWindow } from "./window.js";

/**
 * @typedef {import("./answer.js").Answer} Answer
 * @typedef {import("./answer.js").Row} Row
 */

const ROW = 26;
const LINE = 20;
const SHOWN = 300;
const FORMS = ["Table", "XML"];

/** @param {{answer: Answer}} props */
export function Answers({ answer }) {
  const [form, setForm] = useState("Table");
  const [onlyNew, setOnlyNew] = useState(false);
  const link = useRef(/** @type {HTMLAnchorElement | null} */ (null));
  const count = answer.shown.value;
  const rows = useMemo(() => (onlyNew ? answer.rows.filter((row) => !row.repeated) : answer.rows), [answer, count, onlyNew]);
  return html`
    <div class="bar answers-bar">
      <fieldset class="choice"><legend class="hidden">Shown as</legend>
        ${FORMS.map((name) => html`<label key=${name}><input type="radio" name="form" value=${name} checked=${form === name} onChange=${() => setForm(name)} />${name}</label>`)}
      </fieldset>
      ${answer.repeated ? html`<label><input type="checkbox" checked=${onlyNew} onChange=${() => setOnlyNew(!onlyNew)} /> Without what came again (${answer.repeated.toLocaleString("en")})</label>` : null}
      <span class="grow"></span>
      <button onClick=${() => copy(rows)} disabled=${!rows.length}>Copy</button>
      <button onClick=${() => download(rows, answer.query, link.current)} disabled=${!rows.length}>Download</button>
      <a ref=${link} hidden download="answer.xml"></a>
    </div>
    ${!rows.length ? html`<p class="empty faint">${noRows(answer)}</p>`
      : form === "Table" ? html`<${Table} answer=${answer} rows=${rows} count=${rows.length} />` : html`<${Written} rows=${rows} count=${rows.length} />`}`;
}

/** Why no item is there: only a complete answer without items says that there is nothing. @param {Answer} answer */
function noRows(answer) {
  if (answer.state.value === "asking") return "Nothing has come yet.";
  return answer.receipt.value?.complete ? "Nothing was found." : "Nothing came, and the answer is not complete.";
}

/** @param {{answer: Answer, rows: Row[], count: number}} props */
function Table({ answer, rows, count }) {
  const { box, onScroll, first, last, above, below } = useWindow(count, ROW);
  const columns = answer.columns;
  return html`<div class="answers scroll" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label="Answers as a table">
    <table aria-rowcount=${count + 1} aria-colcount=${columns.length + 2}>
      <colgroup><col class="column-number" /><col class="column-from" />${columns.map(({ name, width }) => html`<col key=${name} style=${{ width: `${width + 2}ch` }} />`)}<col /></colgroup>
      <thead><tr aria-rowindex="1"><th scope="col" class="number">#</th><th scope="col">From</th>
        ${columns.map(({ name }) => html`<th scope="col" key=${name} title=${plain(name)}><${Text} value=${name} most=${80} /></th>`)}<th class="rest"></th></tr></thead>
      <tbody>
        ${above ? html`<tr key="above" aria-hidden="true" class="space" style=${{ height: `${above}px` }}></tr>` : null}
        ${rows.slice(first, last).map((row, place) => html`<${TableRow} key=${first + place} row=${row} number=${first + place + 1} columns=${columns} />`)}
        ${below ? html`<tr key="below" aria-hidden="true" class="space" style=${{ height: `${below}px` }}></tr>` : null}
      </tbody>
    </table>
    ${answer.named.size >= MOST_COLUMNS ? html`<p class="faint">These are the first ${MOST_COLUMNS} columns; all there is stands in the XML.</p>` : null}
  </div>`;
}

/** @param {{row: Row, number: number, columns: import("./answer.js").Column[]}} props */
function TableRow({ row, number, columns }) {
  return html`<tr aria-rowindex=${number + 1} class=${row.repeated ? "repeated" : ""}>
    <td class="number">${number}</td>
    <td title=${plain(row.origin.path.join(" › "))}><${From} origin=${row.origin} />${row.repeated ? html` <span class="again" title="An equal item came before, from elsewhere">again</span>` : null}</td>
    ${columns.map(({ name }) => html`<td key=${name} title=${title(row.cells.get(name))}><${Text} value=${row.cells.get(name) ?? ""} most=${SHOWN} /></td>`)}
    <td class="rest"></td>
  </tr>`;
}

/** What does not fit is read by pointing at it, and in the XML. @param {string | undefined} value */
const title = (value) => (value && value.length > 24 ? plain(value, 1000) : undefined);

/** @param {{rows: Row[], count: number}} props */
function Written({ rows, count }) {
  const starts = useStarts(rows, count);
  const total = starts.at(-1) ?? 0;
  const { box, onScroll, first, last, above, below } = useWindow(total, LINE);
  return html`<div class="answers written scroll" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label="Answers as XML">
    <div style=${{ height: `${above}px` }}></div>
    ${shownLines(rows, starts, first, last).map(({ row, line, number, begins }) => html`
      <div class=${`xml-line ${row.repeated ? "repeated" : ""}`} key=${number}>
        <span class="gutter">${begins ? html`<${Badge} ...${row.origin} />` : null}</span>
        <code>${line.map(([kind, text]) => html`<span class=${`xml-${kind}`}>${pieces(text)}</span>`)}</code>
        ${begins ? html`<span class="origin faint"><${Text} value=${row.origin.path.join(" › ")} most=${200} />${row.repeated ? " · again" : ""}</span>` : null}
      </div>`)}
    <div style=${{ height: `${below}px` }}></div>
  </div>`;
}

/** Before which line each item begins; the last is how many lines there are. @param {Row[]} rows @param {number} count @returns {number[]} */
function useStarts(rows, count) {
  return useMemo(() => {
    const starts = [0];
    for (const row of rows) starts.push((starts.at(-1) ?? 0) + height(row));
    return starts;
  }, [rows, count]);
}

/** @type {WeakMap<Row, number>} */
const heights = new WeakMap();

/** How many lines an item takes. @param {Row} row */
function height(row) {
  const known = heights.get(row) ?? linesOf(row.item).length;
  heights.set(row, known);
  return known;
}

/** @param {Row[]} rows @param {number[]} starts @param {number} first @param {number} last */
function shownLines(rows, starts, first, last) {
  /** @type {{row: Row, line: import("./items.js").Line, number: number, begins: boolean}[]} */
  const found = [];
  for (let place = itemAt(starts, first); place < rows.length; place++) {
    const row = rows[place];
    const start = starts[place] ?? 0;
    if (!row || start >= last) break;
    for (const [offset, line] of linesOf(row.item).entries()) {
      const number = start + offset;
      if (number >= first && number < last) found.push({ row, line, number, begins: offset === 0 });
    }
  }
  return found;
}

/** The item that a line is of. @param {number[]} starts @param {number} line */
function itemAt(starts, line) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= line) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** @param {Row[]} rows */
async function copy(rows) {
  try {
    await navigator.clipboard.writeText(rows.map(({ item }) => `${item}\n`).join(""));
    say(`${counted(rows.length, "item")} copied, one below the other`);
  } catch {
    say("the browser does not let a page write to the clipboard");
  }
}

/** @param {Row[]} rows @param {string} query @param {HTMLAnchorElement | null} link */
function download(rows, query, link) {
  if (!link) return;
  const address = URL.createObjectURL(new Blob([documentOf(rows, query)], { type: "application/xml" }));
  link.href = address;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  say(`${counted(rows.length, "item")} written to answer.xml`);
}
