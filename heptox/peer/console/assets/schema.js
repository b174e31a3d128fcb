// A schema as a tree in the browser, unfolded as far as somebody looks. A node is its path: steps from the root, which is
// left out. A box is a node of its own; its members stand below it, for arrows into one of them. Names have the prefixes of
// the schema, of which a mapping's text may have others.

/**
 * @typedef {"1" | "?" | "*" | "+"} Cardinality
 * @typedef {{name: string, type: string, cardinality: Cardinality, default: string | null, fixed: boolean, values: string[],
 *   value_type: string, documentation: string}} Attribute
 * @typedef {{name: string, type: string, cardinality: Cardinality}} Child
 * @typedef {{name: string, type: string, text: boolean, open: boolean, value_type: string, values: string[],
 *   documentation: string, children: Child[], attributes: Attribute[]}} Element
 * @typedef {Record<string, string>} Prefixes namespaces by their prefixes
 * @typedef {{file: string | null, root: string, roots: string[], type: string, text: string, prefixes: Prefixes,
 *   elements: Element[]}} Schema
 * @typedef {{name: string, parent: string[], members: string[]}} Box
 * @typedef {{test: string, leaf: string[], values: string[]}} Condition of a selection
 * @typedef {{path: string[], name: string, tests: Condition[]}} Selection a node beside the one called `name`: the last step of its path
 *   has the conditions
 * @typedef {{values: {value: string, count: number}[], different: number, documents: number, held: number}} Values of a leaf in the peer's
 *   own documents
 * @typedef {"root" | "element" | "leaf" | "attribute" | "text" | "box" | "member" | "value"} Kind
 * @typedef {{path: string[], key: string, label: string, kind: Kind, cardinality: Cardinality, type: string, values: string[],
 *   documentation: string, element: Element | null, recursive: boolean, expandable: boolean, selection?: Selection, count?: number}} Node
 */

/** What a schema calls an element type. @param {{name: string, type: string}} one */
export const typeOf = (one) => one.type || one.name;

/** Nodes that a search looks at, before it enters each element type once only. */
const EFFORT = 5000;

/** What most values are, which nobody needs to be told. */
const ANY_TEXT = "string";

/** The type of a value as it is shown: of a DTD, or of an XSD. @param {Attribute} attribute */
export const attributeType = ({ type, value_type }) => (type === "CDATA" && value_type !== ANY_TEXT ? value_type : type);

/** @param {Element | null} element */
const textType = (element) => (element?.text && element.value_type !== ANY_TEXT ? element.value_type : "");

/** What identifies a node: no step holds a line end. @param {string[]} path */
export const keyOf = (path) => path.join("\n");

/** @param {string} key @returns {string[]} */
export const pathOf = (key) => (key ? key.split("\n") : []);

/** Whether what stands below a node are its values. @param {Node} node */
export const isLeaf = (node) => node.kind === "leaf" || node.kind === "attribute" || node.kind === "text";

/** The step of a selection as texts have it. @param {string} name @param {Condition[]} tests @param {(step: string) => string} [write] writes
 * a step without conditions */
export function selectionStep(name, tests, write = (step) => step) {
  const conditions = tests.map(({ test, leaf, values }) => {
    const path = leaf.map(write).join("/") || ".";
    if (test === "exists") return path;
    if (test === "not") return `not(${path})`;
    const quoted = values.map((value) => `"${value.replaceAll('"', '""')}"`).join(", ");
    return `${path} ${test} ${values.length === 1 ? quoted : `(${quoted})`}`;
  });
  return `${write(name)}[${conditions.join(" and ")}]`;
}

/** Whether a path is that of a node or goes below it. @param {string[]} path @param {string[]} above */
export const isBelow = (path, above) => above.length <= path.length && above.every((step, place) => path[place] === step);

export class SchemaTree {
  /** @param {Schema} schema @param {Box[]} boxes @param {Prefixes} bound those of the mapping's text @param {Selection[]} selections
   * @param {Map<string, Values>} values of leaves, by their keys @param {boolean} own whether there are more of these */
  constructor(schema, boxes = [], bound = schema.prefixes, selections = [], values = new Map(), own = false) {
    this.values = values;
    this.own = own;
    this.selections = new Map(selections.map((one) => [keyOf(one.path), one]));
    /** @type {Map<string, Selection>} */
    this.selectionOf = new Map(selections.map((one) => [one.path.at(-1) ?? "", one]));
    this.schema = schema;
    this.boxes = boxes;
    this.bound = bound;
    /** @type {Map<string, Element>} */
    this.elements = new Map(schema.elements.map((element) => [typeOf(element), element]));
    /** @type {Map<string, Box>} */
    this.boxAt = new Map(boxes.map((box) => [keyOf([...box.parent, `[${box.name}]`]), box]));
    /** @type {Map<string, Node[]>} */
    this.unfolded = new Map();
    /** @type {{wanted: string, names: Set<string>} | null} */
    this.leading = null;
    this.documented = schema.elements.some((element) => element.documentation || element.attributes.some((one) => one.documentation));
    this.root = this.elementNode([], schema.type, "1", "root", []);
  }

  /**
   * @param {string[]} path @param {string} type @param {Cardinality} cardinality @param {Kind} kind
   * @param {string[]} above the element types on the way @param {string} [label]
   * @returns {Node & {above: string[]}}
   */
  elementNode(path, type, cardinality, kind, above, label = this.elements.get(type)?.name ?? type) {
    const element = this.elements.get(type) ?? null;
    const empty = !element || (element.children.length === 0 && element.attributes.length === 0);
    const recursive = above.includes(type);
    const leaf = empty && element?.text === true && kind === "element";
    return {
      path, key: keyOf(path), label, kind: leaf ? "leaf" : kind, cardinality, type: textType(element), values: element?.values ?? [],
      documentation: element?.documentation ?? "", element, recursive,
      expandable: !recursive && (leaf ? this.own || (element?.values.length ?? 0) > 0 : !empty || kind === "box"),
      above: [...above, type],
    };
  }

  /** The nodes directly below: attributes, text, then elements and boxes, in the schema's order. @param {Node} node */
  children(node) {
    const known = this.unfolded.get(node.key);
    if (known) return known;
    const found = !node.expandable ? [] : isLeaf(node) ? this.valuesAt(node) : node.element ? this.unfold(/** @type {any} */ (node), node.element) : [];
    this.unfolded.set(node.key, found);
    return found;
  }

  /** The values of a leaf: those of the peer's own documents, or else those that the schema allows. @param {Node} leaf @returns {Node[]} */
  valuesAt(leaf) {
    const found = this.values.get(leaf.key)?.values ?? leaf.values.map((value) => ({ value, count: undefined }));
    return found.map(({ value, count }) => {
      const path = [...leaf.path, JSON.stringify(value)];
      return {
        path, key: keyOf(path), label: value, kind: "value", cardinality: "1", type: "", values: [], documentation: "", element: null,
        recursive: false, expandable: false, count,
      };
    });
  }

  /** @param {Node & {above: string[]}} node @param {Element} element @returns {Node[]} */
  unfold(node, element) {
    /** @type {Node[]} */
    const found = element.attributes.map((attribute) => {
      const path = [...node.path, `@${attribute.name}`];
      return {
        path, key: keyOf(path), label: `@${attribute.name}`, kind: "attribute", cardinality: attribute.cardinality,
        type: attributeType(attribute), values: attribute.values, documentation: attribute.documentation, element: null, recursive: false,
        expandable: this.own || attribute.values.length > 0,
      };
    });
    if (element.text && (element.children.length || element.attributes.length || node.kind === "box")) {
      const path = [...node.path, "text()"];
      found.push({
        path, key: keyOf(path), label: "text()", kind: "text", cardinality: element.children.length ? "*" : "?",
        type: textType(element), values: element.values, documentation: "", element: null, recursive: false,
        expandable: this.own || element.values.length > 0,
      });
    }
    const box = this.boxAt.get(node.key);
    const drawn = this.boxes.filter((one) => keyOf(one.parent) === node.key);
    /** @type {Set<Box>} */
    const shown = new Set();
    for (const child of element.children) {
      const around = drawn.find((one) => one.members.includes(child.name));
      if (!around) {
        found.push(this.elementNode([...node.path, child.name], typeOf(child), child.cardinality, "element", node.above));
        for (const selection of this.selections.values()) {
          const step = selection.path.at(-1) ?? "";
          if (selection.name !== child.name || keyOf(selection.path.slice(0, -1)) !== node.key) continue;
          found.push({ ...this.elementNode(selection.path, typeOf(child), child.cardinality, "element", node.above, step), selection });
        }
      } else if (!shown.has(around)) {
        shown.add(around);
        const path = [...node.path, `[${around.name}]`];
        found.push(this.elementNode(path, typeOf(child), "*", "box", node.above, `[${around.name}]`));
      }
    }
    if (box) {
      const siblings = this.elements.get(node.above.at(-2) ?? "")?.children ?? [];
      for (const member of box.members) {
        const path = [...box.parent, member];
        const type = typeOf(siblings.find((child) => child.name === member) ?? { name: member, type: "" });
        found.push(this.elementNode(path, type, "*", "member", node.above.slice(0, -1)));
      }
    }
    return found;
  }

  /** The node at a path, if the schema has it. @param {string[]} path @returns {Node | null} */
  node(path) {
    /** @type {Node} */
    let node = this.root;
    for (let length = 1; length <= path.length; length++) {
      const key = keyOf(path.slice(0, length));
      const below = this.children(node);
      const found = below.find((child) => child.key === key)
        ?? below.filter((child) => child.kind === "box").flatMap((child) => this.children(child)).find((child) => child.key === key);
      if (!found) return null;
      node = found;
    }
    return node;
  }

  /** A path without conditions. @param {string[]} path @returns {string[]} */
  plain(path) {
    return path.map((step) => this.selectionOf.get(step)?.name ?? step);
  }

  /** The nodes that have to be open for a node to be seen. @param {string[]} path @returns {string[]} keys */
  above(path) {
    const keys = [""];
    for (let length = 1; length < path.length; length++) keys.push(keyOf(path.slice(0, length)));
    for (const box of this.boxes) {
      const member = path[box.parent.length];
      if (isBelow(path, box.parent) && member !== undefined && box.members.includes(member)) {
        keys.push(keyOf([...box.parent, `[${box.name}]`]));
      }
    }
    return keys;
  }

  /**
   * How an `.arrows` file writes a path: a box stands for the path to it.
   * @param {string[]} path @param {Prefixes} [needed] takes the prefixes that the text has to declare for it
   */
  written(path, needed) {
    let from = 0;
    for (let length = path.length; length > 0 && !from; length--) {
      if (this.boxAt.has(keyOf(path.slice(0, length)))) from = length - 1;
    }
    return path.slice(from).map((step) => this.writtenStep(step, needed)).join("/");
  }

  /** @param {string} step @param {Prefixes} [needed] as of `written`; without it, names say their namespaces themselves
   * @returns {string} */
  writtenStep(step, needed) {
    if (step.startsWith("[") || step === "text()") return step;
    const selection = this.selectionOf.get(step);
    if (selection) return selectionStep(selection.name, selection.tests, (one) => this.writtenStep(one, needed));
    const [, sign, , prefix, local] = /** @type {RegExpExecArray} */ (/^(@?)(([^:]*):)?(.*)$/.exec(step));
    if (prefix === undefined && (sign || this.namespaceOf("") === (this.bound[""] ?? ""))) return step;
    const namespace = this.namespaceOf(prefix ?? "");
    if (prefix && (!namespace || this.bound[prefix] === namespace)) return step;
    const other = Object.keys(this.bound).find((one) => this.bound[one] === namespace && (one || !sign));
    if (other !== undefined) return `${sign}${other && `${other}:`}${local}`;
    if (!needed || !namespace) return `${sign}Q{${namespace}}${local}`;
    return `${sign}${this.declared(prefix ?? "", namespace, needed)}:${local}`;
  }

  /** A prefix that the text has to declare: the schema's, unless it means something else there.
   * @param {string} wanted @param {string} namespace @param {Prefixes} needed */
  declared(wanted, namespace, needed) {
    const known = Object.keys(needed).find((one) => needed[one] === namespace);
    if (known) return known;
    let free = wanted || "ns1";
    for (let number = 1; free in this.bound || free in needed; number++) free = `ns${number}`;
    needed[free] = namespace;
    return free;
  }

  /** @param {string} prefix of the schema */
  namespaceOf(prefix) {
    return this.schema.prefixes[prefix] ?? "";
  }

  /** The step of a path that a text means. @param {string} written */
  read(written) {
    const parts = /^(@?)(?:Q\{([^}]*)\}|([^:{}]*):)?(.*)$/.exec(written);
    if (!parts || written.startsWith("[")) return written;
    const [, sign, uri, prefix, local] = parts;
    if (uri === undefined && prefix === undefined && sign) return written;
    const namespace = uri ?? this.bound[prefix ?? ""] ?? "";
    if (prefix && !namespace) return written;
    const own = Object.keys(this.schema.prefixes).find((one) => this.schema.prefixes[one] === namespace && (one || !sign));
    return `${sign}${own ? `${own}:` : ""}${local}`;
  }

  /**
   * Nodes whose label holds a text, the shallowest first; a recursion is entered once. Where a tree is too large to be looked
   * through, what an element type holds is found at the first place where such an element stands, at least.
   * @param {string} text @param {number} most @returns {{nodes: Node[], all: boolean}}
   */
  search(text, most) {
    const wanted = text.toLowerCase();
    const found = this.searchThrough(wanted, most, false);
    if (found.all || found.nodes.length >= most) return found;
    const known = new Set(found.nodes.map(({ key }) => key));
    const further = this.searchThrough(wanted, most, true).nodes.filter(({ key }) => !known.has(key));
    return { nodes: [...found.nodes, ...further].sort((one, other) => one.path.length - other.path.length).slice(0, most), all: false };
  }

  /** @param {string} wanted @param {number} most @param {boolean} once whether each element type is entered once, all of them
   * @returns {{nodes: Node[], all: boolean}} */
  searchThrough(wanted, most, once) {
    /** @type {Set<string>} */
    const entered = new Set();
    /** @type {Node[]} */
    const nodes = [];
    let effort = once ? Infinity : EFFORT;
    /** @type {Node[]} */
    let level = [this.root];
    while (level.length && nodes.length < most && effort > 0) {
      /** @type {Node[]} */
      const next = [];
      for (const node of level) {
        effort -= 1;
        if (node.label.toLowerCase().includes(wanted)) nodes.push(node);
        if (!node.expandable || effort <= 0 || !this.leadsTo(node.element, wanted)) continue;
        const type = node.kind === "box" ? node.key : node.element ? typeOf(node.element) : "";
        if (once && entered.has(type)) continue;
        entered.add(type);
        next.push(...this.children(node));
      }
      level = next;
    }
    return { nodes: nodes.slice(0, most), all: level.length === 0 };
  }

  /** Whether something of such a name may stand below an element type. @param {Element | null} element @param {string} wanted */
  leadsTo(element, wanted) {
    if (this.leading?.wanted !== wanted) this.leading = { wanted, names: this.leadingTo(wanted) };
    return element !== null && this.leading.names.has(typeOf(element));
  }

  /** The element types below which a label holds a text. @param {string} wanted @returns {Set<string>} */
  leadingTo(wanted) {
    /** @param {string} label */
    const holds = (label) => label.toLowerCase().includes(wanted);
    const boxed = this.boxes.some((box) => holds(`[${box.name}]`));
    /** @type {Map<string, string[]>} */
    const parents = new Map();
    /** @type {string[]} */
    const waiting = [];
    for (const element of this.schema.elements) {
      for (const child of element.children) parents.set(typeOf(child), [...(parents.get(typeOf(child)) ?? []), typeOf(element)]);
      const direct = boxed || (element.text && holds("text()")) || element.children.some((child) => holds(child.name))
        || element.attributes.some((attribute) => holds(`@${attribute.name}`));
      if (direct) waiting.push(typeOf(element));
    }
    const names = new Set(waiting);
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      for (const parent of parents.get(name) ?? []) {
        if (!names.has(parent)) {
          names.add(parent);
          waiting.push(parent);
        }
      }
    }
    return names;
  }
}
