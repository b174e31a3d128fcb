// A text editor for the small languages of heptox: CodeMirror, with what both editors share.
import {
  EditorState, EditorView, Prec, bracketMatching, completionKeymap, autocompletion, defaultKeymap,
  drawSelection, highlightSpecialChars, history, historyKeymap, HighlightStyle, html, keymap, lintGutter, lintKeymap, lineNumbers, searchKeymap,
  setDiagnostics, syntaxHighlighting, tags, useEffect, useRef,
} from "./libraries.js";

/** @typedef {import("./api.js").Fault} Fault */

const nonce = /** @type {HTMLLinkElement} */ (document.getElementById("style"))?.nonce ?? "";

/** Colours are tokens of style.css, so that light and dark are decided in one place. */
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.number, color: "var(--string)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: tags.variableName, color: "var(--variable)" },
  { tag: tags.propertyName, color: "var(--text)" },
  { tag: tags.attributeName, color: "var(--attribute)" },
  { tag: tags.typeName, color: "var(--box)" },
  { tag: tags.operator, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.tagName, color: "var(--keyword)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", maxWidth: "60ch" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
});

/**
 * The place of a fault in a text: from its position to the end of the word there.
 * @param {EditorState} state @param {Fault} fault @returns {{from: number, to: number}}
 */
function extent(state, fault) {
  const place = fault.position;
  if (!place || place.line > state.doc.lines) return { from: 0, to: 0 };
  const line = state.doc.line(Math.max(place.line, 1));
  // positions count characters, a text in the browser counts 16-bit units
  const before = [...line.text].slice(0, place.column - 1).join("").length;
  const from = Math.min(line.from + before, line.to);
  const word = /^[\w@[\]/().:-]+/.exec(line.text.slice(from - line.from));
  return { from, to: Math.min(from + Math.max(word?.[0].length ?? 1, 1), line.to) };
}

/** Type over a selection: the browser would do it by styles in the page, which its policy forbids.
 * @param {InputEvent} event @param {EditorView} view */
function replaceSelection(event, view) {
  if (event.inputType !== "insertText" || !event.data || view.composing || view.state.selection.main.empty) return false;
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  return true;
}

/**
 * The text of a document can be changed by others than the person at the keyboard: `view` is handed to `onView`.
 * @param {object} props
 * @param {string} props.label what a screen reader calls it
 * @param {string} props.value its text in the beginning
 * @param {(text: string, update: any) => void} props.onChange the text, and the change as the editor has it
 * @param {(view: EditorView | null) => void} [props.onView]
 * @param {(line: number) => void} [props.onLine] the cursor came to a line
 * @param {Fault[]} props.faults
 * @param {any[]} [props.extensions] language, completions
 * @param {Record<string, () => boolean>} [props.keys] commands by key
 */
export function Editor({ label, value, onChange, onView, onLine, faults, extensions = [], keys = {} }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const view = useRef(/** @type {EditorView | null} */ (null));
  const latest = useRef({ onChange, onLine });
  latest.current = { onChange, onLine };
  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ "aria-label": label }),
          Prec.highest(keymap.of(Object.entries(keys).map(([key, run]) => ({ key, run: () => run() })))),
          keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
          history({ newGroupDelay: 400 }), lineNumbers(), lintGutter(), drawSelection(), highlightSpecialChars(), bracketMatching(),
          EditorView.domEventHandlers({ beforeinput: replaceSelection }),
          autocompletion({ icons: false }), syntaxHighlighting(colours), look, extensions,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString(), update);
            if (update.selectionSet) {
              latest.current.onLine?.(update.state.doc.lineAt(update.state.selection.main.head).number);
            }
          }),
        ],
      }),
    });
    view.current = made;
    onView?.(made);
    return () => {
      onView?.(null);
      made.destroy();
    };
  }, []);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const diagnostics = faults.map((fault) => ({
      ...extent(made.state, fault),
      severity: /** @type {"error"} */ ("error"),
      message: `${fault.code} ${fault.message}${fault.hint ? `\n${fault.hint}` : ""}`,
    }));
    made.dispatch(setDiagnostics(made.state, diagnostics.sort((one, other) => one.from - other.from)));
  }, [faults]);
  return html`<div class="editor" ref=${place}></div>`;
}
