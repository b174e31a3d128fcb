// A query as a text to read, in the colours of the editor.
import { html, useMemo } from "../libraries.js";
import { cut, pieces } from "../text.js";
import { tokens } from "./language.js";

const MOST = 20_000;

/** @param {{text: string}} props */
export function Code({ text }) {
  const lines = useMemo(() => tokens(cut(text, MOST)), [text]);
  return html`<code class="code">${lines.map((line, number) => html`${number ? "\n" : ""}${line.map((token) =>
    token.kind ? html`<span class=${`code-${token.kind}`}>${pieces(token.text)}</span>` : pieces(token.text))}`)}</code>`;
}
