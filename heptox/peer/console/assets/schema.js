// A schema as a tree in the browser, unfolded as far as somebody looks. A node is its path: steps from the root, which is
// left out. A box is a node of its own; its members stand below it, for arrows into one of them.

/**
 * @typedef {"1" | "?" | "*" | "+"} Cardinality
 * @typedef {{name: string, type: string, cardinality: Cardinality, default: string | null, values: string[]}} Attribute
 * @typedef {{name: string, text: boolean, children: {name: string, cardinality: Cardinality}[],
 *   attributes: Attribute[]}} Element
 * @typedef {{file: string | null, root: string, roots: string[], text: string, elements: Element[]}} Schema
 * @typedef {{name: string, parent: string[], members: string[]}} Box
 * @typedef {"root" | "element" | "leaf" | "attribute" | "text" | "box" | "member"} Kind
 * @typedef {{path: string[], key: string, label: string, kind: Kind, cardinality: Cardinality, type: string,
 *   element: Element | null, recursive: boolean, expandable: boolean}} Node
 */

/** What identifies a node: no step holds a line end. @param {string[]} path */
export const keyOf = (path) => path.join("\n");

/** @param {string} key @returns {string[]} */
export const pathOf = (key) => (key ? key.split("\n") : []);

/** Whether a path is that of a node or goes below it. @param {string[]} path @param {string[]} above */
export const isBelow = (path, above) => above.length <= path.length && above.every((step, place) => path[place] === step);

export class SchemaTree {
  /** @param {Schema} schema @param {Box[]} boxes */
  constructor(schema, boxes = []) {
    this.schema = schema;
    this.boxes = boxes;
    /** @type {Map<string, Element>} */
    this.elements = new Map(schema.elements.map((element) => [element.name, element]));
    /** @type {Map<string, Box>} */
    this.boxAt = new Map(boxes.map((box) => [keyOf([...box.parent, `[${box.name}]`]), box]));
    /** @type {Map<string, Node[]>} */
    this.unfolded = new Map();
    /** @type {{wanted: string, names: Set<string>} | null} */
    this.leading = null;
    this.root = this.elementNode([], schema.root, "1", "root", []);
  }

  /**
   * @param {string[]} path @param {string} name the element type @param {Cardinality} cardinality @param {Kind} kind
   * @param {string[]} above the element types on the way @param {string} [label]
   * @returns {Node & {above: string[]}}
   */
  elementNode(path, name, cardinality, kind, above, label = name) {
    const element = this.elements.get(name) ?? null;
    const empty = !element || (element.children.length === 0 && element.attributes.length === 0);
    const recursive = above.includes(name);
    const leaf = empty && element?.text === true && kind === "element";
    return {
      path, key: keyOf(path), label, kind: leaf ? "leaf" : kind, cardinality, type: "", element, recursive,
      expandable: !recursive && (!empty || kind === "box"), above: [...above, name],
    };
  }

  /** The nodes directly below: attributes, text, then elements and boxes, in the schema's order. @param {Node} node */
  children(node) {
    const known = this.unfolded.get(node.key);
    if (known) return known;
    const found = node.expandable && node.element ? this.unfold(/** @type {any} */ (node), node.element) : [];
    this.unfolded.set(node.key, found);
    return found;
  }

  /** @param {Node & {above: string[]}} node @param {Element} element @returns {Node[]} */
  unfold(node, element) {
    /** @type {Node[]} */
    const found = element.attributes.map((attribute) => {
      const path = [...node.path, `@${attribute.name}`];
      return {
        path, key: keyOf(path), label: `@${attribute.name}`, kind: "attribute", cardinality: attribute.cardinality,
        type: attribute.type, element: null, recursive: false, expandable: false,
      };
    });
    if (element.text && (element.children.length || element.attributes.length || node.kind === "box")) {
      const path = [...node.path, "text()"];
      found.push({
        path, key: keyOf(path), label: "text()", kind: "text", cardinality: element.children.length ? "*" : "?",
        type: "", element: null, recursive: false, expandable: false,
      });
    }
    const box = this.boxAt.get(node.key);
    const drawn = this.boxes.filter((one) => keyOf(one.parent) === node.key);
    /** @type {Set<Box>} */
    const shown = new Set();
    for (const child of element.children) {
      const around = drawn.find((one) => one.members.includes(child.name));
      if (!around) {
        found.push(this.elementNode([...node.path, child.name], child.name, child.cardinality, "element", node.above));
      } else if (!shown.has(around)) {
        shown.add(around);
        const path = [...node.path, `[${around.name}]`];
        found.push(this.elementNode(path, child.name, "*", "box", node.above, `[${around.name}]`));
      }
    }
    if (box) {
      for (const member of box.members) {
        const path = [...box.parent, member];
        found.push(this.elementNode(path, member, "*", "member", node.above.slice(0, -1)));
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

  /** How an `.arrows` file writes a path: a box stands for the path to it. @param {string[]} path */
  written(path) {
    for (let length = path.length; length > 0; length--) {
      if (this.boxAt.has(keyOf(path.slice(0, length)))) return path.slice(length - 1).join("/");
    }
    return path.join("/");
  }

  /**
   * Nodes whose label holds a text, the shallowest first; a recursion is entered once.
   * @param {string} text @param {number} most @param {number} [effort] nodes that are looked at
   * @returns {Node[]}
   */
  search(text, most, effort = 50_000) {
    const wanted = text.toLowerCase();
    /** @type {Node[]} */
    const found = [];
    /** @type {Node[]} */
    let level = [this.root];
    while (level.length && found.length < most && effort > 0) {
      /** @type {Node[]} */
      const next = [];
      for (const node of level) {
        effort -= 1;
        if (node.label.toLowerCase().includes(wanted)) found.push(node);
        if (node.expandable && this.leadsTo(node.element, wanted)) next.push(...this.children(node));
      }
      level = next;
    }
    return found.slice(0, most);
  }

  /** Whether something of such a name may stand below an element type. @param {Element | null} element @param {string} wanted */
  leadsTo(element, wanted) {
    if (this.leading?.wanted !== wanted) this.leading = { wanted, names: this.leadingTo(wanted) };
    return element !== null && this.leading.names.has(element.name);
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
      for (const child of element.children) parents.set(child.name, [...(parents.get(child.name) ?? []), element.name]);
      const direct = boxed || (element.text && holds("text()")) || element.children.some((child) => holds(child.name))
        || element.attributes.some((attribute) => holds(`@${attribute.name}`));
      if (direct) waiting.push(element.name);
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
