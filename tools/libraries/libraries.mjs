// What the console takes from libraries: its modules import from libraries.js, which is made of this.
export { render } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal } from "@preact/signals";
export { html } from "htm/preact";
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, isolateHistory, redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { searchKeymap } from "@codemirror/search";
export { EditorState, MapMode, Prec } from "@codemirror/state";
export { EditorView, drawSelection, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
export { tags } from "@lezer/highlight";
