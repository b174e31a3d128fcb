// The query language by its tokens: for colours in the editor and in texts, and for what can be completed where. What is
// outside the fragment is not told here: the peer does that.
import { StreamLanguage } from "../libraries.js";
import { NAME } from "./names.js";

/**
 * @typedef {"expression" | "tag" | "content" | "comment" | "'" | "\"" | "value'" | "value\""} Mode
 * @typedef {"keyword" | "variableName" | "propertyName" | "attributeName" | "typeName" | "string" | "number" | "comment"
 *   | "operator" | "bracket" | "tagName"} Kind
 * @typedef {{modes: Mode[], operand: boolean, slash: boolean}} State `operand`: one stands before, so an operator or a
 *   keyword may follow; `slash`: a step follows
 * @typedef {{match: (pattern: RegExp, consume?: boolean) => any, next: () => any, eatSpace: () => boolean,
 *   eol: () => boolean}} Stream
 * @typedef {{kind: Kind | null, text: string, from: number, mode: Mode}} Token
 */

const STEP = new RegExp(`^(Q\\{[^{}]*\\}(${NAME}|\\*)|\\*:${NAME}|${NAME}(:(?!:)(${NAME}|\\*)?)?)`, "u");
const DECLARING = /^declare\s+(default\s+element\s+)?namespace(?=\s)/;
const VARIABLE = new RegExp(`^\\$(${NAME})?`, "u");
const ATTRIBUTE = new RegExp(`^@(Q\\{[^{}]*\\}(${NAME}|\\*)|\\*:${NAME}|${NAME}(:(?!:)(${NAME}|\\*)?)?|\\*)?`, "u");
const OPENING = new RegExp(`^<${NAME}(:${NAME})?`, "u");
const CLOSING = new RegExp(`^</${NAME}(:${NAME})?\\s*>?`, "u");
const AFTER_OPERAND = /^(in|where|return|and|or|for|let|ascending|descending)$/i;

/** @returns {State} */
export const begin = () => ({ modes: ["expression"], operand: false, slash: false });

/** Read the next token. @param {Stream} stream @param {State} state @returns {Kind | null} */
function token(stream, state) {
  const mode = state.modes.at(-1) ?? "expression";
  if (mode === "comment") return inComment(stream, state);
  if (mode === "'" || mode === "\"") return inString(stream, state, mode);
  if (mode === "tag") return inTag(stream, state);
  if (mode === "content") return inContent(stream, state);
  if (mode.startsWith("value")) return inValue(stream, state, mode.slice(5));
  return inExpression(stream, state);
}

/** @param {Stream} stream @param {State} state @returns {Kind} */
function inComment(stream, state) {
  if (stream.match(/^:\)/)) state.modes.pop();
  else if (stream.match(/^\(:/)) state.modes.push("comment");
  else if (!stream.match(/^[^:(]+/)) stream.next();
  return "comment";
}

/** @param {Stream} stream @param {State} state @param {string} quote @returns {Kind} */
function inString(stream, state, quote) {
  if (stream.match(quote === "'" ? /^([^']|'')+/ : /^([^"]|"")+/)) return "string";
  stream.next();
  state.modes.pop();
  state.operand = true;
  return "string";
}

/** @param {Stream} stream @param {State} state @returns {Kind | null} */
function inTag(stream, state) {
  if (stream.eatSpace()) return null;
  if (stream.match(/^\/>/)) return close(state);
  if (stream.match(/^>/)) {
    state.modes.splice(-1, 1, "content");
    return "tagName";
  }
  const quote = stream.match(/^["']/);
  if (quote) {
    state.modes.push(quote[0] === "'" ? "value'" : "value\"");
    return "string";
  }
  if (stream.match(STEP)) return "attributeName";
  stream.next();
  return "operator";
}

/** @param {State} state @returns {Kind} */
function close(state) {
  state.modes.pop();
  state.operand = true;
  return "tagName";
}

/** @param {Stream} stream @param {State} state @param {string} quote @returns {Kind} */
function inValue(stream, state, quote) {
  if (stream.match(/^(\{\{|\}\})/)) return "string";
  if (stream.match(/^\{/)) return open(state);
  if (stream.match(quote === "'" ? /^([^'{}]|'')+/ : /^([^"{}]|"")+/)) return "string";
  if (stream.next() === quote) state.modes.pop();
  return "string";
}

/** @param {Stream} stream @param {State} state @returns {Kind | null} */
function inContent(stream, state) {
  if (stream.match(/^(\{\{|\}\})/)) return null;
  if (stream.match(/^\{/)) return open(state);
  if (stream.match(CLOSING)) return close(state);
  if (stream.match(OPENING)) {
    state.modes.push("tag");
    return "tagName";
  }
  if (!stream.match(/^[^<{}]+/)) stream.next();
  return null;
}

/** @param {State} state @returns {Kind} */
function open(state) {
  state.modes.push("expression");
  state.operand = state.slash = false;
  return "bracket";
}

/** @param {Stream} stream @param {State} state @returns {Kind | null} */
function inExpression(stream, state) {
  if (stream.eatSpace()) return null;
  if (stream.match(/^\(:/)) {
    state.modes.push("comment");
    return "comment";
  }
  const { slash } = state;
  state.slash = false;
  const quote = stream.match(/^["']/);
  if (quote) {
    state.modes.push(quote[0]);
    return "string";
  }
  if (!state.operand && stream.match(OPENING)) {
    state.modes.push("tag");
    return "tagName";
  }
  if (stream.match(DECLARING)) return "keyword";
  if (stream.match(VARIABLE)) return operand(state, "variableName");
  if (stream.match(ATTRIBUTE)) return operand(state, "attributeName");
  if (stream.match(/^(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?/i)) return operand(state, "number");
  const name = stream.match(STEP);
  if (name) return named(stream, state, name[0], slash);
  return sign(stream, state);
}

/** @param {State} state @param {Kind} kind */
function operand(state, kind) {
  state.operand = true;
  return kind;
}

/** A keyword, a function or a step. @param {Stream} stream @param {State} state @param {string} name @param {boolean} slash */
function named(stream, state, name, slash) {
  const keyword = !slash && (state.operand
    ? AFTER_OPERAND.test(name) || (/^order$/i.test(name) && stream.match(/^\s+by(?![\w.-])/i))
    : (/^(for|let)$/i.test(name) && stream.match(/^\s*(\$|$)/, false)) || (/^(text|except)$/.test(name) && stream.match(/^\s*[{(]/, false)));
  const except = name === "except" && stream.match(/^\s*\(/, false);
  if (keyword || except) {
    state.operand = false;
    return "keyword";
  }
  if (stream.match(/^\s*\(/, false)) {
    state.operand = false;
    return "typeName";
  }
  return operand(state, "propertyName");
}

/** @param {Stream} stream @param {State} state @returns {Kind} */
function sign(stream, state) {
  if (stream.match(/^\/\/?/)) {
    state.operand = false;
    state.slash = true;
    return "operator";
  }
  if (stream.match(/^(!=|<=|>=|:=|::|[=<>|,])/)) {
    state.operand = false;
    return "operator";
  }
  const found = stream.next();
  if (found === "{") return open(state);
  if (found === "}" && state.modes.length > 1) state.modes.pop();
  state.operand = found === ")" || found === "]" || found === "}" || found === "." || (found === "*" && !state.operand);
  return "()[]{}".includes(found) ? "bracket" : found === "*" ? "propertyName" : "operator";
}

/** The query language for an editor. */
export const queryLanguage = StreamLanguage.define({
  name: "query",
  startState: begin,
  copyState: (/** @type {State} */ state) => ({ ...state, modes: [...state.modes] }),
  token,
  languageData: { commentTokens: { block: { open: "(:", close: ":)" } }, closeBrackets: { brackets: ["(", "[", "{", "\"", "'"] } },
});

/** A line as the stream that {@link token} reads. @implements {Stream} */
class Line {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /** @param {RegExp} pattern @param {boolean} [consume] */
  match(pattern, consume = true) {
    const found = pattern.exec(this.text.slice(this.at));
    if (found && consume) this.at += found[0].length;
    return found;
  }

  next() {
    return this.text[this.at++];
  }

  eatSpace() {
    return this.match(/^\s+/) !== null;
  }

  eol() {
    return this.at >= this.text.length;
  }
}

/** The tokens of each line of a query, spaces among them. @param {string} text @returns {Token[][]} */
export function tokens(text) {
  const state = begin();
  let start = 0;
  return text.split("\n").map((content) => {
    const line = new Line(content);
    /** @type {Token[]} */
    const found = [];
    while (!line.eol()) {
      const from = line.at;
      const mode = state.modes.at(-1) ?? "expression";
      const kind = token(line, state);
      if (line.at === from) line.at += 1;
      found.push({ kind, text: content.slice(from, line.at), from: start + from, mode });
    }
    start += content.length + 1;
    return found;
  });
}
