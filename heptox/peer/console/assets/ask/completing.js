// What can stand at a place of a query: steps of one's own schema, as far as the path before tells where it is; variables
// that are bound above; keywords and functions of the fragment.
import { attributeType, typeOf } from "../schema.js";
import { tokens } from "./language.js";
import { NAME } from "./names.js";

/**
 * @typedef {import("../schema.js").Schema} Schema
 * @typedef {import("./language.js").Token} Token
 * @typedef {Set<string> | null} Here the element types at which a path is, as the schema calls them; null: nobody knows
 * @typedef {{kind: "step" | "attribute" | "variable" | "open" | "none", here: Here, deep: boolean, context: Here,
 *   variables: Map<string, Here>, from: number, operand: boolean}} Place `deep`: behind `//`; `context`: that of a
 *   predicate; `operand`: one stands before
 * @typedef {{label: string, detail?: string, type?: string, apply?: string, boost?: number, info?: string}} Choice
 */

/** What a query says of a prefix. */
const DECLARED = new RegExp(`\\bdeclare\\s+namespace\\s+(${NAME})\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "gu");
const WORD = new RegExp(`^[$@]?(${NAME}(:(${NAME})?)?)?$`, "u");
/** The node above the root. No element has this name. */
const DOCUMENT = "";
const KEYWORDS = ["for", "let", "where", "return", "order by", "in", "and", "or", "ascending", "descending"];
/** @type {[string, string][]} */
const FUNCTIONS = [
  ["data", "the value of a path"], ["exists", "whether a path is there"], ["empty", "whether a path is not there"],
  ["not", "whether a path is not there"], ["number", "a path compared as a number"], ["deep-equal", "whether two paths are equal"],
  ["starts-with", "how a path's value begins"],
];

/** Which steps lead where in a schema. */
export class Steps {
  /** @param {Schema} schema */
  constructor(schema) {
    this.root = schema.type;
    this.prefixes = schema.prefixes;
    this.elements = new Map(schema.elements.map((element) => [typeOf(element), element]));
    this.all = new Set(this.elements.keys());
  }

  /** What elements of a type are called. @param {string} type */
  nameOf(type) {
    return this.elements.get(type)?.name ?? type;
  }

  /** @param {string} type @returns {import("../schema.js").Child[]} */
  children(type) {
    return type === DOCUMENT ? [{ name: this.nameOf(this.root), type: this.root, cardinality: "1" }] : this.elements.get(type)?.children ?? [];
  }

  /** Whether a step can name an element. @param {string} step @param {string} name @param {import("../schema.js").Prefixes} bound those of the query */
  names(step, name, bound) {
    if (step === "*" || step === name) return true;
    const [, uri, prefix, local] = /^(?:Q\{([^}]*)\}|([^:]*):)?(.*)$/.exec(step) ?? [];
    const [own, its = ""] = name.split(":").reverse();
    if (local !== own && local !== "*") return false;
    return prefix === "*" || (uri ?? bound[prefix ?? ""] ?? "") === (this.prefixes[its] ?? "");
  }

  /** Everything below, itself left out unless it stands below itself. @param {Iterable<string>} types */
  below(types) {
    /** @type {Set<string>} */
    const found = new Set();
    const waiting = [...types];
    for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
      for (const child of this.children(type)) {
        if (!found.has(typeOf(child))) {
          found.add(typeOf(child));
          waiting.push(typeOf(child));
        }
      }
    }
    return found;
  }

  /** @param {Here} here @param {string} step @param {boolean} deep @param {import("../schema.js").Prefixes} bound @returns {Here} */
  step(here, step, deep, bound) {
    const from = here ?? this.all;
    const reached = deep ? this.below(from) : new Set([...from].flatMap((type) => this.children(type).map(typeOf)));
    return new Set([...reached].filter((type) => this.names(step, this.nameOf(type), bound)));
  }
}

/** A walk over the tokens before a place, which keeps where the path is that is being written. */
class Walk {
  /** @param {Steps} steps @param {import("../schema.js").Prefixes} bound */
  constructor(steps, bound) {
    this.steps = steps;
    this.bound = bound;
    /** @type {Map<string, Here>} */
    this.variables = new Map();
    /** @type {{bracket: string, here: Here, context: Here, found: Set<string>, binding: string | null}[]} */
    this.open = [];
    /** @type {Here} */
    this.here = null;
    /** @type {Here} */
    this.context = null;
    /** @type {string | null} the variable that the path is bound to */
    this.binding = null;
    this.slash = "";
    this.last = "";
    this.operand = false;
  }

  /** @param {Token} token */
  take(token) {
    const { kind, text, mode } = token;
    if (kind === null || kind === "comment" || mode !== "expression") return;
    if (kind === "variableName") this.variable(text);
    else if (kind === "propertyName") this.move(text);
    else if (kind === "attributeName" || kind === "string" || kind === "number") this.end();
    else if (kind === "keyword") this.keyword(text.toLowerCase());
    else if (kind === "typeName") this.last = text;
    else this.sign(text);
  }

  /** @param {string} name */
  variable(name) {
    this.last = name;
    this.here = this.variables.get(name) ?? null;
    this.slash = "";
    this.operand = true;
    this.bind();
  }

  /** @param {string} step */
  move(step) {
    const from = this.slash ? this.here : this.context;
    this.here = this.slash || this.context ? this.steps.step(from, step, this.slash === "//", this.bound) : null;
    this.slash = "";
    this.operand = true;
    this.bind();
  }

  /** The path is at a value, below which there is nothing. */
  end() {
    this.here = new Set();
    this.slash = "";
    this.operand = true;
  }

  bind() {
    if (this.binding !== null) this.variables.set(this.binding, this.here);
  }

  /** @param {string} word */
  keyword(word) {
    this.here = null;
    this.slash = "";
    this.operand = false;
    this.binding = word === "in" ? this.last : null;
  }

  /** @param {string} text */
  sign(text) {
    if (text === "/" || text === "//") {
      if (!this.operand) this.here = new Set([DOCUMENT]);
      this.slash = text;
      this.operand = false;
    } else if (text === "[" || text === "(" || text === "{") {
      this.open.push({ bracket: text, here: this.here, context: this.context, found: new Set(), binding: this.binding });
      if (text === "[") this.context = this.here;
      if (text !== "(" || !this.slash) this.fresh();
      this.binding = null;
    } else if (text === "]" || text === ")" || text === "}") {
      this.close(text);
    } else {
      this.operator(text);
    }
  }

  fresh() {
    this.here = null;
    this.slash = "";
    this.operand = false;
  }

  /** @param {string} text */
  operator(text) {
    const around = this.open.at(-1);
    if (text === "|" && around?.bracket === "(") {
      for (const name of this.here ?? []) around.found.add(name);
      this.here = around.here;
      this.slash = "/";
      this.operand = false;
      return;
    }
    if (text === ".") {
      this.here = this.context;
      this.operand = true;
      return;
    }
    this.fresh();
    this.binding = text === ":=" ? this.last : null;
  }

  /** @param {string} bracket */
  close(bracket) {
    const around = this.open.pop();
    if (!around) return;
    if (bracket === "]") this.here = around.here;
    else if (around.found.size) this.here = new Set([...around.found, ...(this.here ?? [])]);
    this.context = around.context;
    this.binding = around.binding;
    this.slash = "";
    this.operand = true;
    this.bind();
  }
}

/**
 * What is being written at the end of a text.
 * @param {string} text the query up to the place @param {Steps} steps @returns {Place}
 */
export function placeOf(text, steps) {
  const before = tokens(text).flat();
  const last = before.at(-1);
  const word = last?.mode === "expression" && ["variableName", "propertyName", "attributeName", "keyword"].includes(last.kind ?? "") ? before.pop() : null;
  const declared = [...text.matchAll(DECLARED)].map(([, prefix, one, other]) => [prefix, one ?? other ?? ""]);
  const walk = new Walk(steps, { ...steps.prefixes, ...Object.fromEntries(declared) });
  for (const token of before) walk.take(token);
  const from = word?.from ?? text.length;
  const { here, context } = walk;
  // a variable is not bound in its own binding
  const unbound = new Set([walk.binding, ...walk.open.map(({ binding }) => binding)]);
  const variables = new Map([...walk.variables].filter(([name]) => !unbound.has(name)));
  const place = { here, context, variables, from, deep: walk.slash === "//", operand: walk.operand };
  if (last && (last.kind === "comment" || last.kind === "string" || last.kind === "number" || (!word && last.mode !== "expression" && last.kind !== "bracket"))) {
    return { ...place, kind: closed(last) ? "open" : "none" };
  }
  if (word?.text.startsWith("$")) return { ...place, kind: "variable" };
  if (walk.slash) return { ...place, kind: word?.text.startsWith("@") ? "attribute" : "step" };
  if (word?.text.startsWith("@")) return { ...place, kind: "attribute", here: context };
  return { ...place, kind: "open" };
}

/** Whether a token ends what it is in, so that an expression goes on behind it. @param {Token} token */
function closed(token) {
  return token.kind === "string" && token.mode !== "expression" && token.text.length === 1 && !token.mode.startsWith("value");
}

/** @param {Place} place @param {Steps} steps @returns {Choice[]} */
export function choices(place, steps) {
  if (place.kind === "none") return [];
  if (place.kind === "variable") return variables(place, steps);
  if (place.kind === "attribute") return attributes(place, steps);
  if (place.kind === "step") return [...stepsFrom(place, steps), ...attributes(place, steps), ...texts(place, steps)];
  const inPredicate = place.context ? [...stepsFrom({ ...place, here: place.context }, steps), ...attributes({ ...place, here: place.context }, steps)] : [];
  return [...(place.operand ? [] : [...inPredicate, ...variables(place, steps), ...functions()]), ...keywords(place)];
}

/** @param {Place} place @param {Steps} steps @returns {Choice[]} */
const variables = (place, steps) => [...place.variables].reverse().map(([name, here], order) => ({
  label: name, type: "variable", detail: here && here.size === 1 ? steps.nameOf([...here][0] ?? "") : "", boost: 50 - order,
}));

/** @returns {Choice[]} */
const functions = () => FUNCTIONS.map(([label, detail]) => ({ label: `${label}()`, apply: `${label}(`, detail, type: "function" }));

/** @param {Place} place @returns {Choice[]} */
const keywords = (place) => KEYWORDS.filter((word) => place.operand || word === "for" || word === "let" || word === "return")
  .map((label) => ({ label, type: "keyword", apply: `${label} `, boost: -10 }));

/** @param {Place} place @param {Steps} steps @returns {Choice[]} */
function stepsFrom(place, steps) {
  const from = place.here ?? steps.all;
  if (place.deep || !place.here) {
    const types = new Map([...(place.here ? steps.below(from) : steps.all)].map((type) => [steps.nameOf(type), type]));
    return [...types].map(([label, type]) => ({ label, type: "property", detail: holds(steps, type), info: said(steps, type) }));
  }
  const found = new Map([...from].flatMap((type) => steps.children(type).map((child) => [child.name, child])));
  return [...found].map(([label, child], order) => ({
    label, type: "property", detail: child.cardinality === "1" ? "" : child.cardinality, boost: 40 - order, info: said(steps, typeOf(child)),
  }));
}

/** What the schema says of an element type. @param {Steps} steps @param {string} type */
const said = (steps, type) => steps.elements.get(type)?.documentation || undefined;

/** What an element type holds, in a word. @param {Steps} steps @param {string} type */
function holds(steps, type) {
  const element = steps.elements.get(type);
  return !element || !element.children.length ? "" : "…";
}

/** @param {Place} place @param {Steps} steps @returns {Choice[]} */
function attributes(place, steps) {
  const at = place.deep && place.here ? steps.below(place.here) : place.here ?? steps.all;
  const found = new Map([...at].flatMap((name) => (steps.elements.get(name)?.attributes ?? []).map((attribute) => [attribute.name, attributeType(attribute)])));
  return [...found].map(([name, type]) => ({ label: `@${name}`, detail: type, type: "attribute" }));
}

/** @param {Place} place @param {Steps} steps @returns {Choice[]} */
function texts(place, steps) {
  const holding = [...(place.here ?? [])].some((name) => steps.elements.get(name)?.text);
  return holding && !place.deep ? [{ label: "text()", type: "text" }] : [];
}

/**
 * Completions for an editor.
 * @param {() => Steps | null} known the schema, as soon as it is there
 */
export function completions(known) {
  /** @param {{pos: number, explicit: boolean, state: any}} context */
  return (context) => {
    const steps = known();
    if (!steps) return null;
    const place = placeOf(context.state.sliceDoc(0, context.pos), steps);
    const begun = place.from < context.pos || place.kind === "step";
    if (!begun && !context.explicit) return null;
    const options = choices(place, steps);
    const word = context.state.sliceDoc(place.from, context.pos);
    const fitting = options.filter(({ label }) => label.startsWith(word));
    if (!options.length || (fitting.length === 1 && fitting[0]?.label === word)) return null;
    /** What is written out is looked at anew, and no more offered. @param {string} text */
    const validFor = (text) => WORD.test(text) && !options.some(({ label }) => label === text);
    return { from: place.from, options, validFor };
  };
}
